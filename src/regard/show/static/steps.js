// Step by step: one look in numbers, the translation word by word, and how places are told.
import { card, choice, el, list, number, put, shown } from "./dom.js";
import { table } from "./data.js";
import { film } from "./film.js";
import { positions } from "./positions.js";
import { largest, strip } from "./strip.js";

export const title = "Step by step";
export const view = "steps";

const PLACES = { encoder: "encoder, itself", decoder: "decoder, itself", cross: "decoder, source" };
const SCORES = { ScaledDot: "q · k", Dot: "q · k", General: "q · W k", Additive: "vᵀ tanh(W q + U k)", Concat: "vᵀ tanh(W [q; k])", Cosine: "β cos(q, k)" };

export async function render(panel, app) {
  const ways = [["look", "one look in numbers", "steps"], ["film", "word by word", "film"], ["places", "places", "positions"]].filter(([, , view]) => app.has(view));
  const way = ways.some(([key]) => key === app.way) ? app.way : ways[0][0];
  const body = el("div", { class: "stack" });
  put(panel, ways.length > 1 && choice("Show", ways.map(([key, label]) => [key, label]), way, (chosen) => app.set({ way: chosen })), body);
  if (way === "film") return film(body, app);
  if (way === "places") return positions(body, app);
  return look(body, app);
}

async function look(body, app) {
  const there = await choices(app);
  let at = there.find((one) => one.join() === [app.look.place, app.look.layer, app.look.head].join()) ?? there.find(([place]) => place === app.look.place) ?? there[0];
  app.look = { place: at[0], layer: at[1], head: at[2] };
  const found = await app.ask("steps", app.look);
  const query = Math.min(app.query ?? 0, found.queries.length - 1);
  const distinct = (index, keep) => [...new Map(there.filter(keep).map((one) => [one[index], one[index]])).keys()];
  const go = (change) => {
    const wanted = { ...app.look, ...change };
    const near = there.find((one) => one.join() === [wanted.place, wanted.layer, wanted.head].join()) ?? there.find((one) => one[0] === wanted.place && one[1] === wanted.layer) ?? there.find((one) => one[0] === wanted.place);
    app.set({ look: { place: near[0], layer: near[1], head: near[2] }, query: change.place ? 0 : query });
  };
  const q = shown(found.queries[query]);
  put(
    body,
    el(
      "div", { class: "row" },
      there.length > 1 && [
        list("looks from", distinct(0, () => true).map((place) => [place, PLACES[place] ?? place]), at[0], (place) => go({ place })),
        list("layer", distinct(1, (one) => one[0] === at[0]).map((layer) => [layer, layer + 1]), at[1], (layer) => go({ layer: Number(layer) })),
        list("head", distinct(2, (one) => one[0] === at[0] && one[1] === at[1]).map((head) => [head, head + 1]), at[2], (head) => go({ head: Number(head) })),
      ],
      list("the word that looks", found.queries.map((word, place) => [place, `${place + 1}. ${shown(word)}`]), query, (word) => app.set({ query: Number(word) }))
    ),
    card(`What does “${q}” look at?`, el("span", { class: "quiet" }, found.name), stepTable(found, query)),
    el("p", { class: "quiet" }, "The numbers are those of the model's own pass. Vectors are drawn as strips, blue above zero and orange below; point at one for its numbers.")
  );
}

/** The places, layers and heads whose numbers can be had. */
async function choices(app) {
  const saved = app.saved();
  if (saved) return saved.map((key) => key.split(".").map((part, at) => (at ? Number(part) : part)));
  const found = await app.ask("heads");
  return found.traces.map((trace, at) => [found.habits[at].place, trace.layer, trace.head]);
}

/** Top to bottom as in the Illustrated Transformer: a column for each word that is looked at. */
function stepTable(found, query) {
  const tables = Object.fromEntries(["asking", "asked", "q", "k", "v", "raw", "scores", "biased", "weights", "sum", "allowed"].map((name) => [name, table(found[name])]));
  const { q, k, v, raw, scores, biased, weights, sum, allowed } = tables;
  const keys = found.keys;
  const hidden = (key) => allowed && allowed.at(query, key) === 0;
  const rows = [];
  const add = (id, name, told, cell) => rows.push(el("tr", { "data-row": id }, el("th", { scope: "row" }, el("b", {}, name), el("span", { class: "quiet" }, told)), cell));
  const each = (cell) => keys.map((_, key) => (hidden(key) ? el("td", { class: "out" }, "·") : cell(key)));
  const vectors = (from, of, label) => {
    const most = largest(from);
    return each((key) => vector(from.row(of(key)), most, `${label} of ${shown(keys[key])}`));
  };
  const numbers = (from, places) => each((key) => value(from.at(query, key), places));
  const single = (from, label) => [el("td", { colspan: keys.length, class: "single" }, vector(from.row(query), largest(from), label, true))];
  if (tables.asking) add("asking", "what looks", `first ${tables.asking.columns} numbers of x`, single(tables.asking, "x of the word that looks"));
  if (tables.asked && tables.asked.rows === keys.length) add("asked", "what is looked at", `first ${tables.asked.columns} numbers of x`, vectors(tables.asked, (key) => key, "x"));
  if (q) add("q", "query q", `${q.columns} numbers`, single(q, "query"));
  if (k) add("k", "keys k", `${k.columns} numbers each`, vectors(k, (key) => key, "key"));
  if (v) add("v", "values v", `${v.columns} numbers each`, vectors(v, (key) => key, "value"));
  if (raw) add("raw", `score ${SCORES[found.score] ?? found.score}`, found.score, numbers(raw, 3));
  if (scores && (!raw || found.scale !== 1)) add("scores", raw ? `÷ ${brief(1 / found.scale, 2)}` : `score ${SCORES[found.score] ?? ""}`, raw ? `= √${k.columns}` : found.score, numbers(scores, 3));
  if (biased) add("biased", "+ bias", "by position", numbers(biased, 3));
  add("weights", found.select.toLowerCase(), "weights, their sum is 1", each((key) => weight(weights.at(query, key))));
  if (v) add("weighted", "weight × value", "", (() => {
    const made = keys.map((_, key) => v.row(key).map((value) => value * weights.at(query, key)));
    const most = Math.max(1e-9, ...made.flat().map(Math.abs));
    return each((key) => vector(made[key], most, `weighted value of ${shown(keys[key])}`));
  })());
  if (sum) add("sum", "sum z", "what this head reads", single(sum, "sum"));
  return el(
    "div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The steps as a table" },
    el("table", { class: "steps" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "looked at"), keys.map((word) => el("th", { scope: "col" }, shown(word))))), el("tbody", {}, rows))
  );
}

function value(exact, places) {
  return el("td", { "data-value": exact, title: number(exact, 6) }, brief(exact, places));
}

/** Without places where there is nothing in them. */
function brief(value, places) {
  return number(value, Math.abs(value - Math.round(value)) < 1e-5 ? 0 : places);
}

function weight(exact) {
  const bar = el("span", { class: "bar" }, el("span", {}));
  bar.firstChild.style.width = `${(100 * exact).toFixed(1)}%`;
  return el("td", { "data-value": exact, title: number(exact, 6), class: "weight" }, number(exact, 3), bar);
}

function vector(values, most, label, bare = false) {
  const some = values.slice(0, 3).map((one) => number(one)).join(" ");
  const inside = [strip(values, most, label), el("span", { class: "numbers" }, `${some}${values.length > 3 ? " …" : ""}`)];
  const attributes = { class: "vector", "data-values": values.join(" "), title: values.map((one) => number(one, 3)).join("  ") };
  return el(bare ? "div" : "td", attributes, inside);
}
