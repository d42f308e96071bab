// Who looks at whom as lines: the wider, the more. One word at a time, or all.
import { el, number, say, shown, svg } from "./dom.js";
import { width } from "./matrix.js";

const STEP = 24, GAP = 130, LEAST = 0.02;

/** Queries at the left, keys at the right. */
export function lines(trace, { label = "Looks" } = {}) {
  const left = Math.max(40, ...trace.queries.map((word) => width(shown(word)))) + 12;
  const right = Math.max(40, ...trace.keys.map((word) => width(shown(word)))) + 12;
  const down = Math.max(trace.queries.length, trace.keys.length) * STEP + 8;
  const y = (row) => 4 + (row + 0.5) * STEP;
  const paths = [];
  trace.queries.forEach((_, row) =>
    trace.keys.forEach((_, column) => {
      const weight = trace.at(row, column);
      if (weight === null || weight < LEAST) return;
      const x = left + 6, end = left + GAP - 6, bend = GAP / 2.4;
      const d = `M${x} ${y(row)}C${x + bend} ${y(row)} ${end - bend} ${y(column)} ${end} ${y(column)}`;
      paths.push([row, column, svg("path", { d, class: "look", "stroke-width": (0.5 + 7 * weight).toFixed(2), "stroke-opacity": Math.min(0.9, 0.12 + 0.8 * weight).toFixed(3) })]);
    })
  );
  const texts = { rows: [], columns: [] };
  let held = null;
  function choose(side, at) {
    for (const [row, column, path] of paths) {
      const off = side === "rows" ? row !== at : side === "columns" ? column !== at : false;
      path.classList.toggle("off", off);
    }
    for (const [name, other] of [["rows", "columns"], ["columns", "rows"]])
      texts[name].forEach((text, place) => {
        const weight = side === other ? (name === "rows" ? trace.at(place, at) : trace.at(at, place)) : null;
        text.classList.toggle("lit", side === name && place === at);
        text.classList.toggle("off", side !== null && !(side === name && place === at) && !(weight > 0.1));
      });
    if (side) say(told(trace, side, at));
  }
  const word = (side, x, anchor) => (text, at) => {
    const node = svg("text", { x, y: y(at), class: "word", "text-anchor": anchor, tabindex: 0, role: "button", "aria-pressed": "false" }, shown(text));
    node.addEventListener("pointerenter", () => held === null && choose(side, at));
    node.addEventListener("pointerleave", () => held === null && choose(null, 0));
    node.addEventListener("focus", () => choose(side, at));
    node.addEventListener("blur", () => held === null && choose(null, 0));
    const hold = () => {
      held = held === `${side}${at}` ? null : `${side}${at}`;
      [...texts.rows, ...texts.columns].forEach((other) => other.setAttribute("aria-pressed", String(other === node && held !== null)));
      choose(held === null ? null : side, at);
    };
    node.addEventListener("click", hold);
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      hold();
    });
    texts[side].push(node);
    return node;
  };
  const across = left + GAP + right;
  const picture = svg(
    "svg", { class: "lines", viewBox: `0 0 ${across} ${down}`, width: across, height: down, role: "group", "aria-label": `${label} as lines` },
    paths.map(([, , path]) => path),
    trace.queries.map(word("rows", left, "end")),
    trace.keys.map(word("columns", left + GAP, "start"))
  );
  return { node: el("div", { class: "scroll" }, picture), choose };
}

function told(trace, side, at) {
  const [words, weights] = side === "rows" ? [trace.keys, trace.keys.map((_, key) => trace.at(at, key) ?? 0)] : [trace.queries, trace.queries.map((_, query) => trace.at(query, at) ?? 0)];
  const best = weights.map((weight, place) => [weight, place]).sort((one, other) => other[0] - one[0]).slice(0, 4).filter(([weight]) => weight > 0.005);
  const name = shown(side === "rows" ? trace.queries[at] : trace.keys[at]);
  return `${name} ${side === "rows" ? "looks at" : "is looked at by"} ${best.map(([weight, place]) => `${shown(words[place])} ${number(weight)}`).join(", ") || "nothing"}`;
}
