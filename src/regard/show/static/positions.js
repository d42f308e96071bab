// How places are told: the table as a heat map, some of its columns as curves, how alike places are, and the sums.
import { card, el, number, put, shown, svg } from "./dom.js";
import { table } from "./data.js";
import { largest, sheet, strip } from "./strip.js";

export async function positions(body, app) {
  const found = await app.ask("positions");
  if (!found.table) return put(body, el("p", { class: "note" }, "This model adds nothing to its words to tell their places: its cells or its mechanisms know them."));
  const places = table(found.table), most = largest(places);
  const rows = Array.from({ length: places.rows }, (_, at) => places.row(at));
  const [embedding, place, sum] = [found.embedding, found.place, found.sum].map(table);
  const all = largest(embedding, place, sum);
  put(
    body,
    card(`Places as ${found.kind === "sinusoid" ? "waves" : "learned vectors"}`, el("span", { class: "quiet" }, `${places.rows} places × ${found.width} numbers`), figure(sheet(rows, most, "The table of places"), "number →", "place ↓"), el("p", { class: "quiet" }, "Blue is above zero, orange below. Even columns are sines and odd ones cosines, from fast to slow.")),
    el("div", { class: "pair" }, card("Some columns as curves", [], curves(places)), card("How alike two places are", [], figure(sheet(products(rows), Math.max(...products(rows).flat()), "Dot products of places"), "place →", "place ↓", "square"))),
    card("Word + place", [], el("div", { class: "scroll" }, el("table", { class: "steps sums" }, el("thead", {}, el("tr", {}, el("th", {}, "piece"), ["word", "place", "sum"].map((name) => el("th", {}, name)))), el("tbody", {}, found.tokens.map((piece, at) => el("tr", {}, el("th", { scope: "row" }, shown(piece)), [embedding, place, sum].map((from) => el("td", { class: "vector" }, strip(from.row(at), all, "")))))))), el("p", { class: "quiet" }, `The first ${embedding.columns} of ${found.width} numbers.`))
  );
}

function figure(picture, across, down, shape = "") {
  return el("div", { class: `figure ${shape}` }, el("span", { class: "quiet across" }, across), el("span", { class: "quiet down" }, down), picture);
}

function products(rows) {
  return rows.map((one) => rows.map((other) => one.reduce((total, value, at) => total + value * other[at], 0)));
}

function curves(places) {
  const wide = 360, high = 60, chosen = [0, 4, 8, 16].map((column) => Math.min(places.columns - 1, Math.floor((column * places.columns) / 64)));
  const most = largest(places);
  return el("div", {}, [...new Set(chosen)].map((column) => {
    const points = Array.from({ length: places.rows }, (_, at) => `${((at / Math.max(1, places.rows - 1)) * wide).toFixed(1)},${(high / 2 - (places.at(at, column) / most) * (high / 2 - 4)).toFixed(1)}`);
    return el("div", { class: "curve" }, el("span", { class: "quiet" }, `number ${number(column, 0)}`), svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "wave", role: "img", "aria-label": `Number ${column} over places` }, svg("line", { x1: 0, x2: wide, y1: high / 2, y2: high / 2, class: "zero" }), svg("polyline", { points: points.join(" "), class: "wave-line" })));
  }));
}
