// Looks of any kind: words, places of a picture, points of a plane, cells of a tape, moments of a series.
import { card, el, list, number, put, say, shown, svg } from "./dom.js";
import { traces } from "./data.js";
import { matrix } from "./matrix.js";

export const title = "Looks";
export const view = "looks";

export async function render(panel, app) {
  const found = await app.ask("looks");
  put(panel, el("div", { class: "gallery" }, traces(found).map((trace) => one(trace))));
}

function one(trace) {
  const name = trace.about?.title ?? `${trace.name}, head ${trace.head + 1}`;
  const drawn = (KINDS[trace.kind] ?? KINDS.text)(trace, name);
  return card(name, [], trace.about?.note && el("p", { class: "quiet" }, trace.about.note), drawn);
}

const KINDS = {
  text: (trace, name) => matrix(trace, { label: name }).node,
  tape: (trace, name) => matrix(trace, { label: `${name}: steps down, cells across` }).node,
  image: (trace) => chosen(trace, picture),
  points: (trace) => chosen(trace, plane),
  series: (trace) => chosen(trace, bars),
};

/** One query at a time. */
function chosen(trace, draw) {
  const stage = el("div", {});
  const go = (query) => { put(stage, draw(trace, Number(query))); say(`${shown(trace.queries[query])}: ${brief(trace, query)}`); };
  put(stage, draw(trace, 0));
  return el("div", {}, trace.queries.length > 1 && list("looks", trace.queries.map((word, at) => [at, shown(word)]), 0, go), stage);
}

function brief(trace, query) {
  const best = trace.keys.map((_, key) => trace.at(query, key) ?? 0);
  const most = Math.max(...best);
  return `most at ${shown(trace.keys[best.indexOf(most)])}, ${number(most)}`;
}

/** Weights laid over a picture, patch by patch. */
function picture(trace, query) {
  const [rows, columns] = trace.about.grid, size = Math.min(64, 280 / rows, 420 / columns);
  const grey = trace.about.image;
  const cells = [];
  if (grey) grey.forEach((line, y) => line.forEach((value, x) => cells.push(svg("rect", { x: (x * columns * size) / line.length, y: (y * rows * size) / grey.length, width: (columns * size) / line.length + 0.3, height: (rows * size) / grey.length + 0.3, fill: `rgb(${[1, 1, 1].map(() => Math.round(255 * value)).join(",")})` }))));
  trace.keys.forEach((_, key) => cells.push(svg("rect", { class: "over", x: (key % columns) * size, y: Math.floor(key / columns) * size, width: size, height: size, "fill-opacity": ((trace.at(query, key) ?? 0) / trace.scale * 0.6).toFixed(3) })));
  return svg("svg", { class: "picture", width: columns * size, height: rows * size, viewBox: `0 0 ${columns * size} ${rows * size}`, role: "img", "aria-label": `${shown(trace.queries[query])}: ${brief(trace, query)}` }, cells);
}

/** Points of a plane; the larger, the more weight. */
function plane(trace, query) {
  const size = 280, pad = 18, places = trace.about.places;
  const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
  const scale = (value, values) => pad + ((value - Math.min(...values)) / (Math.max(...values) - Math.min(...values) || 1)) * (size - 2 * pad);
  return svg("svg", { class: "picture", width: size, height: size, viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `${shown(trace.queries[query])}: ${brief(trace, query)}` }, places.map(([x, y], key) => {
    const weight = trace.at(query, key) ?? 0;
    return svg("g", {}, svg("circle", { class: "over", cx: scale(x, xs), cy: size - scale(y, ys), r: (3 + 11 * Math.sqrt(weight)).toFixed(1), "fill-opacity": (0.15 + 0.8 * weight).toFixed(3) }), svg("text", { class: "tiny", x: scale(x, xs) + 8, y: size - scale(y, ys) - 8 }, shown(trace.keys[key])));
  }));
}

/** Weights over time, with the values they are weights of, if there are some. */
function bars(trace, query) {
  const wide = Math.max(240, trace.keys.length * 8), high = 120, step = wide / trace.keys.length;
  const values = trace.about?.values, most = values && Math.max(1e-9, ...values.map(Math.abs));
  return el("div", { class: "scroll" }, svg("svg", { class: "picture", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${shown(trace.queries[query])}: ${brief(trace, query)}` }, trace.keys.map((_, key) => {
    const weight = ((trace.at(query, key) ?? 0) / trace.scale) * (high - 8);
    return svg("rect", { class: "over", x: key * step + 0.5, y: high - weight, width: Math.max(1, step - 1), height: weight, "fill-opacity": 0.75 });
  }), values && svg("polyline", { class: "wave-line", points: values.map((value, key) => `${((key + 0.5) * step).toFixed(1)},${(high / 2 - (value / most) * (high / 2 - 6)).toFixed(1)}`).join(" ") })));
}
