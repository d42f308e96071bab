// Compare: two models, or two heads of one, on the same sentence, side by side.
import { card, el, list, put } from "./dom.js";
import { traces } from "./data.js";
import { matrix } from "./matrix.js";

export const title = "Compare";
export const view = "translation";

export async function render(panel, app) {
  const sides = app.sides ?? (app.sides = [{ model: app.models[0].id, what: "alignment" }, { model: app.models[1]?.id ?? app.models[0].id, what: app.models.length > 1 ? "alignment" : "first" }]);
  const drawn = await Promise.all(sides.map((side, at) => one(app, side, (change) => { Object.assign(side, change); app.set({}); }, at)));
  put(panel, el("div", { class: "pair" }, drawn));
}

async function one(app, side, change, at) {
  const found = await app.ask("translation", { model: side.model, candidate: 0 });
  const said = found.candidates[0];
  const maps = app.has("heads", side.model) ? await app.ask("heads", { model: side.model, candidate: 0 }).catch(() => null) : null;
  const heads = traces(maps).map((trace, place) => ({ trace, key: `${maps.habits[place].place}.${trace.layer}.${trace.head}`, name: `${{ encoder: "encoder", decoder: "decoder", cross: "source" }[maps.habits[place].place]}, layer ${trace.layer + 1}, head ${trace.head + 1}` }));
  if (side.what === "first") side.what = heads.find((head) => head.key.startsWith("cross"))?.key ?? "alignment";
  const chosen = heads.find((head) => head.key === side.what);
  const [alignment] = traces(said.by_words ?? said.pieces);
  const trace = chosen?.trace ?? alignment;
  return card(
    `${at ? "Right" : "Left"}`,
    [
      app.models.length > 1 && list("model", app.models.map((model) => [model.id, model.name ?? model.id]), side.model, (model) => change({ model })),
      list("drawn", [["alignment", "alignment"], ...heads.map((head) => [head.key, head.name])], chosen ? side.what : "alignment", (what) => change({ what })),
    ],
    el("p", { class: "said", dir: "auto" }, said.text),
    trace ? matrix(trace, { label: `${at ? "Right" : "Left"}: ${chosen?.name ?? "alignment"}` }).node : el("p", { class: "note" }, "This model does not look at the source.")
  );
}
