// A tape over time: where a head stood at each step, what went by above it, and what the tape holds at the end.
import { el, number, say, shown, svg } from "./dom.js";
import { place, readable, within } from "./cells.js";

const LEFT = 34, GAP = 22, BIT = 7, HELD = 7;

export function tape(trace, name) {
  const { above, beside, signs } = trace.about;
  const steps = trace.queries.length, places = trace.keys.length;
  const wide = Math.max(7, Math.min(20, 560 / steps)), high = signs ? 18 : Math.max(4, Math.min(16, 420 / places));
  const top = GAP + (above ? above.rows.length * BIT + GAP : 0), side = LEFT + steps * wide + GAP;
  const across = side + (beside ? beside.rows[0].length * HELD : 0) + 6, down = top + places * high + GAP;
  const cursor = svg("rect", { class: "cursor", width: wide, height: high, visibility: "hidden" });
  const picture = svg(
    "svg",
    { class: "matrix tape", viewBox: `0 0 ${across} ${down}`, width: across, height: down, role: "img", tabindex: 0, "aria-label": `${name}: ${steps} steps across, ${places} places down. Arrow keys read the cells.` },
    above && rows(above, LEFT, GAP, wide, BIT),
    svg("rect", { class: "frame", x: LEFT, y: top, width: steps * wide, height: places * high }),
    stood(trace, LEFT, top, wide, high),
    signs?.map((moment, step) => moment.map((sign, at) => sign && svg("text", { class: trace.at(step, at) > 0.5 ? "sign under" : "sign", x: LEFT + (step + 0.5) * wide, y: top + (at + 0.5) * high }, shown(sign)))),
    beside && rows(beside, side, top, HELD, high),
    svg("text", { class: "tiny", x: LEFT, y: down - 8 }, "step 1"),
    svg("text", { class: "tiny", x: LEFT + steps * wide, y: down - 8, "text-anchor": "end" }, `${steps}`),
    svg("text", { class: "tiny", x: LEFT - 6, y: top + high / 2, "text-anchor": "end" }, "1"),
    svg("text", { class: "tiny", x: LEFT - 6, y: top + (places - 0.5) * high, "text-anchor": "end" }, `${places}`),
    cursor
  );
  const at = (x, y) => [within(y, top, high, places), within(x, LEFT, wide, steps)];
  readable(picture, places, steps, at, (key, step) => {
    const here = key !== null && step !== null;
    place(cursor, here && { x: LEFT + step * wide, y: top + key * high });
    if (here) say(`step ${shown(trace.queries[step])}, place ${shown(trace.keys[key])}${signs?.[step][key] ? ` (${shown(signs[step][key])})` : ""}: ${number(trace.at(step, key), 3)}`);
  });
  return el("div", { class: "scroll" }, picture);
}

/** Where the head was at each step: the more of it, the darker. */
function stood(trace, left, top, wide, high) {
  return trace.queries.map((_, step) => trace.keys.map((_, key) => {
    const weight = trace.at(step, key) ?? 0;
    return weight > 0.01 && svg("rect", { class: "weight", x: left + step * wide, y: top + key * high, width: wide - 0.5, height: high - 0.5, "fill-opacity": weight.toFixed(3) });
  }));
}

/** A table of numbers under its name: ink above zero, orange below. */
function rows(table, left, top, wide, high) {
  const most = Math.max(1e-9, ...table.rows.flat().map(Math.abs));
  const cells = table.rows.map((row, y) => row.map((value, x) => Math.abs(value) > most / 100 &&
    svg("rect", { class: value > 0 ? "bit" : "bit low", x: left + x * wide, y: top + y * high, width: wide - 0.5, height: high - 0.5, "fill-opacity": (Math.abs(value) / most).toFixed(3) })));
  return [svg("text", { class: "tiny", x: left, y: top - 8 }, table.name), svg("rect", { class: "frame", x: left, y: top, width: table.rows[0].length * wide, height: table.rows.length * high }), cells];
}
