// One query at a time, from a list.
import { el, list, number, put, say, shown } from "./dom.js";

/** What `draw(trace, query)` gives, for the query that is chosen. */
export function chosen(trace, draw, first = 0) {
  const stage = el("div", {});
  const go = (query) => { put(stage, draw(trace, Number(query))); say(brief(trace, query)); };
  put(stage, draw(trace, first));
  return el("div", {}, trace.queries.length > 1 && list("looks", trace.queries.map((word, at) => [at, shown(word)]), first, go), stage);
}

/** Where a query looks most, in words. */
export function brief(trace, query) {
  const weights = trace.keys.map((_, key) => trace.at(query, key) ?? 0);
  const most = Math.max(...weights);
  return `${shown(trace.queries[query])}: most at ${shown(trace.keys[weights.indexOf(most)])}, ${number(most)}`;
}
