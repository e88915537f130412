// What is kept of each class: the means of its parts, and pictures dreamed from them.

import { bytes, find, make, paint } from "./dom.js";

export class Memory {
  constructor(page) {
    this.page = page;
    this.list = make("div", { id: "remembered" });
    this.note = make("p", { text: "…" });
    find("memory").replaceChildren(make("h2", { text: "What does it remember?" }), this.note, this.list);
  }

  async show() {
    try {
      const { kilobytes, classes } = await this.page.server.memory(this.page.algorithm);
      this.note.textContent =
        `Of every class a few averages and how pictures vary around them, ${kilobytes} kB in all. From these it dreams, and so rehearses what it learned before.`;
      this.list.replaceChildren(...classes.map((one) => this.rowOf(one)));
    } catch (error) {
      this.page.failed(error);
    }
  }

  rowOf({ name, means, dreams }) {
    return make("section", { "aria-label": `Memory of ${name}` },
      make("h3", { text: name }), this.pictures("averages", means), this.pictures("dreams", dreams));
  }

  pictures(title, list) {
    const side = this.page.about.side;
    const canvases = list.map((text) => {
      const canvas = make("canvas");
      paint(canvas, bytes(text), side);
      return canvas;
    });
    return make("figure", {}, make("figcaption", { text: title }), make("div", {}, ...canvases));
  }
}
