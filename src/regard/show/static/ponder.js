// How long was thought about each item: a bar as long as its steps, the darker the more of the answer is from a step.
import { el, number, say, shown, svg } from "./dom.js";
import { place, readable, within } from "./cells.js";
import { width } from "./matrix.js";

const STEP = 30, HIGH = 22, TOP = 18;

export function ponder(trace, name) {
  const { steps, asked } = trace.about, most = trace.keys.length;
  const left = Math.max(30, ...trace.queries.map((word) => width(shown(word)))) + 14;
  const across = left + most * STEP + 70, down = TOP + steps.length * HIGH + 8;
  const cursor = svg("rect", { class: "cursor", width: STEP - 2, height: HIGH - 6, visibility: "hidden" });
  const picture = svg(
    "svg",
    { class: "matrix ponder", viewBox: `0 0 ${across} ${down}`, width: across, height: down, role: "img", tabindex: 0, "aria-label": `${name}: ${trace.queries.map((word, row) => `${shown(word)} ${steps[row]}`).join(", ")}. Arrow keys read the steps.` },
    trace.keys.map((_, step) => svg("text", { class: "tiny count", x: left + (step + 0.5) * STEP, y: 9 }, String(step + 1))),
    trace.queries.map((word, row) => bar(trace, row, left, steps[row], asked.includes(row))),
    cursor
  );
  const at = (x, y) => [within(y, TOP, HIGH, steps.length), within(x, left, STEP, most)];
  readable(picture, steps.length, most, at, (row, step) => {
    const here = row !== null && step !== null;
    place(cursor, here && { x: left + step * STEP, y: TOP + row * HIGH + 3 });
    if (here) say(`${shown(trace.queries[row])}, ${counted(steps[row])}: ${number(trace.at(row, step))} of the answer from step ${step + 1}`);
  });
  return el("div", { class: "scroll" }, picture);
}

/** The steps that were taken; what is asked about in its own colour. */
function bar(trace, row, left, taken, asked) {
  const y = TOP + row * HIGH, middle = y + HIGH / 2;
  return svg("g", { class: asked ? "asked" : null },
    svg("text", { class: "row", x: left - 8, y: middle }, shown(trace.queries[row])),
    Array.from({ length: taken }, (_, step) => svg("rect", { class: "thought", x: left + step * STEP, y: y + 3, width: STEP - 2, height: HIGH - 6, rx: 2, "fill-opacity": (0.12 + 0.88 * (trace.at(row, step) ?? 0)).toFixed(3) })),
    svg("text", { class: "tiny", x: left + taken * STEP + 4, y: middle }, counted(taken)));
}

function counted(steps) {
  return `${steps} ${steps === 1 ? "step" : "steps"}`;
}
