// Two digits at a time, three methods side by side: a table each, a row after every pair.

import { find, make, percent } from "./dom.js";

export class Parts {
  constructor(page) {
    this.page = page;
    this.go = make("button", { type: "button", id: "learn", class: "main", text: "Learn two digits at a time", onclick: () => this.learn() });
    this.bar = make("progress", { max: 1, value: 0, hidden: true });
    this.tables = make("div", { id: "methods" });
    find("parts").replaceChildren(
      make("h2", { text: "What is forgotten?" }),
      make("p", { text: "A new network meets 0 and 1, then 2 and 3, and so on. Which does it still know at the end?" }),
      make("div", { class: "buttons" }, this.go, this.bar),
      this.tables,
      make("p", { class: "quiet", hidden: page.server.teaches, text: `This run was made with ${page.about.algorithms[0].name} when the page was.` }),
      make("p", { class: "quiet", hidden: !page.about.dreamed, text: "The digits to learn from are dreamed from statistics themselves, which makes it easy for Gaussian; with sffa play --data mnist they are real." }),
    );
  }

  async learn() {
    const { server, algorithm } = this.page;
    this.go.disabled = true;
    this.bar.hidden = false;
    try {
      this.show(await server.parts(algorithm, (job) => {
        this.bar.value = job.progress;
        this.show(job.result);
      }));
    } catch (error) {
      this.page.failed(error);
    } finally {
      this.go.disabled = false;
      this.bar.hidden = true;
    }
  }

  show({ parts, methods }) {
    if (methods) this.tables.replaceChildren(...methods.map((method) => tableOf(method, parts)));
  }
}

function tableOf({ name, about, rows, kilobytes }, parts) {
  const classes = parts.flat();
  const last = rows.at(-1);
  const seen = (number) => parts.slice(0, number + 1).flat();
  const mean = last && seen(rows.length - 1).reduce((sum, label) => sum + last[label], 0) / seen(rows.length - 1).length;
  const head = make("tr", {}, make("th", { scope: "col", text: "after" }), ...classes.map((label) => make("th", { scope: "col", text: label })));
  const body = parts.map((part, number) => make("tr", {},
    make("th", { scope: "row", text: part.join(" ") }),
    ...classes.map((label) => cellOf(rows[number], label, seen(number).includes(label)))));
  return make("section", { class: "method" },
    make("h3", {}, make("span", { text: name }), make("b", { text: last ? percent(mean) : "" })),
    make("p", { class: "quiet", text: about }),
    make("p", { class: "quiet", text: `keeps ${kilobytes || "nothing"}${kilobytes ? " kB" : ""}` }),
    make("table", { "aria-label": `${name}: accuracy on each digit` }, make("thead", {}, head), make("tbody", {}, ...body)));
}

function cellOf(row, label, seen) {
  if (!row || !seen) return make("td");
  const value = Math.round(row[label]);
  const cell = make("td", { text: value, class: value < 50 ? "lost" : "known" });
  cell.style.setProperty("--share", `${value}%`);
  return cell;
}
