// A class of one's own: a name, five drawings, and a network that has not forgotten the digits.

import { find, make, paint, percent } from "./dom.js";

export class Teach {
  /** `page` has pad, server, algorithm, side, fine, say and refresh. */
  constructor(page) {
    this.page = page;
    this.drawings = [];
    this.name = make("input", { id: "name", maxlength: 16, autocomplete: "off", placeholder: "★", oninput: () => this.update() });
    this.keep = find("keep"); // beside the drawing, where the hand is
    this.keep.addEventListener("click", () => this.add());
    this.go = make("button", { type: "button", id: "go", class: "main", text: "Teach", onclick: () => this.teach() });
    this.over = make("button", { type: "button", id: "over", class: "link", text: "Forget my classes", onclick: () => this.startOver() });
    this.slots = Array.from({ length: page.about.drawings }, (_, place) =>
      make("button", { type: "button", class: "slot", onclick: () => this.remove(place) }, make("canvas")));
    this.bar = make("progress", { max: 1, value: 0, hidden: true });
    this.outcome = make("p", { id: "outcome", role: "status" });
    this.digits = make("p", { id: "digits" });
    find("teach").replaceChildren(
      make("h2", { text: "Teach it a sign of your own" }),
      ...(page.server.teaches ? this.steps() : this.elsewhere()),
    );
    if (page.server.teaches) this.update();
  }

  steps() {
    return [
      make("ol", { class: "steps" },
        make("li", {}, make("label", { for: "name", text: "Name it" }), this.name),
        make("li", {}, make("span", { text: "Draw it five times" }), make("div", { class: "slots" }, ...this.slots)),
        make("li", {}, make("span", { text: "Let it learn" }), this.go, this.bar)),
      this.outcome,
      this.digits,
      make("p", { class: "quiet" }, "It does not see the digits again that it was trained on: it rehearses them from what it remembers. ", this.over),
    ];
  }

  elsewhere() {
    return [
      make("p", { text: "This page has no server behind it, so its networks are fixed. On your own machine they learn:" }),
      make("pre", { text: "pip install 'sffa[playground]'\nsffa play" }),
      make("p", { class: "quiet", text: "Five drawings are enough for a sign of your own; the ten digits stay." }),
    ];
  }

  add() {
    if (this.page.pad.empty || this.drawings.length === this.slots.length) return;
    this.drawings.push(this.page.pad.pixels());
    this.page.pad.clear();
    this.update();
  }

  remove(place) {
    this.drawings.splice(place, 1);
    this.update();
  }

  update(learning = false) {
    const { side, fine } = this.page.about;
    const name = this.name.value.trim();
    const left = this.slots.length - this.drawings.length;
    this.slots.forEach((slot, place) => {
      const drawing = this.drawings[place];
      slot.classList.toggle("full", Boolean(drawing));
      slot.disabled = !drawing || learning;
      slot.setAttribute("aria-label", drawing ? `Drawing ${place + 1}: remove it` : `Drawing ${place + 1}: none yet`);
      paint(slot.firstChild, drawing ?? [], side * fine);
    });
    this.keep.textContent = left ? `Keep this drawing (${left} to go)` : "Five drawings kept: let it learn";
    this.keep.disabled = !left || this.page.pad.empty || learning;
    this.go.disabled = left > 0 || !name || learning;
    this.over.disabled = learning;
  }

  async teach() {
    const name = this.name.value.trim();
    const { server, algorithm, encode } = this.page;
    this.update(true);
    this.bar.hidden = false;
    this.outcome.textContent = `Learning “${name}” …`;
    this.digits.textContent = "";
    try {
      const done = await server.teach(algorithm, name, this.drawings.map(encode), (job) => (this.bar.value = job.progress));
      this.drawings = [];
      this.name.value = "";
      this.outcome.textContent = `It knows “${done.name}” now. Draw it once more.`;
      this.digits.textContent = `The ten digits: ${percent(done.before)} right before, ${percent(done.after)} now.`;
      await this.page.refresh();
    } catch (error) {
      this.outcome.textContent = error.message;
      this.page.failed(error);
    } finally {
      this.bar.hidden = true;
      this.update();
    }
  }

  async startOver() {
    try {
      await this.page.server.reset();
      this.outcome.textContent = "Ten digits again.";
      this.digits.textContent = "";
      await this.page.refresh();
    } catch (error) {
      this.page.failed(error);
    }
  }
}
