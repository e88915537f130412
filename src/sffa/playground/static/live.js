// The playground with its server.

import { find } from "./dom.js";
import { Page } from "./main.js";
import { connect } from "./server.js";

try {
  await new Page(await connect()).start();
} catch (error) {
  find("status").textContent = error.message || "The server does not answer: start “sffa play” and reload.";
  find("status").hidden = false;
}
