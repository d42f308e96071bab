// A text told again: words of its own and copied ones, and where in the text each of them looked.
import { el, number, say, shown } from "./dom.js";
import { matrix } from "./matrix.js";
import { share, word } from "./words.js";

export function prose(trace) {
  const { p_gen: own, right } = trace.about;
  const read = [], said = [], drawn = matrix(trace, { label: "Said down, read across" });
  trace.keys.forEach((text, key) => word(shown(text), key, read, (on) => asked(on ? key : null)));
  trace.queries.forEach((text, at) => {
    const node = word(shown(text), at, said, (on) => light(on ? at : null));
    node.style.setProperty("--own", own[at].toFixed(3));
  });

  /** Who looked at a word of the text. */
  function asked(key) {
    said.forEach((node, at) => share(node, key === null ? 0 : trace.at(at, key)));
    drawn.point(null, key);
    if (key !== null) say(`${shown(trace.keys[key])}: looked at ${number(covered(trace, key))} times`);
  }

  /** The text shaded by what one word looked at; by what all of them did, where none is chosen. */
  function light(chosen) {
    read.forEach((node, key) => share(node, chosen === null ? covered(trace, key) : trace.at(chosen, key)));
    said.forEach((node, at) => node.classList.toggle("here", at === chosen));
    drawn.point(chosen, null);
    if (chosen !== null) say(`${shown(trace.queries[chosen])}: ${number(own[chosen])} its own, ${number(1 - own[chosen])} copied; looked most at ${shown(trace.keys[furthest(trace, chosen)])}`);
  }
  light(null);
  return el("div", { class: "prose stack" },
    part("Said", el("p", { class: "said own", dir: "auto" }, spaced(said))),
    right.map((text) => part("As it should be", el("p", { class: "said", dir: "auto" }, text))),
    part("Read", el("p", { class: "read", dir: "auto" }, spaced(read))),
    el("details", {}, el("summary", {}, "Word by word"), drawn.node));
}

function part(name, text) {
  return el("div", {}, el("h3", {}, name), text);
}

function spaced(nodes) {
  return nodes.map((node) => [node, " "]);
}

/** All that a word of the text was looked at. */
function covered(trace, key) {
  return trace.queries.reduce((sum, _, query) => sum + (trace.at(query, key) ?? 0), 0);
}

function furthest(trace, query) {
  const weights = trace.keys.map((_, key) => trace.at(query, key) ?? 0);
  return weights.indexOf(Math.max(...weights));
}
