// Drawings that are read cell by cell, with a pointer or with the arrow keys.

/** `at(x, y)` tells row and column of a place in the drawing, null where it has none; `move(row, column)` hears them. */
export function readable(picture, rows, columns, at, move) {
  let here = [0, 0];
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect(), zoom = picture.viewBox.baseVal.width / box.width;
    move(...at((event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom));
  });
  picture.addEventListener("pointerleave", () => move(null, null));
  picture.addEventListener("focus", () => move(...here));
  picture.addEventListener("blur", () => move(null, null));
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step || !rows || !columns) return;
    event.preventDefault();
    here = [(here[0] + step[0] + rows) % rows, (here[1] + step[1] + columns) % columns];
    move(...here);
  });
}

/** The row or column that a place lies in, null beside them. */
export function within(place, from, size, count) {
  const at = Math.floor((place - from) / size);
  return at >= 0 && at < count ? at : null;
}

/** A part of a drawing moved to a box, or hidden. */
export function place(node, box) {
  node.setAttribute("visibility", box ? "visible" : "hidden");
  for (const [name, value] of Object.entries(box || {})) node.setAttribute(name, value);
}
