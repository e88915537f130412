// The server's answers: every method of `Server` is one request.

import { kept } from "./dom.js";

const KEY = "sffa-session";

export class Refused extends Error {}
export class Gone extends Error {
  name = "Gone";
}

/** Open a session, or go on with the one this tab had. */
export async function connect() {
  const server = new Server();
  await server.open();
  return server;
}

export class Server {
  teaches = true;

  async open() {
    this.about = await this.ask("session");
    this.session = this.about.session;
    kept.set(KEY, this.session, "sessionStorage");
  }

  network = (algorithm) => this.ask("network", { algorithm });
  read = (algorithm, pixels, look) => this.ask("read", { algorithm, pixels, look });
  example = (label, number) => this.ask("example", { label, number });
  memory = (algorithm) => this.ask("memory", { algorithm });
  reset = () => this.ask("reset");

  teach(algorithm, name, drawings, tell) {
    return this.job("teach", { algorithm, name, drawings }, tell);
  }

  parts(algorithm, tell) {
    return this.job("parts", { algorithm }, tell);
  }

  /** Start something that takes seconds, and tell how far it is until it is done. */
  async job(name, given, tell) {
    await this.ask(name, given);
    for (;;) {
      await new Promise((done) => setTimeout(done, 150));
      const job = await this.ask("job");
      if (job.error) throw new Refused(job.error);
      tell(job);
      if (job.done) return job.result;
    }
  }

  async ask(name, given = {}) {
    const headers = { "content-type": "application/json" };
    const session = this.session ?? kept.get(KEY, "sessionStorage");
    if (session) headers["sffa-session"] = session;
    let response, answer;
    try {
      response = await fetch(`/api/${name}`, { method: "POST", headers, body: JSON.stringify(given) });
      answer = await response.json().catch(() => ({ error: "the server failed at that" }));
    } catch {
      throw new Gone();
    }
    if (response.status === 404) throw new Gone();
    if (!response.ok) throw new Refused(answer.error);
    return answer;
  }
}
