// The page: the pad on one side, a network and what to do with it on the other.

import { bytes, find, kept, make, paint, text64 } from "./dom.js";
import { Memory } from "./memory.js";
import { Pad } from "./pad.js";
import { Parts } from "./parts.js";
import { Teach } from "./teach.js";
import { Tour } from "./tour.js";
import { Watch } from "./watch.js";

const LARGEST_FILE = 20e6;
const THREE = [[0.32, 0.24], [0.42, 0.17], [0.56, 0.16], [0.66, 0.23], [0.67, 0.33], [0.6, 0.42], [0.47, 0.47],
  [0.6, 0.51], [0.69, 0.6], [0.69, 0.71], [0.6, 0.81], [0.46, 0.84], [0.31, 0.79]];

export class Page {
  constructor(server) {
    this.server = server;
    this.about = server.about;
    this.algorithm = kept.get("sffa-algorithm", "sessionStorage") ?? this.about.algorithms[0].algorithm;
    this.look = null;
    this.examples = 0;
    this.pad = new Pad(find("pad"), this.about.side * this.about.fine, {
      changed: () => this.changed(),
      ended: () => this.tour.drawn(),
      enter: () => find("keep").hidden || this.teach.add(),
      digit: (label) => this.example(label),
    });
    this.watch = new Watch((label) => {
      this.look = label;
      this.read();
    });
    this.teach = new Teach(this);
    this.parts = new Parts(this);
    this.memory = new Memory(this);
    this.tour = new Tour([() => this.open("watch"), () => this.open("watch")]);
    this.listen();
  }

  encode = (pixels) => text64(pixels);

  async start() {
    this.showNetworks();
    await this.refresh();
    this.tour.startOnce();
    await this.drawThree();
  }

  listen() {
    find("clear").addEventListener("click", () => this.pad.clear());
    find("undo").addEventListener("click", () => this.pad.undo());
    find("example").addEventListener("click", () => this.example(Math.floor(10 * Math.random())));
    find("theme").addEventListener("click", () => this.switchTheme());
    find("file").addEventListener("change", (event) => {
      this.openFile(event.target.files[0]);
      event.target.value = "";
    });
    const paper = find("draw");
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.openFile(event.dataTransfer.files[0]);
    });
    for (const [name, over] of [["dragenter", true], ["dragleave", false], ["drop", false]]) {
      paper.addEventListener(name, () => paper.classList.toggle("over", over));
    }
    const tabs = [...document.querySelectorAll("[role=tab]")];
    tabs.forEach((tab, place) => {
      tab.addEventListener("click", () => this.open(tab.getAttribute("aria-controls")));
      tab.addEventListener("keydown", (event) => {
        const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!way) return;
        const next = tabs[(place + way + tabs.length) % tabs.length];
        next.click();
        next.focus();
      });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
  }

  open(name) {
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const chosen = tab.getAttribute("aria-controls") === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      find(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
    find("keep").hidden = name !== "teach" || !this.server.teaches;
    if (name === "memory") this.memory.show();
  }

  showNetworks() {
    const choices = this.about.algorithms.map(({ algorithm, name }) => {
      const radio = make("input", { type: "radio", name: "network", value: algorithm, id: `network-${algorithm}` });
      radio.checked = algorithm === this.algorithm;
      radio.addEventListener("change", () => this.choose(algorithm));
      return [radio, make("label", { for: radio.id, text: name })];
    });
    find("networks").append(...choices.flat());
  }

  async choose(algorithm) {
    this.algorithm = algorithm;
    kept.set("sffa-algorithm", algorithm, "sessionStorage");
    await this.refresh();
    if (!find("memory").hidden) this.memory.show();
  }

  /** Ask for the network again: it was chosen, or has learned. */
  async refresh() {
    const wanted = this.algorithm;
    const waiting = setTimeout(() => this.say("training this network, a few seconds …"), 400);
    try {
      const network = await this.server.network(wanted);
      if (wanted !== this.algorithm) return;
      this.say("");
      find("about").replaceChildren(
        make("span", { text: network.about }), " ",
        make("span", { class: "facts", text: `${network.accuracy.toFixed(1)} % of test digits right · ${Math.round(network.active)} of ${network.widths[0]} neurons carry the activity · sparsity ${network.hoyer.toFixed(2)}` }));
      this.look = null;
      this.watch.reset(network);
      this.read();
    } catch (error) {
      this.failed(error);
    } finally {
      clearTimeout(waiting);
    }
  }

  changed() {
    find("hint").hidden = !this.pad.empty;
    find("undo").disabled = find("clear").disabled = this.pad.empty;
    if (this.server.teaches) this.teach.update();
    this.read();
  }

  /** Read what is drawn; of changes that come while an answer is awaited only the last counts. */
  async read() {
    if (this.reading) {
      this.stale = true;
      return;
    }
    this.reading = true;
    do {
      this.stale = false;
      await this.readOnce();
    } while (this.stale);
    this.reading = false;
  }

  async readOnce() {
    if (!this.watch.network) return;
    if (this.pad.empty) return this.show(null);
    const { algorithm } = this;
    try {
      const reading = await this.server.read(algorithm, this.encode(this.pad.pixels()), this.look);
      if (algorithm === this.algorithm && !this.pad.empty) this.show(reading);
    } catch (error) {
      this.failed(error);
    }
  }

  show(reading) {
    const { side } = this.about;
    paint(find("seen"), reading ? this.small() : [], side);
    const best = reading ? reading.classes[reading.best] : "–";
    find("best").textContent = best;
    find("best").classList.toggle("long", best.length > 3);
    find("sure").textContent = reading ? this.sure(reading) : "nothing drawn yet";
    this.watch.show(reading);
  }

  sure({ scores, classes }) {
    const order = scores.map((_, label) => label).sort((a, b) => scores[b] - scores[a]);
    const [first, second] = order.map((label) => scores[label]);
    return second < 0.6 * first ? "quite sure" : `or perhaps ${classes[order[1]]}`;
  }

  small() {
    const { side, fine } = this.about;
    const pixels = this.pad.pixels();
    return Uint8Array.from({ length: side * side }, (_, place) => {
      const top = fine * Math.floor(place / side), left = fine * (place % side);
      let sum = 0;
      for (let y = 0; y < fine; y++) for (let x = 0; x < fine; x++) sum += pixels[(top + y) * side * fine + left + x];
      return sum / (fine * fine);
    });
  }

  async example(label) {
    try {
      const { pixels } = await this.server.example(label, this.examples++);
      const { side, fine } = this.about;
      const small = bytes(pixels);
      const size = side * fine;
      this.pad.showPixels(Uint8Array.from({ length: size * size }, (_, place) =>
        small[side * Math.floor(place / size / fine) + Math.floor((place % size) / fine)]));
    } catch (error) {
      this.failed(error);
    }
  }

  async openFile(file) {
    if (!file) return;
    try {
      if (!file.type.startsWith("image/")) throw new Error("that is not an image");
      if (file.size > LARGEST_FILE) throw new Error("that image is larger than 20 MB");
      const picture = await createImageBitmap(file).catch(() => {
        throw new Error("that image cannot be read");
      });
      this.pad.showPicture(picture);
      picture.close();
      this.say("");
    } catch (error) {
      this.say(`${file.name}: ${error.message}`);
    }
  }

  /** Draw a digit, so that a first visitor sees what drawing does. */
  async drawThree() {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (let count = still ? THREE.length : 1; count <= THREE.length; count++) {
      if (!this.pad.empty && !this.pad.guest) return;
      this.pad.show([THREE.slice(0, count)]);
      await new Promise((done) => setTimeout(done, 60));
    }
  }

  switchTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    kept.set("sffa-theme", root.dataset.theme);
    this.repaint();
  }

  repaint() {
    this.pad.redraw();
    if (this.watch.network) this.read();
    if (this.server.teaches) this.teach.update();
    if (!find("memory").hidden) this.memory.show();
  }

  say(text) {
    find("status").textContent = text;
    find("status").hidden = !text;
  }

  /** Say what went wrong; a server that is gone may come back. */
  failed(error) {
    if (error.name !== "Gone") return this.say(error.message);
    this.say("The server is gone. Start “sffa play” again; this page then goes on by itself.");
    this.returning ??= setInterval(() => this.tryAgain(), 1500);
  }

  async tryAgain() {
    const { session } = this.server;
    try {
      await this.server.open();
    } catch {
      return;
    }
    clearInterval(this.returning);
    this.returning = undefined;
    await this.refresh();
    if (this.server.session !== session) this.say("The server is back; classes of your own have to be taught again.");
  }
}

const theme = kept.get("sffa-theme");
if (theme) document.documentElement.dataset.theme = theme;
