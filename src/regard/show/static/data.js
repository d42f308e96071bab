// Where answers come from: the page itself, if it was saved with them; else the server that it came from.

/** Models, and `ask(view, request)`; `live` where any text can be asked about. */
export async function open() {
  const inside = document.getElementById("regard-data");
  return inside ? saved(JSON.parse(inside.textContent)) : await served();
}

function saved(data) {
  return {
    live: false,
    title: data.title,
    note: data.note,
    text: data.text,
    models: data.models,
    first: data.first,
    way: data.way,
    has: (model, view) => Boolean(data.views[model]?.[view]),
    choices: (model) => Object.keys(data.views[model]?.steps ?? {}),
    async ask(view, request) {
      const found = data.views[request.model]?.[view];
      if (view === "steps") {
        const one = found?.[`${request.place}.${request.layer}.${request.head}`];
        if (!one) throw new Error("The numbers of this head are not in this page; regard serve shows all.");
        return one;
      }
      if (!found) throw new Error("This is not in this page; regard serve shows all.");
      if ((request.candidate || request.part) && view !== "translation")
        throw new Error("This page looks into the first translation only; regard serve shows all.");
      return found;
    },
  };
}

async function served() {
  const answer = await fetched("v1/models");
  const models = Array.isArray(answer) ? answer : answer.models ?? answer.data ?? [];
  return {
    live: true,
    title: null,
    text: "",
    models,
    has: () => true,
    choices: () => null,
    ask: (view, request, signal) => fetched(`v1/views/${view}`, request, signal),
  };
}

async function fetched(path, body, signal) {
  const headers = { Accept: "application/json" };
  const key = sessionStorage.getItem("regard-key");
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  if (answer.ok) return answer.json();
  const told = await answer.json().catch(() => ({}));
  const error = new Error(typeof told.error === "string" ? told.error : typeof told.detail === "string" ? told.detail : `The server answered ${answer.status}.`);
  error.status = answer.status;
  throw error;
}

/** Traces with their labels and a way to read them: `at(row, column)` is a weight, null where nothing may be seen. */
export function traces(packed) {
  return packed ? packed.traces.map((one) => trace(one, packed.labels)) : [];
}

function trace(one, labels) {
  const bytes = Uint8Array.from(atob(one.weights), (letter) => letter.charCodeAt(0));
  const queries = labels[one.queries], keys = labels[one.keys];
  const at = (row, column) => {
    const byte = bytes[row * keys.length + column];
    return byte === 255 ? null : (byte * one.scale) / 254;
  };
  return { ...one, queries, keys, at };
}

/** A table of numbers: `at(row, column)`, and a row as a list. */
export function table(packed) {
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed.f32), (letter) => letter.charCodeAt(0));
  const values = new Float32Array(bytes.buffer);
  const [rows, columns] = packed.shape;
  return {
    rows, columns, values,
    at: (row, column) => values[row * columns + column],
    row: (row) => Array.from(values.subarray(row * columns, (row + 1) * columns)),
  };
}
