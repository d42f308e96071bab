// The translation word by word: what was given, what was looked at, the five likeliest pieces, what was said.
import { card, el, number, put, say, shown } from "./dom.js";
import { table } from "./data.js";
import { largest, strip } from "./strip.js";

const PACE = 1100;

export async function film(body, app) {
  const found = await app.ask("film");
  const frames = found.frames, weights = table(found.weights);
  const stages = found.stages && Object.fromEntries(["encoding", "alignment", "weighting", "context", "state"].map((name) => [name, table(found.stages[name])]));
  const stage = el("div", { class: "stage" });
  const slider = el("input", { type: "range", min: 1, max: frames.length, value: 1, "aria-label": "Step", input: () => go(Number(slider.value) - 1) });
  const play = el("button", { type: "button", click: () => (timer ? stop() : start()) }, "Play");
  const count = el("output", { class: "quiet" });
  let at = Math.min(app.frame ?? 0, frames.length - 1), timer = null;
  function go(step) {
    at = app.frame = (step + frames.length) % frames.length;
    slider.value = at + 1;
    count.textContent = `step ${at + 1} of ${frames.length}`;
    put(stage, stages ? recurrent(found, stages, at) : transformer(found, weights, at), likely(frames[at], found.vocabulary));
    say(`Step ${at + 1}: after ${shown(frames[at].given)} comes ${shown(frames[at].said)}, p = ${number(Math.exp(frames[at].log_prob), 3)}`);
  }
  function start() {
    play.textContent = "Pause";
    if (at === frames.length - 1) go(0);
    timer = setInterval(() => (stage.isConnected && at < frames.length - 1 ? go(at + 1) : stop()), PACE);
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }
  put(
    body,
    card("Decoding, one step at a time", count, el("div", { class: "row film" }, el("button", { type: "button", "aria-label": "Step back", click: () => go(at - 1) }, "‹"), play, el("button", { type: "button", "aria-label": "Step on", click: () => go(at + 1) }, "›"), slider), stage)
  );
  go(at);
}

/** Encoder, its keys and values, decoder. */
function transformer(found, weights, at) {
  const { layers, frames, source_tokens: source } = found;
  return el(
    "div", { class: "flow" },
    el(
      "div", { class: "block" }, el("h3", {}, "Encoder"), el("p", { class: "quiet" }, `${layers.encoder} layers, read once`),
      el("div", { class: "chips" }, source.map((piece, key) => chip(piece, weights ? weights.at(at, key) : 0)))
    ),
    el("div", { class: "arrow" }, el("span", {}, "K, V"), el("span", { class: "quiet" }, layers.cross > 1 ? `to all ${layers.cross} layers` : "to the decoder")),
    el(
      "div", { class: "block" }, el("h3", {}, "Decoder"), el("p", { class: "quiet" }, `${Math.max(layers.decoder, layers.cross)} layers, given so far`),
      el("div", { class: "chips" }, frames.slice(0, at + 1).map((frame, step) => el("span", { class: step === at ? "chip here" : "chip" }, shown(frame.given))))
    ),
    el("div", { class: "arrow" }, el("span", {}, "→"))
  );
}

function chip(piece, weight) {
  const node = el("span", { class: "chip seen", title: number(weight, 3) }, shown(piece));
  node.style.setProperty("--share", Math.min(1, weight).toFixed(3));
  return node;
}

/** The five stages of attention over a recurrent encoder. */
function recurrent(found, stages, at) {
  const source = found.source_tokens, { encoding, alignment, weighting, context, state } = stages;
  const after = found.stages.wiring === "after";
  const step = (number, name, told, ...content) => el("li", { class: "block" }, el("h3", {}, el("span", { class: "count" }, number), name), el("p", { class: "quiet" }, told), content);
  const bars = (from, share) => source.map((piece, key) => {
    const bar = el("span", { class: "bar" }, el("span", {}));
    bar.firstChild.style.width = `${(100 * share(from.at(at, key))).toFixed(1)}%`;
    return el("div", { class: "pieces" }, el("span", {}, shown(piece)), bar, el("span", { "data-value": from.at(at, key) }, number(from.at(at, key), 3)));
  });
  const row = alignment && alignment.row(at), low = row && Math.min(...row), high = row && Math.max(...row);
  const most = largest(encoding);
  return el(
    "ol", { class: "stages" },
    step(1, "Encoding", "a state h for each piece of the source", source.map((piece, key) => el("div", { class: "pieces" }, el("span", {}, shown(piece)), strip(encoding.row(key), most, "state")))),
    alignment && step(2, "Alignment", `e = ${found.stages.score.toLowerCase()}(${after ? "the present" : "the last"} state, h)`, state && strip(state.row(at), largest(state), "decoder state"), bars(alignment, (value) => (high > low ? (value - low) / (high - low) : 1))),
    step(3, "Weighting", "a = softmax(e), together 1", bars(weighting, (value) => value)),
    step(4, "Context", "c = Σ a h", strip(context.row(at), largest(context), "context")),
    step(5, "Decoding", "the state, c and the last piece tell the next", el("div", { class: "chips" }, el("span", { class: "chip" }, shown(found.frames[at].given)), "→", el("span", { class: "chip here" }, shown(found.frames[at].said))))
  );
}

/** The likeliest pieces. */
function likely(frame, vocabulary) {
  const chosen = frame.best.some((one) => one.id === frame.id);
  const rows = chosen ? frame.best : [...frame.best, { piece: frame.said, id: frame.id, logit: frame.logit, p: Math.exp(frame.log_prob) }];
  return el(
    "div", { class: "block likely" }, el("h3", {}, "Next piece"), el("p", { class: "quiet" }, `of ${vocabulary.toLocaleString("en")}; logit, share, number in the vocabulary`),
    el("table", { class: "best" }, el("tbody", {}, rows.map((one) => {
      const bar = el("span", { class: "bar" }, el("span", {}));
      bar.firstChild.style.width = `${(100 * one.p).toFixed(1)}%`;
      return el("tr", { class: one.id === frame.id ? "chosen" : null }, el("th", { scope: "row" }, shown(one.piece)), el("td", { "data-value": one.logit }, number(one.logit)), el("td", { class: "weight", "data-value": one.p }, number(one.p, 3), bar), el("td", { class: "quiet" }, one.id));
    })))
  );
}
