// Looks of any kind: words, places of a picture, points of a plane, cells of a tape, moments of a series, …
import { card, el, put, svg } from "./dom.js";
import { brief, chosen } from "./choosing.js";
import { traces } from "./data.js";
import { matrix } from "./matrix.js";
import { planes } from "./points.js";
import { ponder } from "./ponder.js";
import { prose } from "./prose.js";
import { tape } from "./tape.js";

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
  prose: (trace) => prose(trace),
  tape: (trace, name) => tape(trace, name),
  ponder: (trace, name) => ponder(trace, name),
  image: (trace) => chosen(trace, picture),
  points: (trace) => chosen(trace, planes, trace.queries.length - 1),
  series: (trace) => chosen(trace, bars),
};

/** Weights laid over a picture, patch by patch. */
function picture(trace, query) {
  const [rows, columns] = trace.about.grid, size = Math.min(64, 280 / rows, 420 / columns);
  const grey = trace.about.image;
  const cells = [];
  if (grey) grey.forEach((line, y) => line.forEach((value, x) => cells.push(svg("rect", { x: (x * columns * size) / line.length, y: (y * rows * size) / grey.length, width: (columns * size) / line.length + 0.3, height: (rows * size) / grey.length + 0.3, fill: `rgb(${[1, 1, 1].map(() => Math.round(255 * value)).join(",")})` }))));
  trace.keys.forEach((_, key) => cells.push(svg("rect", { class: "over", x: (key % columns) * size, y: Math.floor(key / columns) * size, width: size, height: size, "fill-opacity": ((trace.at(query, key) ?? 0) / trace.scale * 0.6).toFixed(3) })));
  return svg("svg", { class: "picture", width: columns * size, height: rows * size, viewBox: `0 0 ${columns * size} ${rows * size}`, role: "img", "aria-label": brief(trace, query) }, cells);
}

/** Weights over time, with the values they are weights of, if there are some. */
function bars(trace, query) {
  const wide = Math.max(240, trace.keys.length * 8), high = 120, step = wide / trace.keys.length;
  const values = trace.about?.values, most = values && Math.max(1e-9, ...values.map(Math.abs));
  return el("div", { class: "scroll" }, svg("svg", { class: "picture", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": brief(trace, query) }, trace.keys.map((_, key) => {
    const weight = ((trace.at(query, key) ?? 0) / trace.scale) * (high - 8);
    return svg("rect", { class: "over", x: key * step + 0.5, y: high - weight, width: Math.max(1, step - 1), height: weight, "fill-opacity": 0.75 });
  }), values && svg("polyline", { class: "wave-line", points: values.map((value, key) => `${((key + 0.5) * step).toFixed(1)},${(high / 2 - (value / most) * (high / 2 - 6)).toFixed(1)}`).join(" ") })));
}
