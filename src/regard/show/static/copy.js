// Take it along: as text, as a drawing, as numbers.
import { el, say } from "./dom.js";

/** Buttons that copy, or where copying is not allowed save; `ways` are [label, function that gives text, file name]. */
export function copies(ways) {
  const buttons = ways.map(([label, give, name]) =>
    el("button", { type: "button", class: "small", title: `Copy as ${label}; with Shift, save ${name}`, click: (event) => (event.shiftKey ? save(give(), name) : copy(give(), label, name)) }, label)
  );
  return el("span", { class: "copies" }, el("span", { class: "quiet" }, "copy"), buttons);
}

async function copy(text, label, name) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied as ${label}.`);
  } catch {
    save(text, name);
  }
}

function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = el("a", { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
  say(`Saved as ${name}.`);
}
