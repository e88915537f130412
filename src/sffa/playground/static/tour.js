// Three steps for a first visit.

import { find, kept } from "./dom.js";

const SEEN = "sffa-tour";
const STEPS = [
  ["draw", "Draw a digit", "With the mouse, a finger, or the arrow keys and space. Try a 3."],
  ["look", "Watch it think", "Every label gets a goodness. Blue neurons speak for a label, orange ones against it; only the strongest stay awake."],
  ["tab-teach", "Teach it something new", "Draw a sign of your own five times. It learns the sign, and keeps the digits."],
];

export class Tour {
  constructor(pages) {
    this.pages = pages; // what to open before a step
    this.step = -1;
    find("again").addEventListener("click", () => this.go(0));
    find("tour-skip").addEventListener("click", () => this.end());
    find("tour-next").addEventListener("click", () => this.go(this.step + 1));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.step >= 0 && this.end());
    addEventListener("resize", () => this.place());
  }

  startOnce() {
    if (!kept.get(SEEN)) this.go(0, false);
  }

  /** Drawing is the first step: who has drawn may go on. */
  drawn() {
    if (this.step === 0) this.go(1, false);
  }

  go(step, focus = true) {
    this.leave();
    if (step >= STEPS.length) return this.end();
    this.step = step;
    const [target, title, text] = STEPS[step];
    this.pages[step]?.();
    find("tour-count").textContent = `${step + 1} of ${STEPS.length}`;
    find("tour-title").textContent = title;
    find("tour-text").textContent = text;
    find("tour-next").textContent = step + 1 < STEPS.length ? "Next" : "Start";
    find("tour").hidden = false;
    this.target = find(target);
    this.target.classList.add("toured");
    if (this.target.getBoundingClientRect().top > innerHeight / 2) this.target.scrollIntoView();
    this.place();
    if (focus) find("tour-next").focus();
  }

  leave() {
    this.target?.classList.remove("toured");
  }

  end() {
    this.leave();
    this.step = -1;
    find("tour").hidden = true;
    kept.set(SEEN, "seen");
  }

  /** Below the drawing where there is room, else below what it speaks of; on a phone, at the bottom. */
  place() {
    if (this.step < 0) return;
    const card = find("tour");
    const [pad, box] = [find("draw"), this.target].map((one) => one.getBoundingClientRect());
    const room = this.step < 2 && pad.bottom + card.offsetHeight + 32 < innerHeight;
    const under = room ? pad : box;
    const top = Math.min(under.bottom + 14, innerHeight - card.offsetHeight - 16);
    card.style.left = `${Math.max(16, Math.min(under.left, innerWidth - card.offsetWidth - 16))}px`;
    card.style.top = `${Math.max(16, top)}px`;
  }
}
