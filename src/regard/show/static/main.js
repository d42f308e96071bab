// The page: one text, one model, several views of what happens between them.
import { el, list, put, say, sweep } from "./dom.js";
import { open } from "./data.js";
import * as translate from "./translate.js";
import * as heads from "./heads.js";
import * as steps from "./steps.js";
import * as compare from "./compare.js";
import * as beam from "./beam.js";
import * as looks from "./looks.js";

const PAUSE = 350;  // milliseconds without a key before a text is translated
const VIEWS = { translate, heads, steps, compare, beam, looks };
const THEMES = ["auto", "light", "dark"];

start().catch((error) => put(document.getElementById("panel"), el("p", { class: "note warn" }, `${error.message}`)));

async function start() {
  theme(stored("regard-theme") ?? "auto");
  const source = await open();
  const app = state(source);
  document.title = source.title ? `${source.title} · regard` : "regard";
  controls(app, source);
  asking(app, source);
  app.draw();
}

function stored(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, value);
    return localStorage.getItem(key);
  } catch {
    return null;  // a page from a file may have no storage
  }
}

/** All that is chosen, and `set` to change some of it. */
function state(source) {
  let turn = 0, stopper = null, answers = new Map();
  const app = {
    models: source.models, live: source.live, text: source.text ?? "", id: source.models[0]?.id, candidate: 0, unit: "words", scores: false,
    tab: source.first ?? "translate", look: { place: "cross", layer: 0, head: 0 }, form: "matrix", way: source.way ?? "look",
    model: () => source.models.find((one) => one.id === app.id) ?? {},
    languages: () => [name(app.model().source) ?? "Source", name(app.model().target) ?? "Translation"],
    has: (view, model = app.id) => source.has(model, view),
    saved: () => source.choices(app.id),
    set(change) {
      if ("text" in change || "id" in change) Object.assign(app, { candidate: 0, query: 0, frame: 0 });
      if ("text" in change) answers = new Map();
      Object.assign(app, change);
      app.draw();
    },
    ask(view, request = {}) {
      const body = { model: app.id, text: app.text, ...(app.candidate && view !== "translation" ? { candidate: app.candidate } : {}), ...request };
      if (!body.candidate) delete body.candidate;
      const key = `${view} ${JSON.stringify(body)}`;
      if (!answers.has(key)) {
        const asked = source.ask(view, body, stopper?.signal);
        asked.catch(() => answers.delete(key));
        answers.set(key, asked);
      }
      return answers.get(key);
    },
    async draw() {
      const mine = ++turn;
      say("");
      stopper?.abort();
      stopper = new AbortController();
      tabs(app);
      const panel = document.getElementById("panel");
      const fresh = el("div", { class: "stack" });
      panel.setAttribute("aria-busy", "true");
      panel.setAttribute("aria-labelledby", `tab-${app.tab}`);
      const held = document.activeElement?.closest("#panel") ? path(document.activeElement) : null;
      try {
        if (app.live && !app.text.trim()) put(fresh, el("p", { class: "note" }, "Type something above; the translation appears as you pause."));
        else await VIEWS[app.tab].render(fresh, app);
      } catch (error) {
        if (error.name === "AbortError") return;
        put(fresh, error.status === 401 || error.status === 403 ? keyed(app, error) : el("p", { class: "note warn", role: "alert" }, error.message));
      }
      if (mine !== turn) return;
      put(panel, fresh);
      sweep();
      panel.removeAttribute("aria-busy");
      if (held) held(panel)?.focus({ preventScroll: true });
    },
  };
  return app;
}

/** Where a node is among those that can be focused, so that it can be found again after drawing. */
function path(node) {
  const all = (root) => [...root.querySelectorAll("button, input, select, [tabindex]")];
  const at = all(document.getElementById("panel")).indexOf(node);
  return (panel) => all(panel)[at];
}

function name(code) {
  if (!code) return null;
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

function controls(app, source) {
  const button = el("button", { type: "button", class: "small", id: "theme" }, "");
  const told = () => (button.textContent = { auto: "◐ auto", light: "○ light", dark: "● dark" }[document.documentElement.dataset.theme ?? "auto"]);
  button.setAttribute("aria-label", "Theme: automatic, light or dark");
  button.addEventListener("click", () => {
    theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % 3]);
    told();
  });
  told();
  put(
    document.getElementById("controls"),
    source.models.length > 1 && list("model", source.models.map((one) => [one.id, one.name ?? one.id]), app.id, (id) => app.set({ id })),
    source.models.length === 1 && el("span", { class: "quiet" }, source.models[0].name ?? source.models[0].id),
    button
  );
}

function theme(value) {
  const root = document.documentElement;
  if (value === "auto") delete root.dataset.theme;
  else root.dataset.theme = value;
  stored("regard-theme", value);
  document.dispatchEvent(new Event("theme"));
}
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));

/** Where one types, or what a saved page is about. */
function asking(app, source) {
  const place = document.getElementById("ask");
  if (!source.live) {
    put(place, source.title && el("p", { class: "title", dir: "auto" }, source.title), source.note && el("p", { class: "about" }, source.note));
    return;
  }
  let timer = null;
  const box = el("textarea", { id: "text", rows: 2, dir: "auto", maxlength: 5000, placeholder: "Type or paste a sentence …", spellcheck: "false", "aria-label": "Text to translate" });
  const go = () => {
    clearTimeout(timer);
    if (box.value !== app.text) app.set({ text: box.value });
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(go, PAUSE);
    box.style.height = "auto";
    box.style.height = `${Math.min(260, box.scrollHeight + 2)}px`;
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      go();
    }
  });
  put(place, box);
  box.focus();
}

/** A key to be typed, where the server wants one. */
function keyed(app, error) {
  const field = el("input", { type: "password", autocomplete: "off", "aria-label": "API key" });
  return el("form", { class: "note", submit: (event) => { event.preventDefault(); sessionStorage.setItem("regard-key", field.value); app.set({}); } }, el("p", {}, error.message), field, el("button", { type: "submit" }, "Use this key"));
}

function tabs(app) {
  const several = app.models.length > 1 || app.has("heads");
  const there = Object.entries(VIEWS).filter(([key, one]) => (key === "looks" ? !app.live && app.has("looks") : key === "steps" ? app.has("steps") || app.has("film") : app.has(one.view) && (key !== "compare" || several)));
  if (!there.some(([key]) => key === app.tab)) app.tab = there[0]?.[0] ?? "translate";
  const place = document.getElementById("tabs");
  place.hidden = there.length < 2;
  const about = document.querySelector(".title");
  if (about) about.hidden = app.tab === "translate" && about.textContent === app.text;  // it stands there already
  const held = place.contains(document.activeElement);
  put(place, there.map(([key, one]) => el("button", { type: "button", role: "tab", id: `tab-${key}`, "aria-selected": String(key === app.tab), "aria-controls": "panel", tabindex: key === app.tab ? 0 : -1, click: () => app.set({ tab: key }), keydown: (event) => turn(event, app, there, key) }, one.title)));
  if (held) document.getElementById(`tab-${app.tab}`)?.focus();
}

function turn(event, app, there, key) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const at = there.findIndex(([other]) => other === key);
  app.set({ tab: there[(at + step + there.length) % there.length][0] });
  say(there[(at + step + there.length) % there.length][1].title);
}
