// Small parts that every view is made of. Text only ever enters as text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element; attributes that are functions listen, `class` and data-* are as in HTML, null is left out. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** The children of a node, replaced. */
export function put(node, ...children) {
  node.replaceChildren(...children.flat(3).filter(Boolean));
  return node;
}

/** What a piece looks like on a page: its space as a dot in the middle. */
export function shown(piece) {
  return piece.replaceAll("\u2581", "·");
}

/** A number for people: a true minus, as many places as asked for. */
export function number(value, places = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value) || Math.abs(value) >= 1e29) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value) >= 1e6 ? value.toExponential(2) : value.toFixed(places);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** One choice of several, side by side. `options` are [value, label]. */
export function choice(legend, options, value, onchange) {
  const name = `c${Math.random().toString(36).slice(2)}`;
  return el(
    "fieldset", { class: "choice" },
    el("legend", { class: "quiet" }, legend),
    options.map(([key, label]) =>
      el("label", {}, el("input", { type: "radio", name, value: key, checked: key === value, change: () => onchange(key) }), el("span", {}, label))
    )
  );
}

/** One choice of many, from a list. */
export function list(label, options, value, onchange) {
  const select = el(
    "select", { change: () => onchange(select.value) },
    options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(value) }, text))
  );
  return el("label", { class: "list" }, el("span", { class: "quiet" }, label), select);
}

/** A card with a heading, and what can be done at its right. */
export function card(title, tools, ...children) {
  return el("section", { class: "card" }, el("div", { class: "head" }, el("h2", {}, title), el("div", { class: "tools" }, tools)), children);
}

/** Say something to whoever listens, and show it at the foot of the page. */
export function say(text) {
  document.getElementById("readout").textContent = text;
}

const drawn = new Map();

/** A part that is drawn again when the theme changes, as long as it is on the page. */
export function themed(node, draw) {
  draw();
  drawn.set(node, draw);
  return node;
}

/** Forget parts that are no longer on the page. */
export function sweep() {
  for (const node of drawn.keys()) if (!node.isConnected) drawn.delete(node);
}

document.addEventListener("theme", () => {
  sweep();
  for (const draw of drawn.values()) draw();
});

/** The red, green and blue of a custom property such as --blue. */
export function colour(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** A colour between two. */
export function between(from, to, share) {
  return from.map((value, at) => Math.round(value + (to[at] - value) * share));
}
