// The playground without a server: the networks stand in the page.

import { Local, reading } from "./local.js";
import { Page } from "./main.js";

const local = new Local(JSON.parse(document.getElementById("model").textContent));
/** For the console: what a network makes of pixels (side²), shares of white. */
window.sffaRead = (algorithm, pixels) => reading(local.nets.get(algorithm), Float32Array.from(pixels));
new Page(local).start();
