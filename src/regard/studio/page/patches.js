// An image cut into patches: a map over it, patches to hide, and keys to move between them.

import { h, replace } from "./dom.js";
import { canvasOf, colourOf, largest } from "./pixels.js";

export class PatchImage {
  /** `toggle(at)` hears which patch is to be hidden or shown, `clear()` that all are to be shown,
   * `explain(at)` which one is pointed at (-1 for none), and `move(at)` which one has the focus.
   */
  constructor({ toggle, clear, explain, move = () => {} }) {
    this.listeners = { toggle, clear, explain, move };
    this.focus = 0;
    this.at = -1;
    this.grid = [0, 0];
    this.pixels = "";
    this.pale = false;
    this.base = h("canvas", { "aria-hidden": "true" });
    this.buttons = [];
    this.over = h("div", {
      class: "patch-grid",
      role: "group",
      "aria-label": "Patches: arrow keys move, Space hides or shows",
      on: { keydown: (event) => this.key(event), pointerleave: () => this.point(-1) },
    });
    this.element = h("div", { class: "patches" }, this.base, this.over);
  }

  /** The image {pixels, size, channels, label}, its grid [rows, columns], the patches that are
   * hidden, and a map: its numbers, and how they are coloured, up to `most`. Without a map the
   * image is shown as it is.
   */
  show({ image, grid, hidden, values = null, tints = values, most = largest(tints) }) {
    if (image.pixels !== this.pixels || Boolean(values) !== this.pale) {
      [this.pixels, this.pale] = [image.pixels, Boolean(values)];
      const base = canvasOf(image.pixels, image, this.pale);
      base.setAttribute("role", "img");
      base.removeAttribute("aria-hidden");
      this.base.replaceWith(base);
      this.base = base;
    }
    this.base.setAttribute("aria-label", image.label || "The image as the model sees it");
    if (String(grid) !== String(this.grid)) this.build(grid);
    this.buttons.forEach((button, at) => {
      const [row, col] = this.placeOf(at);
      const off = hidden.includes(at);
      const value = values?.length ? values[row][col] : null;
      button.className = `patch ${off ? "hidden-patch" : ""}`;
      button.tabIndex = at === this.focus ? 0 : -1;
      button.setAttribute("aria-pressed", String(off));
      button.setAttribute("aria-label", `Patch in row ${row + 1}, column ${col + 1}${off ? ", hidden" : ""}`);
      if (value === null) delete button.dataset.value;
      else button.dataset.value = value;
      button.style.background = value === null || off ? "" : colourOf(tints[row][col], most);
    });
    this.listeners.explain(this.at);
  }

  build(grid) {
    this.grid = grid;
    const [rows, columns] = grid;
    this.focus = Math.min(this.focus, rows * columns - 1);
    this.over.style.setProperty("--down", rows);
    this.over.style.setProperty("--across", columns);
    this.buttons = Array.from({ length: rows * columns }, (_, at) =>
      h("button", {
        type: "button",
        on: {
          click: () => {
            this.focus = at;
            this.listeners.toggle(at);
          },
          pointerenter: () => this.point(at),
          focus: () => {
            this.focus = at;
            this.point(at);
          },
          blur: () => this.point(-1),
        },
      }),
    );
    replace(this.over, this.buttons);
  }

  placeOf(at) {
    return [Math.floor(at / this.grid[1]), at % this.grid[1]];
  }

  point(at) {
    this.at = at;
    this.listeners.explain(at);
  }

  key(event) {
    const [rows, columns] = this.grid;
    const [row, col] = this.placeOf(this.focus);
    const steps = {
      ArrowLeft: [row, col - 1],
      ArrowRight: [row, col + 1],
      ArrowUp: [row - 1, col],
      ArrowDown: [row + 1, col],
      Home: [row, 0],
      End: [row, columns - 1],
    };
    if (event.key === "Escape") this.listeners.clear();
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [toRow, toCol] = steps[event.key];
    if (toRow < 0 || toCol < 0 || toRow >= rows || toCol >= columns) return;
    this.buttons[this.focus].tabIndex = -1;
    this.focus = toRow * columns + toCol;
    this.buttons[this.focus].tabIndex = 0;
    this.buttons[this.focus].focus();
    this.listeners.move(this.focus);
  }
}

/** A list of hidden patches with one of them changed. */
export function toggled(hidden, at) {
  return hidden.includes(at) ? hidden.filter((each) => each !== at) : [...hidden, at].sort((a, b) => a - b);
}

/** “Row 2, column 3” of a patch. */
export function placeName(at, [, columns]) {
  return `Row ${Math.floor(at / columns) + 1}, column ${(at % columns) + 1}`;
}

/** A number with its sign, such as −3.1 points. */
export function signed(value, digits) {
  const size = Math.abs(value).toFixed(digits);
  if (Number(size) === 0) return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

/** A change as a coloured number. */
export function change(value, digits = 1) {
  const shown = signed(value, digits);
  const way = { "+": "up", "−": "down" }[shown[0]] ?? "";
  return h("span", { class: `points ${way}` }, shown);
}
