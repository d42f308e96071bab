// Beam: the search as a tree. Best at the top of each step; what was pruned, or led nowhere, is grey.
import { card, choice, el, list, number, put, say, shown, svg } from "./dom.js";
import { width } from "./matrix.js";

export const title = "Beam";
export const view = "beam";

const ROW = 30, GAP = 34;

export async function render(panel, app) {
  const found = await app.ask("beam", app.live && app.beam ? { beam: app.beam } : {});
  const nodes = found.nodes.map((node, at) => ({ ...node, at }));
  nodes.forEach((node) => (node.rank = found.nodes[node.at].rank ?? null));
  const told = el("p", { class: "said quiet-said" });
  put(
    panel,
    card(
      "The search as a tree",
      [
        app.live && list("beam", [1, 2, 3, 4, 5, 6, 8, 10].map((size) => [size, size]), found.beam, (size) => app.set({ beam: Number(size) })),
        choice("Pruned", [["yes", "all"], ["no", "kept only"]], app.pruned === false ? "no" : "yes", (value) => app.set({ pruned: value === "yes" })),
      ],
      el("p", { class: "quiet" }, `Beam ${found.beam}, ${found.steps} steps. Each column is a step, the best at the top; numbers are sums of log p. Bold is the translation, grey was pruned or led nowhere.`),
      tree(nodes, app.pruned !== false, told), told
    )
  );
}

function tree(all, withPruned, told) {
  const ways = new Map();  // node → the best rank among those that end below it
  for (const node of all) {
    if (node.rank === null) continue;
    for (let at = node.at; at >= 0; at = all[at].parent) ways.set(at, Math.min(ways.get(at) ?? Infinity, node.rank));
  }
  const nodes = all.filter((node) => withPruned || node.state !== "pruned");
  const steps = Math.max(0, ...nodes.map((node) => node.step));
  const columns = Array.from({ length: steps + 1 }, () => []);
  nodes.forEach((node) => columns[node.step].push(node));
  let x = 8;
  const root = { x, wide: 30, y: ROW };
  x += root.wide + GAP;
  columns.forEach((column) => {
    if (!column.length) return;
    const wide = Math.max(...column.map((node) => width(shown(node.piece)))) + 18;
    const order = (node) => (node.state === "pruned" ? 1 : 0);
    column.sort((one, other) => order(one) - order(other) || other.log_prob - one.log_prob);
    column.forEach((node, row) => Object.assign(node, { x, wide, y: ROW * (row + 0.5) + ROW / 2 }));
    x += wide + GAP;
  });
  const parent = (node) => (node.parent < 0 ? root : all[node.parent]);
  const kind = (node) => (ways.get(node.at) === 0 ? "best" : ways.has(node.at) ? "other" : "lost");
  const links = nodes.map((node) => {
    const from = parent(node), bend = GAP * 0.6, start = from.x + from.wide;
    return svg("path", { class: `link ${kind(node)}`, d: `M${start} ${from.y}C${start + bend} ${from.y} ${node.x - bend} ${node.y} ${node.x} ${node.y}` });
  });
  const high = ROW * (Math.max(...columns.map((column) => column.length), 1) + 1);
  const words = (node) => {
    const found = [];
    for (let at = node.at; at >= 0; at = all[at].parent) found.unshift(all[at].piece);
    return found.join("").replaceAll("\u2581", " ").trim();
  };
  const boxes = nodes.map((node) => {
    const tell = () => {
      told.textContent = `${words(node)}   ${number(node.log_prob, 3)}${node.score === undefined ? "" : `, score ${number(node.score, 3)}`}`;
      say(`${words(node)}: ${number(node.log_prob, 3)}, ${node.state}`);
    };
    const box = svg("g", { class: `node ${kind(node)} ${node.state}`, tabindex: kind(node) === "lost" ? -1 : 0, role: "img", "aria-label": `Step ${node.step}: ${shown(node.piece)}, ${number(node.log_prob)}, ${node.state}` }, svg("rect", { x: node.x, y: node.y - 12, width: node.wide, height: 24, rx: 6 }), svg("text", { x: node.x + node.wide / 2, y: node.y }, shown(node.piece)), svg("text", { class: "score", x: node.x + node.wide + 3, y: node.y - 8 }, number(node.log_prob, 1)), node.rank === null ? null : svg("text", { class: "rank", x: node.x + node.wide + 4, y: node.y + 4 }, `#${node.rank + 1}`));
    box.addEventListener("pointerenter", tell);
    box.addEventListener("focus", tell);
    return box;
  });
  const picture = svg("svg", { class: "tree", width: x + 30, height: high, viewBox: `0 0 ${x + 30} ${high}`, role: "group", "aria-label": "The search as a tree" }, links, svg("g", { class: "node root" }, svg("rect", { x: root.x, y: root.y - 12, width: root.wide, height: 24, rx: 6 }), svg("text", { x: root.x + root.wide / 2, y: root.y }, "‹s›")), boxes);
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The tree, to be scrolled" }, picture);
}
