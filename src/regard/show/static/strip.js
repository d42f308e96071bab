// A vector as a strip of colours: blue above zero, orange below, the paper at zero.
import { between, colour, el, number, themed } from "./dom.js";

/** So many numbers side by side; `most` is full ink. */
export function strip(values, most, label = "") {
  const canvas = el("canvas", { width: values.length || 1, height: 1, class: "strip", role: "img", "aria-label": `${label} ${values.length} numbers: ${values.slice(0, 4).map((value) => number(value)).join(", ")} …` });
  return themed(canvas, () => paint(canvas, [values], most));
}

/** Rows of numbers as one picture. */
export function sheet(rows, most, label) {
  const canvas = el("canvas", { width: rows[0]?.length || 1, height: rows.length || 1, class: "sheet", role: "img", "aria-label": label });
  return themed(canvas, () => paint(canvas, rows, most));
}

function paint(canvas, rows, most) {
  const paper = colour("--card"), high = colour("--blue"), low = colour("--orange");
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  rows.forEach((row, y) =>
    row.forEach((value, x) => {
      const share = Math.min(1, Math.abs(value) / (most || 1));
      image.data.set([...between(paper, value >= 0 ? high : low, share), 255], 4 * (y * canvas.width + x));
    })
  );
  context.putImageData(image, 0, 0);
}

/** The largest of some tables, without their sign. */
export function largest(...tables) {
  let most = 1e-9;
  for (const table of tables) if (table) for (const value of table.values) if (Math.abs(value) > most && Math.abs(value) < 1e29) most = Math.abs(value);
  return most;
}
