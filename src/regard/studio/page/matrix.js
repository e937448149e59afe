// A matrix of weights with its labels: cells on a canvas, everything that moves above it, so that
// pointing at a cell repaints four small elements and no picture.

import { css, ink, isDark, shade, table } from "./colour.js";
import { h, replace } from "./dom.js";
import * as scene from "./scene.js";

const LARGEST = 56;
// A long sentence is scrolled rather than made too small to read, unless it is very long.
const SMALLEST = 11;
const CROWDED = 260 * 260;
// The smallest cells that have a number in them, a gap between them, a label beside them.
const FOR_NUMBERS = 28;
const FOR_GAPS = 12;
const FOR_LABELS = 9;
const TURN = -50;

const ruler = document.createElement("canvas").getContext("2d");

function widest(labels, size) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return labels.reduce((most, label) => Math.max(most, ruler.measureText(label).width), 0);
}

/** Sizes of a matrix in a given width. Pure but for the width of letters. */
function layout({ rows, cols, rowLabels, colLabels, most = LARGEST, least }, width) {
  const narrow = width < 520;
  const font = narrow ? 11.5 : 13;
  const left = Math.min(narrow ? 104 : 180, Math.ceil(widest(rowLabels, font)) + 12);
  const slant = Math.min(150, widest(colLabels, font));
  const rise = Math.sin((-TURN * Math.PI) / 180);
  const lean = Math.cos((-TURN * Math.PI) / 180);
  const last = colLabels.length ? widest(colLabels.slice(-1), font) : 0;
  const spill = Math.max(4, Math.min(150, last) * lean - 8);
  const smallest = least ?? (rows * cols > CROWDED ? 4 : SMALLEST);
  const cell = Math.max(smallest, Math.min(most, Math.floor((width - left - spill) / Math.max(1, cols))));
  const labelled = cell >= FOR_LABELS;
  return {
    cell,
    font: Math.min(font, Math.max(8.5, cell)),
    left: labelled ? left : 8,
    top: labelled ? Math.ceil(slant * rise) + 18 : 8,
    spill: labelled ? spill : 8,
    labelled,
  };
}

export class Matrix {
  /** `point(row, col)` hears where the pointer is (-1, -1 for nowhere), `lock` where it clicked,
   * `open` where Enter was pressed or a double click made.
   */
  constructor({ label, point = () => {}, lock = () => {}, open = () => {} }) {
    this.listeners = { point, lock, open };
    this.colours = table(isDark());
    this.at = [-1, -1];
    this.locked = [-1, -1];
    // While cells are chosen {toggle(row, col), done(), cancel()} hears of clicks and keys instead.
    this.choosing = null;
    this.marked = [];
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.bands = ["row", "col", "spot", "lock"].map((name) => h("div", { class: `band ${name}` }));
    this.marks = h("div", {});
    this.rows = h("div", { class: "matrix-labels rows", "aria-hidden": "true" });
    this.cols = h("div", { class: "matrix-labels", "aria-hidden": "true" });
    this.frame = h(
      "div",
      {
        class: "matrix-frame",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "matrix",
        "aria-label": `${label}. Arrow keys move, Enter opens the numbers, Escape releases the cell.`,
        on: {
          pointermove: (event) => this.hover(event),
          // The last cell stays, so that the pointer can move to its description.
          pointerleave: () => this.locked[0] >= 0 && this.point(-1, -1),
          click: (event) => this.click(event),
          dblclick: () => this.choosing || this.listeners.open(...this.at),
          keydown: (event) => this.key(event),
        },
      },
      this.canvas,
      this.cols,
      this.bands,
      this.marks,
      this.rows,
    );
    this.element = h("div", { class: "matrix" }, this.frame);
    // The names of the rows stay in sight.
    this.element.addEventListener("scroll", () => {
      this.rows.style.transform = `translateX(${this.element.scrollLeft}px)`;
    });
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  /** spec: {rows, cols, data, rowLabels, colLabels, scales, signed, faintRows, faintCols} */
  show(spec) {
    this.spec = spec;
    this.width = 0;
    this.fit();
  }

  fit() {
    const width = this.element.clientWidth;
    if (!this.spec || !width || width === this.width) return;
    this.width = width;
    this.size = layout(this.spec, width);
    this.paint();
    this.place();
    this.mark(this.marked);
    this.point(...(this.at[0] < 0 ? this.locked : this.at), true);
  }

  colourAt(row, col) {
    const { cols, data, scales, signed } = this.spec;
    return this.colours[shade(data[row * cols + col], scales[row], signed)];
  }

  paint() {
    const { rows, cols, signed } = this.spec;
    this.colours = table(isDark(), signed);
    const { cell, left, top, spill } = this.size;
    const ratio = rows * cols > 10_000 ? 1 : Math.min(2, devicePixelRatio || 1);
    this.frame.style.width = `${left + cols * cell + spill}px`;
    this.frame.style.height = `${top + rows * cell + 2}px`;
    Object.assign(this.canvas.style, {
      left: `${left}px`,
      top: `${top}px`,
      width: `${cols * cell}px`,
      height: `${rows * cell}px`,
    });
    this.canvas.width = cols * cell * ratio;
    this.canvas.height = rows * cell * ratio;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.pixels(), 0, 0, cols * cell, rows * cell);
    if (cell >= FOR_GAPS) {
      for (let col = 1; col <= cols; col += 1) context.clearRect(col * cell - 1, 0, 1, rows * cell);
      for (let row = 1; row <= rows; row += 1) context.clearRect(0, row * cell - 1, cols * cell, 1);
    }
    if (cell >= FOR_NUMBERS) this.write(context);
  }

  /** A cell a pixel; enlarging it costs nothing, drawing thousands of squares does. */
  pixels() {
    const { rows, cols } = this.spec;
    const canvas = h("canvas", { width: Math.max(1, cols), height: Math.max(1, rows) });
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        const at = 4 * (row * cols + col);
        [image.data[at], image.data[at + 1], image.data[at + 2]] = this.colourAt(row, col);
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  write(context) {
    const { rows, cols, data } = this.spec;
    const { cell } = this.size;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `${Math.min(11.5, cell * 0.34)}px system-ui, sans-serif`;
    context.globalAlpha = 0.85;
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        context.fillStyle = ink(this.colourAt(row, col));
        context.fillText(short(data[row * cols + col]), (col + 0.5) * cell, (row + 0.5) * cell);
      }
    }
  }

  place() {
    const { rowLabels, colLabels, faintRows = NONE, faintCols = NONE } = this.spec;
    const { cell, left, top, font, labelled } = this.size;
    if (!labelled) {
      replace(this.rows);
      replace(this.cols);
      return;
    }
    const name = (faint, at) => (faint.has(at) ? "faint" : null);
    this.rows.style.width = `${left}px`;
    this.rows.style.height = `${top + this.spec.rows * cell}px`;
    replace(
      this.rows,
      rowLabels.map((label, row) =>
        h(
          "span",
          {
            class: `row-label ${name(faintRows, row) ?? ""}`,
            dir: "auto",
            style: {
              top: `${top + row * cell}px`,
              height: `${cell}px`,
              width: `${left - 8}px`,
              "line-height": `${cell - 1}px`,
              "font-size": `${font}px`,
            },
          },
          label,
        ),
      ),
    );
    replace(
      this.cols,
      colLabels.map((label, col) =>
        h(
          "span",
          {
            class: `col-label ${name(faintCols, col) ?? ""}`,
            dir: "auto",
            style: {
              left: `${left + (col + 0.5) * cell}px`,
              top: `${top - 6}px`,
              "font-size": `${font}px`,
            },
          },
          label,
        ),
      ),
    );
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / this.size.cell);
    const col = Math.floor((event.clientX - box.left) / this.size.cell);
    const { rows, cols } = this.spec;
    const inside = row >= 0 && col >= 0 && row < rows && col < cols;
    return inside ? [row, col] : [-1, -1];
  }

  hover(event) {
    if (!this.spec) return;
    const [row, col] = this.cellAt(event);
    if (row !== this.at[0] || col !== this.at[1]) this.point(row, col);
  }

  click(event) {
    const [row, col] = this.cellAt(event);
    if (this.choosing) {
      if (row >= 0) this.choosing.toggle(row, col);
      return;
    }
    const again = row === this.locked[0] && col === this.locked[1];
    this.lock(...(again ? [-1, -1] : [row, col]));
  }

  lock(row, col) {
    this.locked = [row, col];
    this.listeners.lock(row, col);
    this.point(row, col);
  }

  /** Frame these cells [[row, col]] until the next call. */
  mark(cells) {
    this.marked = cells;
    if (!this.size) return;
    const { cell, left, top } = this.size;
    replace(
      this.marks,
      cells.map(([row, col]) => {
        const frame = h("div", { class: "band mark" });
        box(frame, left + col * cell, top + row * cell, cell - 1, cell - 1);
        return frame;
      }),
    );
  }

  /** Light a row and a column; without a pointer, those that are locked. */
  point(row, col, quiet = false) {
    if (!this.spec) return;
    this.at = [row, col];
    const shown = row < 0 ? this.locked : [row, col];
    this.light(...shown);
    if (!quiet) this.listeners.point(...shown);
  }

  light(row, col) {
    const { rows, cols } = this.spec;
    const { cell, left, top } = this.size;
    const on = row >= 0 && col >= 0 && row < rows && col < cols;
    const [across, down, spot, lock] = this.bands;
    for (const band of [across, down, spot]) band.hidden = !on;
    const [lockedRow, lockedCol] = this.locked;
    lock.hidden = !(lockedRow >= 0 && lockedRow < rows && lockedCol < cols);
    box(lock, left + lockedCol * cell, top + lockedRow * cell, cell, cell);
    for (const lit of this.frame.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (!on) return;
    box(across, left, top + row * cell, cols * cell, cell);
    box(down, left + col * cell, top, cell, rows * cell);
    box(spot, left + col * cell, top + row * cell, cell, cell);
    if (this.size.labelled) {
      this.rows.children[row].classList.add("lit");
      this.cols.children[col].classList.add("lit");
    }
  }

  /** The cell that is pointed at, or else the one that is held. */
  cell() {
    return this.at[0] >= 0 ? this.at : this.locked;
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const { rows, cols } = this.spec ?? { rows: 0, cols: 0 };
    const [row, col] = this.cell();
    const actions = this.choosing ?? {
      toggle: () => this.lock(row, col),
      done: this.listeners.open,
      cancel: () => this.lock(-1, -1),
    };
    if (moves[event.key] && rows && cols) {
      const [down, right] = moves[event.key];
      const clamp = (value, most) => Math.min(most - 1, Math.max(0, value));
      if (row < 0) this.point(0, 0);
      else this.point(clamp(row + down, rows), clamp(col + right, cols));
    } else if (event.key === " " && row >= 0) actions.toggle(row, col);
    else if (event.key === "Enter" && row >= 0) actions.done(row, col);
    else if (event.key === "Escape") actions.cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The picture for export. */
  scene(inks) {
    const { rows, cols, rowLabels, colLabels } = this.spec;
    const size = layout({ ...this.spec, most: 32 }, 20_000);
    const { cell, left, top, spill, font } = size;
    const items = [];
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        const fill = css(this.colourAt(row, col));
        items.push(scene.rect(left + col * cell, top + row * cell, cell - 1, cell - 1, fill));
      }
    }
    const style = { fill: inks.ink, size: font };
    rowLabels.forEach((label, row) =>
      items.push(scene.text(left - 8, top + (row + 0.5) * cell + 4, label, { ...style, anchor: "end" })),
    );
    colLabels.forEach((label, col) =>
      items.push(scene.text(left + (col + 0.5) * cell + 2, top - 6, label, { ...style, turn: TURN })),
    );
    return { width: left + cols * cell + spill + 8, height: top + rows * cell + 8, items };
  }

  table() {
    const { rows, cols, data, rowLabels, colLabels } = this.spec;
    const line = (row) => Array.from(data.subarray(row * cols, (row + 1) * cols));
    return [["", ...colLabels], ...Array.from({ length: rows }, (_, row) => [rowLabels[row], ...line(row)])];
  }
}

const NONE = new Set();

function box(element, left, top, width, height) {
  element.style.transform = `translate(${left}px, ${top}px)`;
  element.style.width = `${width}px`;
  element.style.height = `${height}px`;
}

/** A weight in a small cell: .07, 1.0, nothing if it is close to 0. */
export function short(value) {
  const size = Math.abs(value);
  if (size < 0.005) return "";
  return size >= 0.995 ? value.toFixed(1) : value.toFixed(2).replace("0.", ".");
}
