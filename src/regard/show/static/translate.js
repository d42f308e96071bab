// Translate: both sides, lit by each other; the alternatives; the matrix of who looked at what.
import { card, choice, el, number, put, say, shown } from "./dom.js";
import { traces } from "./data.js";
import { copies } from "./copy.js";
import { drawing, matrix } from "./matrix.js";
import { share, word } from "./words.js";

export const title = "Translate";
export const view = "translation";

export async function render(panel, app) {
  const found = await app.ask("translation");
  if (!found.candidates[0].words.length && !found.source_words.length)
    return put(panel, el("p", { class: "note" }, "Type something above; the translation appears as you pause."));
  const chosen = Math.min(app.candidate, found.candidates.length - 1);
  const said = found.candidates[chosen];
  const inWords = app.unit === "words" && said.by_words;
  const [trace] = traces(inWords ? said.by_words : said.pieces);
  const sides = { source: [], target: [] };
  const drawn = trace && matrix(trace, { label: "Alignment, source across, target down", onpoint: (row, column) => light(row, column, "matrix") });

  function light(row, column, from) {
    const row_ = from === "source" ? null : row, column_ = from === "target" ? null : column;
    sides.target.forEach((node, at) => shade(node, at === row_, column_ === null ? 0 : trace?.at(at, column_), best(column_, "column") === at));
    sides.source.forEach((node, at) => shade(node, at === column_, row_ === null ? 0 : trace?.at(row_, at), best(row_, "row") === at));
    if (from !== "matrix") drawn?.point(row, column);
    if (from === "target" && row !== null) tell(row, best(row, "row"));
    if (from === "source" && column !== null) tell(best(column, "column"), column);
  }
  /** The strongest link of a row or a column, if there is one. */
  function best(at, along) {
    if (at === null || !trace) return -1;
    const weights = along === "row" ? trace.keys.map((_, key) => trace.at(at, key) ?? 0) : trace.queries.map((_, query) => trace.at(query, at) ?? 0);
    const most = Math.max(...weights);
    return most > 0 ? weights.indexOf(most) : -1;
  }
  function tell(row, column) {
    if (row >= 0 && column >= 0) say(`${shown(trace.queries[row])} ← ${shown(trace.keys[column])}: ${number(trace.at(row, column), 3)}`);
  }
  const source = words(inWords ? found.source : found.source_tokens, "source", sides, light);
  const target = words(inWords ? said.segments : said.tokens, "target", sides, light);
  if (app.scores) confide(sides.target, said, inWords);
  const names = app.languages();
  put(
    panel,
    el(
      "div", { class: "pair" },
      card(names[0], [], el("p", { class: "said", dir: "auto", lang: app.model().source ?? null, id: "source" }, source)),
      card(names[1], copies([["text", () => said.text, "translation.txt"]]), el("p", { class: "said", dir: "auto", lang: app.model().target ?? null, id: "target" }, target), facts(said, found))
    ),
    el("div", { class: found.candidates.length > 1 ? "columns wide" : null }, card(
      "Who looked at what",
      [
        said.by_words && choice("Units", [["words", "words"], ["pieces", "pieces"]], inWords ? "words" : "pieces", (unit) => app.set({ unit })),
        choice("Scores", [["no", "plain"], ["yes", "how sure"]], app.scores ? "yes" : "no", (value) => app.set({ scores: value === "yes" })),
        trace && copies([["SVG", () => drawing(trace), "alignment.svg"], ["JSON", () => JSON.stringify(plain(found, said, trace), null, 1), "alignment.json"]]),
      ],
      drawn ? drawn.node : el("p", { class: "note" }, "This model does not look at the source: it has to remember it."),
      drawn && el("p", { class: "quiet" }, `Source across, translation down${mean(found)}. Point at a word, or use the arrow keys in the matrix.`)
    ), found.candidates.length > 1 && alternatives(found, chosen, app))
  );
}

/** Which looks the matrix is made of, where there are several. */
function mean(found) {
  if (found.looks.every((count) => count === 1)) return "";
  const heads = found.heads ? `heads ${found.heads.map((head) => head + 1).join(", ")}` : "all heads";
  return `; the mean of ${heads} of layer ${found.layer + 1}`;
}

/** A side as words that can be pointed at; what stands between them stays as it is. */
function words(parts, side, sides, light) {
  const segments = parts.map((part, at) => (Array.isArray(part) ? part : [shown(part), at]));
  return segments.map(([text, at]) => {
    if (at < 0) return text;
    const [row, column] = side === "target" ? [at, null] : [null, at];
    const node = word(text, at, sides[side], (on) => (on ? light(row, column, side) : light(null, null, side)));
    return [node, Array.isArray(parts[0]) ? null : " "];
  });
}

function shade(node, here, weight, strongest) {
  node.classList.toggle("here", here);
  node.classList.toggle("lit", strongest);
  share(node, weight);
}

/** A line under each word: the surer the model, the fainter. */
function confide(nodes, said, inWords) {
  const sure = new Map();
  said.scores.forEach((score, at) => {
    const key = inWords ? said.word_of[at] : at;
    if (key >= 0) sure.set(key, (sure.get(key) ?? 0) + score);
  });
  nodes.forEach((node, at) => {
    if (!sure.has(at)) return;
    const p = Math.exp(sure.get(at));
    node.classList.add("sure");
    node.style.setProperty("--doubt", (1 - p).toFixed(3));
    node.title = `p = ${number(p, 3)}`;
  });
}

function facts(said, found) {
  const parts = [];
  if (said.score !== null) parts.push(`mean log p of a piece ${number(said.score, 3)}`);
  if (!said.complete) parts.push("cut at the limit of length");
  if (found.parts > 1) parts.push(`translated in ${found.parts} parts`);
  return el("p", { class: "facts quiet" }, parts.join(" · "), said.suspect.map((why) => el("span", { class: "warn" }, why)));
}

function alternatives(found, chosen, app) {
  return card(
    "Alternatives", el("span", { class: "quiet" }, `beam ${found.beam}`),
    el(
      "ol", { class: "alternatives" },
      found.candidates.map((one, at) =>
        el("li", {}, el("button", { type: "button", "aria-pressed": String(at === chosen), click: () => app.set({ candidate: at }) }, el("span", { dir: "auto" }, one.text), el("span", { class: "quiet" }, number(one.score, 3))))
      )
    )
  );
}

function plain(found, said, trace) {
  return {
    source: found.source.map(([text]) => text).join(""), text: said.text, score: said.score, alignment: said.alignment,
    queries: trace.queries, keys: trace.keys, weights: trace.queries.map((_, row) => trace.keys.map((_, column) => trace.at(row, column))),
  };
}
