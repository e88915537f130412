(function () {
"use strict";
const $ = (selector, root) => (root || document).querySelector(selector);
const $$ = (selector, root) => Array.from((root || document).querySelectorAll(selector));
const COLOURS = ["var(--blue)", "var(--vermilion)", "var(--green)", "#cc79a7", "#e69f00", "#56b4e9", "#7f868f"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "4 2", "1 2"];
const PAGE = 50;

/* Make an element; text is always text, never markup. */
function make(tag, attributes, ...children) {
  const svg = ["svg", "path", "line", "text", "circle", "title", "g"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}
const show = (value, digits) => value === null || value === undefined ? "–"
  : typeof value === "number" ? (digits === undefined ? String(value) : value.toFixed(digits)).replace("-", "−")
  : String(value);

/* Light and dark. */
function theme() {
  const root = document.documentElement;
  const keep = (value) => { try { localStorage.setItem("sffa-theme", value); } catch (error) { /* not kept then */ } };
  let stored = null;
  try { stored = localStorage.getItem("sffa-theme"); } catch (error) { stored = null; }
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  $("#theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    keep(root.dataset.theme);
  });
}

/* Compare numbers as numbers, words as words, nothing last. */
function order(a, b, sign) {
  const none = (value) => value === null || value === undefined || value === "";
  if (none(a) || none(b)) return none(a) - none(b);
  return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
}
function options(select, values, name) {
  for (const value of values) select.append(make("option", { value }, name ? name(value) : value));
}
/* Where heads are not shown, on a phone, a list of them sorts too. */
function sorts(tools, heads) {
  const select = $("select[data-sorts]", tools);
  heads.forEach((head, column) => {
    const name = head.dataset.label || head.textContent;
    select.append(make("option", { value: column + " ascending" }, name + ", upwards"), make("option", { value: column + " descending" }, name + ", downwards"));
  });
  select.addEventListener("input", () => {
    if (!select.value) return;
    const [column, way] = select.value.split(" ");
    if (way === "descending") heads[column].setAttribute("aria-sort", "ascending");
    else heads[column].removeAttribute("aria-sort");
    $("button", heads[column]).click();
  });
}
function markSorted(heads, chosen, ascending) {
  for (const head of heads) head.removeAttribute("aria-sort");
  chosen.setAttribute("aria-sort", ascending ? "ascending" : "descending");
}

/* Tables that are in the page already: sort their rows, hide those that do not match. */
function enhance(tools) {
  const table = document.getElementById(tools.dataset.for);
  const body = table.tBodies[0];
  const rows = Array.from(body.rows).map((row) => ({
    row,
    text: row.textContent.toLowerCase(),
    cells: Array.from(row.cells).map((cell) => {
      const given = cell.dataset.sort;
      const shown = cell.textContent.trim();
      if (given !== undefined) return isNaN(Number(given)) ? given : Number(given);
      return shown === "–" ? null : shown;
    }),
  }));
  const search = $("input", tools), selects = $$("select[data-column]", tools), output = $("output", tools);
  for (const select of selects) options(select, [...new Set(rows.map((r) => r.cells[select.dataset.column]))].filter((v) => v !== null));
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const item of rows) {
      const fits = words.every((word) => item.text.includes(word))
        && selects.every((s) => !s.value || item.cells[s.dataset.column] === s.value);
      item.row.hidden = !fits;
      count += fits;
    }
    output.textContent = count + " of " + rows.length + " rows";
  }
  const heads = $$("thead th", table);
  heads.forEach((head, column) => $("button", head).addEventListener("click", () => {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    markSorted(heads, head, ascending);
    rows.sort((a, b) => order(a.cells[column], b.cells[column], ascending ? 1 : -1));
    body.append(...rows.map((item) => item.row));
  }));
  for (const control of [search, ...selects]) control.addEventListener("input", filter);
  sorts(tools, heads);
  filter();
}

/* The list of runs: made a page at a time, so that thousands cost nothing at first. */
let store = null;
function records() {
  if (!store) {
    store = JSON.parse($("#records").textContent);
    store.runs.forEach((run, number) => { run.number = number; });
  }
  return store;
}
const named = (key) => Object.hasOwn(records().names, key) ? records().names[key] : key;
const COLUMNS = [
  ["Run", (run) => named(run.dataset)], ["Scenario", (run) => named(run.scenario)], ["Method", (run) => named(run.method)],
  ["Algorithm", (run) => named(run.algorithm)], ["Seed", (run) => run.seed, 0], ["Status", (run) => run.status],
  ["Accuracy, %", (run) => run.metrics.acc ?? run.metrics.val_selected ?? run.metrics.last ?? null, 2], ["Forgetting", (run) => run.metrics.fgt ?? null, 2],
  ["Seconds", (run) => run.seconds ?? null, 1],
];
function runList() {
  const section = $("#runs");
  if (!section) return;
  const all = records().runs, tools = $("#run-tools"), body = $("#run-table").tBodies[0], more = $("#more");
  const search = $("input", tools), selects = $$("select[data-key]", tools), output = $("output", tools);
  for (const select of selects) options(select, [...new Set(all.map((run) => run[select.dataset.key]))].filter(Boolean).sort(), named);
  const words = all.map((run) => [...COLUMNS.slice(0, 4).map((column) => column[1](run)), run.dataset, run.algorithm, run.seed, run.status, run.error].join(" ").toLowerCase());
  let chosen = all.slice(), shown = 0, key = null, sign = 1;
  function row(run) {
    const cells = COLUMNS.map(([title, value, digits], column) => {
      const text = show(value(run), digits);
      const cell = make("td", { "data-label": title }, column ? text : make("a", { href: "#run-" + run.number }, text));
      if (digits !== undefined) cell.className = "number";
      if (title === "Status" && run.status !== "done") cell.className = "failed";
      return cell;
    });
    return make("tr", {}, cells);
  }
  function extend() {
    body.append(...chosen.slice(shown, shown + PAGE).map(row));
    shown = Math.min(shown + PAGE, chosen.length);
    more.hidden = shown >= chosen.length;
    output.textContent = chosen.length + " of " + all.length + " runs, " + shown + " shown";
  }
  function refresh() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    chosen = all.filter((run) => wanted.every((word) => words[run.number].includes(word))
      && selects.every((s) => !s.value || run[s.dataset.key] === s.value));
    if (key) chosen.sort((a, b) => order(key(a), key(b), sign) || a.number - b.number);
    body.replaceChildren();
    shown = 0;
    extend();
  }
  const heads = COLUMNS.map(([title, , digits]) => make("th", { scope: "col", class: digits === undefined ? "" : "number" }, make("button", { type: "button" }, title)));
  heads.forEach((head, column) => $("button", head).addEventListener("click", () => {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    markSorted(heads, head, ascending);
    key = COLUMNS[column][1];
    sign = ascending ? 1 : -1;
    refresh();
  }));
  $("#run-table thead tr").append(...heads);
  sorts(tools, heads);
  for (const control of [search, ...selects]) control.addEventListener("input", refresh);
  more.addEventListener("click", extend);
  refresh();
}

/* A chart of lines in percent or any other unit. */
function chart(lines, xTitle, yTitle, range) {
  const W = 460, H = 240, L = 44, R = 10, T = 12, B = 38;
  const values = lines.flatMap((line) => line.values.filter((v) => typeof v === "number"));
  if (!values.length) return make("p", { class: "quiet" }, "Nothing to draw.");
  const n = Math.max(...lines.map((line) => line.values.length));
  const low = range ? range[0] : Math.min(0, ...values), high = range ? range[1] : Math.max(...values) * 1.05 || 1;
  const x = (i) => L + (n < 2 ? 0.5 : i / (n - 1)) * (W - L - R), y = (v) => H - B - (v - low) / (high - low) * (H - T - B);
  const svg = make("svg", { viewBox: "0 0 " + W + " " + H, class: "chart", role: "img" }, make("title", {}, yTitle + " by " + xTitle));
  for (let tick = 0; tick <= 4; tick++) {
    const v = low + (high - low) * tick / 4;
    svg.append(make("line", { x1: L, x2: W - R, y1: y(v), y2: y(v), stroke: "currentColor", "stroke-opacity": 0.15 }),
      make("text", { x: L - 6, y: y(v) + 4, "text-anchor": "end" }, high - low > 8 ? v.toFixed(0) : v.toPrecision(2)));
  }
  const every = Math.max(1, Math.ceil(n / 10));
  for (let i = 0; i < n; i += every) svg.append(make("text", { x: x(i), y: H - B + 16, "text-anchor": "middle" }, String(i + 1)));
  svg.append(make("text", { x: (L + W - R) / 2, y: H - 5, "text-anchor": "middle" }, xTitle));
  lines.forEach((line, number) => {
    const points = line.values.map((v, i) => typeof v === "number" ? [x(i), y(v)] : null).filter(Boolean);
    const colour = line.colour || COLOURS[number % COLOURS.length];
    const look = { fill: "none", style: "stroke:" + colour, "stroke-width": line.width || 2, "stroke-dasharray": line.dash ?? DASHES[number % DASHES.length] };
    svg.append(make("path", { d: "M" + points.map((p) => p.map((c) => c.toFixed(1)).join(" ")).join("L"), ...look }));
    if (n <= 20) for (const p of points) svg.append(make("circle", { cx: p[0], cy: p[1], r: 2.6, style: "fill:" + colour }));
  });
  const legend = make("ul", { class: "legend" }, lines.map((line, number) => {
    const key = make("i");
    key.style.borderColor = line.colour || COLOURS[number % COLOURS.length];
    key.style.borderTopStyle = (line.dash ?? DASHES[number % DASHES.length]) ? "dashed" : "solid";
    return make("li", {}, key, line.name);
  }));
  return make("div", {}, svg, make("p", { class: "quiet" }, yTitle), legend);
}
function card(title, ...content) {
  return make("section", { class: "card" }, make("h2", {}, title), ...content);
}
function pairs(object) {
  return make("dl", { class: "pairs" }, Object.entries(object).flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, Array.isArray(value) ? value.join(", ") : show(value))]));
}
function grid(head, rows, className) {
  return make("div", { class: "wide", tabindex: 0, role: "region" }, make("table", { class: className || "" },
    make("thead", {}, make("tr", {}, head.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, rows)));
}
function matrixCard(run) {
  const experiences = run.matrix[0].length;
  const head = ["after", ...Array.from({ length: experiences }, (_, i) => "E" + (i + 1))];
  const rows = run.matrix.map((line, j) => make("tr", {}, make("th", { scope: "row" }, j ? "E" + j : "start"), line.map((value, i) => {
    const cell = make("td", {}, show(value, 1));
    if (typeof value === "number") cell.style.backgroundColor = "rgba(var(--heat)," + (0.55 * Math.max(0, Math.min(100, value)) / 100).toFixed(2) + ")";
    if (i === j - 1) cell.style.fontWeight = "700";
    return cell;
  })));
  return card("Accuracy on each experience, %", grid(head, rows, "matrix"), make("p", { class: "quiet" }, "Row: after learning this experience. Column: tested on that one. Bold: just learned."));
}
function streamCard(run) {
  const lines = [{ name: "all seen so far", values: run.curve, colour: "currentColor", width: 2.6, dash: "" }];
  if (Array.isArray(run.matrix) && Array.isArray(run.matrix[0])) run.matrix[0].forEach((_, i) => lines.push({
    name: "experience " + (i + 1), values: run.matrix.slice(1).map((line, j) => j >= i ? line[i] : null), width: 1.3 }));
  return card("Along the stream", chart(lines, "experiences learned", "Accuracy, %", [0, 100]));
}
function epochCards(run) {
  const take = (key) => run.curve.map((point) => point && typeof point === "object" ? point[key] ?? null : null);
  const accuracy = [{ name: "test", values: take("test") }, { name: "validation", values: take("validation") }];
  const layers = run.curve.find((point) => point && Array.isArray(point.layers));
  if (layers) layers.layers.forEach((_, i) => accuracy.push({ name: "layer " + (i + 1) + " alone", values: run.curve.map((p) => p.layers ? p.layers[i] : null), width: 1.2 }));
  const drawn = accuracy.filter((line) => line.values.some((v) => typeof v === "number"));
  const values = drawn.flatMap((line) => line.values).filter((v) => typeof v === "number");
  const low = values.length ? Math.max(0, Math.floor((Math.min(...values) - 1) / 5) * 5) : 0;
  return [card("Accuracy by epoch", chart(drawn, "epoch", "Accuracy, %", [low, 100])), card("Loss by epoch", chart([{ name: "training loss", values: take("loss") }], "epoch", "Loss"))];
}
function experienceCard(run) {
  const rows = run.experiences.map((e, i) => make("tr", {}, [String(i + 1), (e.classes || []).join(", "), show(e.seconds, 1), show(e.memory_mb, 0)].map((text) => make("td", {}, text))));
  return card("Experiences", grid(["experience", "classes", "seconds", "memory, MB"], rows));
}
function classCard(run) {
  const entries = Array.isArray(run.per_class) ? run.per_class.map((v, i) => [String(i), v]) : Object.entries(run.per_class);
  const rows = entries.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, typeof value === "number" ? show(value, 1) : JSON.stringify(value))));
  return card("Accuracy by class, %", grid(["class", "accuracy"], rows));
}
function runPage(number) {
  const { runs, environments } = records(), run = runs[number];
  const page = $("#run");
  if (!run) {
    page.replaceChildren(make("h1", {}, "There is no run " + number), make("p", {}, make("a", { href: "#runs" }, "All runs")));
    return;
  }
  const name = [run.dataset, run.scenario, run.method, run.algorithm].filter(Boolean).map(named).join(", ") + ", seed " + show(run.seed);
  const steps = make("p", { class: "steps" }, make("a", { href: "#runs" }, "← All runs"),
    number > 0 ? make("a", { href: "#run-" + (number - 1), rel: "prev" }, "Previous") : null,
    number < runs.length - 1 ? make("a", { href: "#run-" + (number + 1), rel: "next" }, "Next") : null);
  const cards = [];
  if (run.status !== "done") cards.push(card("This run failed", make("pre", {}, run.error || "No reason was kept.")));
  const about = { ...Object.fromEntries(Object.entries(run.metrics).map(([key, value]) => [key + ", %", show(value, 2)])) };
  for (const key of ["seconds", "peak_memory_mb", "started", "finished", "attempts"]) if (run[key] !== undefined) about[key] = run[key];
  cards.push(card("Result", Object.keys(about).length ? pairs(about) : make("p", {}, "Nothing was measured.")));
  const continual = Array.isArray(run.curve) && typeof run.curve[0] === "number";
  if (Array.isArray(run.matrix) && Array.isArray(run.matrix[0])) cards.push(matrixCard(run));
  if (continual) cards.push(streamCard(run));
  else if (Array.isArray(run.curve) && run.curve.length) cards.push(...epochCards(run));
  if (Array.isArray(run.experiences) && run.experiences.length) cards.push(experienceCard(run));
  if (run.per_class && Object.keys(run.per_class).length) cards.push(classCard(run));
  cards.push(card("Configuration", Object.keys(run.config).length ? pairs(run.config) : make("p", {}, "None was kept.")));
  const environment = environments[run.environment] || {};
  if (Object.keys(environment).length) cards.push(card("Run on", pairs(environment)));
  page.replaceChildren(steps, make("h1", {}, name), make("div", { class: "columns" }, cards));
}

/* Addresses: #run-12 is the page of a run, everything else a place in the report. */
let place = 0;
function route() {
  const match = /^#run-(\d+)$/.exec(location.hash), main = $("main"), page = $("#run");
  if (match) {
    if (!main.hidden) place = scrollY;
    runPage(Number(match[1]));
    main.hidden = true;
    page.hidden = false;
    scrollTo({ top: 0, behavior: "instant" });
    page.focus({ preventScroll: true });
  } else if (main.hidden) {
    main.hidden = false;
    page.hidden = true;
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    if (target && location.hash !== "#runs") target.scrollIntoView();
    else scrollTo({ top: place, behavior: "instant" });
  }
}
addEventListener("keydown", (event) => { if (event.key === "Escape" && !$("#run").hidden) location.hash = "#runs"; });
addEventListener("hashchange", route);
theme();
$$(".tools[data-for]").forEach(enhance);
runList();
route();
})();
