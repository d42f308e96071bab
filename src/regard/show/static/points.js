// Points of a plane in the order they were pointed at, and beside them how they should be joined.
import { el, shown, svg } from "./dom.js";
import { brief } from "./choosing.js";

/** What has been joined up to a step, and what is right. */
export function planes(trace, query) {
  const { sides } = trace.about, said = sides?.said.filter(([, , step]) => step <= query);
  const ours = plane(trace, brief(trace, query), "said", said, (key) => trace.at(query, key) ?? 0);
  if (!sides) return ours;
  return el("div", { class: "planes" }, titled("pointed at", ours), titled("right", plane(trace, "What is right", "right", sides.right, () => 0)));
}

function titled(name, drawing) {
  return el("figure", {}, drawing, el("figcaption", { class: "quiet" }, name));
}

const SIZE = 260, PAD = 26;

/** Points of a plane, the larger the more weight; their names stand where the fewest lines are, away from the middle. */
function plane(trace, label, kind, sides, weight) {
  const { places } = trace.about, [xs, ys] = [0, 1].map((axis) => places.map((one) => one[axis]));
  const left = Math.min(...xs), low = Math.min(...ys), wide = Math.max(Math.max(...xs) - left, Math.max(...ys) - low) || 1;
  const scale = (value) => PAD + (value / wide) * (SIZE - 2 * PAD);
  const at = (key) => [scale(xs[key] - left), SIZE - scale(ys[key] - low)];
  const middle = [xs, ys].map((values) => values.reduce((sum, value) => sum + value, 0) / values.length);
  const away = (key) => { const [dx, dy] = [xs[key] - middle[0], ys[key] - middle[1]], far = Math.hypot(dx, dy) || 1; return [dx / far, -dy / far]; };
  return svg("svg", { class: "picture plane", width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": label },
    sides?.map(([from, to]) => arrow(at(from), at(to), kind, trace.about.arrows)),
    places.map((_, key) => {
      const [x, y] = at(key), [dx, dy] = away(key), share = weight(key);
      return svg("g", {},
        svg("circle", { class: "over", cx: x, cy: y, r: (3 + 9 * Math.sqrt(share)).toFixed(1), "fill-opacity": (0.3 + 0.65 * share).toFixed(3) }),
        svg("text", { class: "tiny", x: x + 14 * dx, y: y + 14 * dy }, shown(trace.keys[key])));
    }));
}

/** A line that stops short of both points, with a head if it has a direction. */
function arrow([x, y], [toX, toY], kind, headed) {
  const far = Math.hypot(toX - x, toY - y) || 1, [dx, dy] = [(toX - x) / far, (toY - y) / far];
  const gap = Math.min(5, far / 4), [endX, endY] = [toX - gap * dx, toY - gap * dy];
  const corner = (side) => `${(endX - 8 * dx - side * 3.5 * dy).toFixed(1)},${(endY - 8 * dy + side * 3.5 * dx).toFixed(1)}`;
  return svg("g", { class: `way ${kind}` },
    svg("line", { x1: (x + gap * dx).toFixed(1), y1: (y + gap * dy).toFixed(1), x2: endX.toFixed(1), y2: endY.toFixed(1) }),
    headed && svg("polygon", { points: `${endX.toFixed(1)},${endY.toFixed(1)} ${corner(1)} ${corner(-1)}` }));
}
