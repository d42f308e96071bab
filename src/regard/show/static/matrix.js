// A table of weights: as a matrix with its words around it, as a thumbnail, and as a drawing to take away.
import { between, colour, el, number, say, shown, svg, themed } from "./dom.js";
import { place, readable, within } from "./cells.js";

const FONT = "13px system-ui, sans-serif";
const CELL = 24;
let ruler = null;

/** How wide a word is drawn. */
export function width(text) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = FONT;
  return ruler.measureText(text).width;
}

function measures(trace) {
  const left = Math.max(24, ...trace.queries.map((word) => width(shown(word)))) + 14;
  const lean = Math.max(16, ...trace.keys.map((word) => width(shown(word))));
  const many = Math.max(trace.keys.length, trace.queries.length);
  const cell = many > 60 ? 14 : many > 34 ? 18 : CELL;
  const last = trace.keys.length ? width(shown(trace.keys.at(-1))) : 0;
  return { left, top: lean * 0.77 + 18, cell, right: Math.max(12, last * 0.64 - cell / 2 + 10) };
}

/** Source across, target down. `onpoint(row, column)` hears where one points, `point` shows a place from elsewhere. */
export function matrix(trace, { label = "Alignment", onpoint = () => {} } = {}) {
  const { left, top, cell, right } = measures(trace);
  const rows = trace.queries.length, columns = trace.keys.length;
  const across = left + columns * cell + right, down = top + rows * cell + 8;
  const most = trace.scale || 1;
  const words = { rows: [], columns: [] };
  const cursor = svg("rect", { class: "cursor", width: cell, height: cell, visibility: "hidden" });
  const bands = [svg("rect", { class: "band", visibility: "hidden" }), svg("rect", { class: "band", visibility: "hidden" })];
  const cells = svg("g", {});
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const weight = trace.at(row, column);
      if (weight !== null && weight < most / 300) continue;
      const box = { x: left + column * cell + 0.5, y: top + row * cell + 0.5, width: cell - 1, height: cell - 1 };
      cells.append(svg("rect", weight === null ? { ...box, class: "hidden" } : { ...box, class: "weight", "fill-opacity": (weight / most).toFixed(3), rx: 2 }));
    }
  trace.queries.forEach((word, row) => {
    words.rows.push(svg("text", { x: left - 8, y: top + (row + 0.5) * cell, class: "row" }, shown(word)));
  });
  trace.keys.forEach((word, column) => {
    const x = left + (column + 0.5) * cell + 3, y = top - 6;
    words.columns.push(svg("text", { x, y, class: "column", transform: `rotate(-50 ${x} ${y})` }, shown(word)));
  });
  const frame = svg("rect", { class: "frame", x: left, y: top, width: columns * cell, height: rows * cell });
  const picture = svg(
    "svg",
    { class: "matrix", viewBox: `0 0 ${across} ${down}`, width: across, height: down, role: "img", tabindex: 0, "aria-label": `${label}: ${rows} rows by ${columns} columns. Arrow keys read the cells.` },
    bands, frame, cells, words.rows, words.columns, cursor
  );
  picture.style.minWidth = `${Math.round(0.6 * across)}px`;  // on a phone it shrinks first, then it is scrolled
  const read = (row, column) => {
    const weight = trace.at(row, column);
    return `${shown(trace.queries[row])} → ${shown(trace.keys[column])}: ${weight === null ? "out of scope" : number(weight, 3)}`;
  };
  function point(row, column, aloud = false) {
    words.rows.forEach((word, at) => word.classList.toggle("lit", at === row));
    words.columns.forEach((word, at) => word.classList.toggle("lit", at === column));
    const seen = row !== null && column !== null;
    place(cursor, seen && { x: left + column * cell, y: top + row * cell });
    place(bands[0], row !== null && { x: left, y: top + row * cell, width: columns * cell, height: cell });
    place(bands[1], column !== null && { x: left + column * cell, y: top, width: cell, height: rows * cell });
    if (seen && aloud) say(read(row, column));
  }
  const at = (x, y) => [within(y, top, cell, rows), within(x, left, cell, columns)];
  readable(picture, rows, columns, at, (row, column) => {
    point(row, column, true);
    onpoint(row, column);
  });
  const legend = el("p", { class: "legend" }, "0", el("span", { class: "ramp" }), number(most, 2), trace.queries.some((_, row) => trace.keys.some((_, column) => trace.at(row, column) === null)) && [el("span", { class: "swatch" }), "out of scope"]);
  return { node: el("div", { class: "scroll" }, picture, legend), point };
}

/** The weights alone, small: a pixel each. */
export function thumbnail(trace) {
  const canvas = el("canvas", { width: trace.keys.length || 1, height: trace.queries.length || 1, class: "thumb", "aria-hidden": "true" });
  return themed(canvas, () => {
    const paper = colour("--card"), ink = colour("--blue"), out = colour("--out");
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    let at = 0;
    for (let row = 0; row < trace.queries.length; row++)
      for (let column = 0; column < trace.keys.length; column++, at += 4) {
        const weight = trace.at(row, column);
        image.data.set([...(weight === null ? out : between(paper, ink, weight / (trace.scale || 1))), 255], at);
      }
    context.putImageData(image, 0, 0);
  });
}

/** A drawing for a paper: black on white, nothing but what SVG 1.1 has. */
export function drawing(trace) {
  const { left, top, cell, right } = measures(trace);
  const across = left + trace.keys.length * cell + right, down = top + trace.queries.length * cell + 8;
  const root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${across.toFixed(1)} ${down.toFixed(1)}`, width: across.toFixed(1), height: down.toFixed(1), "font-family": "Helvetica, Arial, sans-serif", "font-size": 13 });
  root.append(svg("rect", { width: across, height: down, fill: "#ffffff" }));
  trace.queries.forEach((word, row) => {
    trace.keys.forEach((_, column) => {
      const weight = trace.at(row, column);
      const box = { x: left + column * cell, y: top + row * cell, width: cell, height: cell };
      if (weight === null) root.append(svg("rect", { ...box, fill: "#e4e4e4" }));
      else if (weight > 0) root.append(svg("rect", { ...box, fill: "#0072b2", "fill-opacity": (weight / trace.scale).toFixed(3) }));
    });
    root.append(svg("text", { x: left - 8, y: top + (row + 0.5) * cell + 4, "text-anchor": "end", fill: "#222222" }, shown(word)));
  });
  trace.keys.forEach((word, column) => {
    const x = left + (column + 0.5) * cell + 3, y = top - 6;
    root.append(svg("text", { x, y, transform: `rotate(-50 ${x} ${y})`, fill: "#222222" }, shown(word)));
  });
  root.append(svg("rect", { x: left, y: top, width: trace.keys.length * cell, height: trace.queries.length * cell, fill: "none", stroke: "#9a9a9a" }));
  return new XMLSerializer().serializeToString(root);
}
