// The goodness of every label, and the neurons of each layer, as they change.

import { find, make } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const COLUMNS = 10;

/** `look` is called with the class whose neurons are to be shown, or null for the best one. */
export class Watch {
  constructor(look) {
    this.look = look;
    this.rows = [];
    this.layers = [];
  }

  /** Show a network with nothing to read. */
  reset(network) {
    this.network = network;
    this.rows = network.classes.map((name, label) => this.row(name, label));
    find("labels").replaceChildren(...this.rows.map(({ button }) => button));
    const longest = Math.max(...network.classes.map((name) => name.length));
    find("labels").style.setProperty("--names", `${Math.min(6.5, 0.8 + 0.62 * longest)}em`);
    this.layers = network.widths.map((width, number) => layerOf(width, number, network.polarities));
    find("layers").replaceChildren(...this.layers.map(({ element }) => element));
    find("labels-note").textContent = "Choose a label to see the neurons that answer to it.";
    this.show(null);
  }

  row(name, label) {
    const bar = make("i");
    const value = make("output");
    const button = make(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => this.look(this.shown === label ? null : label) },
      make("b", { text: name }), make("span", { class: "bar" }, bar), value,
    );
    return { button, bar, value };
  }

  show(reading) {
    const two = this.network.polarities === 2;
    const most = two || !reading ? 1 : Math.max(...reading.scores, 1e-9);
    this.shown = reading?.shown ?? null;
    this.rows.forEach(({ button, bar, value }, label) => {
      const score = reading ? reading.scores[label] : 0;
      bar.style.width = `${(100 * score) / most}%`;
      value.textContent = reading ? score.toFixed(2) : "";
      button.classList.toggle("best", reading?.best === label);
      button.setAttribute("aria-pressed", String(reading?.shown === label));
    });
    this.layers.forEach((layer, number) =>
      showLayer(layer, reading?.layers[number], reading && this.network.classes[reading.shown], two));
  }
}

function layerOf(width, number, polarities) {
  const title = make("h2", { text: `Layer ${number + 1}` });
  const size = width / polarities;
  const grids = Array.from({ length: polarities }, (_, half) => gridOf(size, polarities === 2 ? half : 2));
  const names = polarities === 2 ? ["for it", "against it"] : ["neurons"];
  const figures = grids.map(({ svg }, half) =>
    make("figure", {}, svg, make("figcaption", { text: names[half] })));
  const share = make("i");
  const note = make("p", { class: "quiet" });
  const balance = make("div", { class: "balance", hidden: polarities !== 2 }, share);
  const element = make("section", { class: "layer" }, title, make("div", { class: "grids" }, ...figures), balance, note);
  return { element, cells: grids.flatMap(({ cells }) => cells), size, share, note };
}

function gridOf(size, kind) {
  const columns = kind === 2 ? 2 * COLUMNS : COLUMNS;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${columns * 10} ${Math.ceil(size / columns) * 10}`);
  svg.setAttribute("class", ["for", "against", "neutral"][kind]);
  svg.setAttribute("aria-hidden", "true");
  const cells = Array.from({ length: size }, (_, place) => {
    const cell = document.createElementNS(SVG, "rect");
    for (const [name, value] of Object.entries({
      x: 10 * (place % columns) + 1, y: 10 * Math.floor(place / columns) + 1, width: 8, height: 8, rx: 2,
    })) cell.setAttribute(name, value);
    return cell;
  });
  svg.append(...cells);
  return { svg, cells };
}

function showLayer({ cells, size, share, note }, latents, name, two) {
  const most = latents ? Math.max(...latents, 1e-9) : 1;
  cells.forEach((cell, place) => {
    const value = latents ? latents[place] / most : 0;
    cell.classList.toggle("awake", value > 0);
    cell.style.fillOpacity = value > 0 ? 0.15 + 0.85 * value : "";
  });
  const energy = (from, to) => (latents ?? []).slice(from, to).reduce((sum, value) => sum + value ** 2, 0);
  const [up, down] = [energy(0, size), two ? energy(size) : 0];
  const goodness = latents && two ? up / (up + down || 1) : 0;
  share.style.width = `${100 * goodness}%`;
  share.parentElement.classList.toggle("empty", !latents);
  const awake = (latents ?? []).filter((value) => value > 0).length;
  if (!latents) note.textContent = " ";
  else if (two) note.textContent = `“${name}” is ${Math.round(100 * goodness)} % good here; ${awake} of ${cells.length} neurons are awake.`;
  else note.textContent = `Energy ${up.toFixed(0)} for “${name}”; ${awake} of ${cells.length} neurons are awake.`;
}
