// Heads: every layer and head as a thumbnail; one of them large, as a matrix or as lines, and what it does on average.
import { card, choice, el, number, put } from "./dom.js";
import { traces } from "./data.js";
import { copies } from "./copy.js";
import { lines } from "./lines.js";
import { drawing, matrix, thumbnail } from "./matrix.js";

export const title = "Heads";
export const view = "heads";

const MEANINGS = [
  ["diagonal", "its own place"], ["previous", "the word before"], ["next", "the word after"],
  ["first", "the first word"], ["punctuation", "punctuation and ends"],
];

export async function render(panel, app) {
  const found = await app.ask("heads");
  const all = traces(found).map((trace, at) => ({ trace, habit: found.habits[at], at }));
  if (!all.length) return put(panel, el("p", { class: "note" }, "This model has no attention to show."));
  const places = [...new Set(all.map((one) => one.habit.place))];
  const large = el("div", { class: "large" });
  const buttons = [];
  let chosen = all.find((one) => one.habit.place === app.look.place && one.trace.layer === app.look.layer && one.trace.head === app.look.head) ?? all.find((one) => one.habit.place === "cross") ?? all[0];

  function enlarge(one, bring = false) {
    chosen = one;
    app.look = { place: one.habit.place, layer: one.trace.layer, head: one.trace.head };
    buttons.forEach(([button, other]) => button.setAttribute("aria-pressed", String(other === one)));
    const name = `Layer ${one.trace.layer + 1}, head ${one.trace.head + 1}`;
    const how = { label: `${found.titles[one.habit.place]}: ${name}` };
    put(
      large,
      card(
        name,
        [
          choice("Drawn as", [["matrix", "matrix"], ["lines", "lines"]], app.form, (form) => { app.form = form; enlarge(one); }),
          copies([["SVG", () => drawing(one.trace), "head.svg"], ["JSON", () => JSON.stringify({ ...one.habit, layer: one.trace.layer, head: one.trace.head, queries: one.trace.queries, keys: one.trace.keys, weights: one.trace.queries.map((_, row) => one.trace.keys.map((_, column) => one.trace.at(row, column))) }), "head.json"]]),
        ],
        el("p", { class: "quiet" }, found.titles[one.habit.place], ". Rows look, columns are looked at."),
        (app.form === "lines" ? lines : matrix)(one.trace, how).node,
        average(one)
      )
    );
    if (bring && window.matchMedia("(max-width: 60rem)").matches) large.scrollIntoView({ block: "start", behavior: "smooth" });
  }
  const grids = places.map((place) => {
    const here = all.filter((one) => one.habit.place === place);
    const heads = Math.max(...here.map((one) => one.trace.head)) + 1;
    const grid = el("div", { class: "grid" }, here.map((one) => {
      const button = el(
        "button", { type: "button", class: "head-button", "aria-pressed": "false", "aria-label": `Layer ${one.trace.layer + 1}, head ${one.trace.head + 1}: ${one.habit.does}`, click: () => enlarge(one, true) },
        thumbnail(one.trace), el("span", {}, `${one.trace.layer + 1}·${one.trace.head + 1}`), el("span", { class: "quiet does" }, one.habit.does)
      );
      buttons.push([button, one]);
      return button;
    }));
    grid.style.setProperty("--heads", heads);
    return card(found.titles[place], el("span", { class: "quiet" }, `${here.length / heads} layers × ${heads} heads`), grid);
  });
  put(panel, el("div", { class: "columns" }, el("div", { class: "stack" }, grids), large));
  enlarge(chosen);
}

/** The shares of its looking, as bars. */
function average(one) {
  return el(
    "div", { class: "average" },
    el("h3", {}, "On average it looks at"),
    el(
      "dl", {},
      MEANINGS.map(([key, meaning]) => {
        if (one.habit.place === "cross" && key === "diagonal") meaning = "near the diagonal";
        const bar = el("span", { class: "bar" }, el("span", {}));
        bar.firstChild.style.width = `${Math.min(100, 100 * one.habit[key]).toFixed(1)}%`;
        return [el("dt", {}, meaning), el("dd", {}, bar, number(one.habit[key]))];
      })
    ),
    el("p", { class: "quiet" }, `It spreads over about ${number(one.habit.reach, 1)} of ${one.trace.keys.length} (2 to the entropy).`)
  );
}
