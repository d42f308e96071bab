// Words that can be pointed at, one after the other.
import { el } from "./dom.js";

/** A word that tells where one is: `light(true)` as one comes, `light(false)` as one leaves; arrow keys roam `all`. */
export function word(text, at, all, light) {
  const node = el("span", { class: "w", tabindex: all.length ? -1 : 0, "data-at": at }, text);
  for (const come of ["pointerenter", "focus"]) node.addEventListener(come, () => light(true));
  for (const leave of ["pointerleave", "blur"]) node.addEventListener(leave, () => light(false));
  node.addEventListener("keydown", (event) => roam(event, all, all.indexOf(node)));
  all.push(node);
  return node;
}

function roam(event, all, at) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = all[(at + step + all.length) % all.length];
  all.forEach((one) => one.setAttribute("tabindex", one === next ? 0 : -1));
  next.focus();
}

/** How strongly a word is shaded, from 0 to 1. */
export function share(node, weight) {
  node.style.setProperty("--share", weight ? Math.min(1, weight).toFixed(3) : "0");
}
