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
// The labels of columns lean; between narrow columns only upright ones do not overlap.
const TURN = -50;
const UPRIGHT = -90;
const FOR_LEANING = 18;
// Cells are enlarged up to this, and only where there are so many that they are smaller than that.
const ENLARGED = 40;
const FOR_ZOOM = 20;
// More pixels than this are not drawn: a pixel a cell is enlarged by the browser.
const MOST_PIXELS = 12e6;
// Of a picture to save, without its labels.
const SAVED = { cell: 32, side: 1400 };
// How much is left of the colour of a cell that a filter dims.
const DIM = 0.16;

const ruler = document.createElement("canvas").getContext("2d");

function widest(labels, size) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return labels.reduce((most, label) => Math.max(most, ruler.measureText(label).width), 0);
}

/** Sizes of a matrix in a given width. Pure but for the width of letters. */
function layout({ rows, cols, rowLabels, colLabels, most = LARGEST, least }, width, zoom = 1) {
  const narrow = width < 520;
  const usual = narrow ? 11.5 : 13;
  const left = Math.min(narrow ? 104 : 180, Math.ceil(widest(rowLabels, usual)) + 12);
  const smallest = least ?? (rows * cols > CROWDED ? 4 : SMALLEST);
  const slant = Math.min(150, widest(colLabels, usual));
  const last = Math.min(150, colLabels.length ? widest(colLabels.slice(-1), usual) : 0);
  const across = (spill) => Math.floor((width - left - spill) / Math.max(1, cols));
  const fitting = (spill) => Math.max(smallest, Math.min(most, across(spill)));
  const cosine = Math.cos((-TURN * Math.PI) / 180);
  let spill = Math.max(4, last * cosine - 8);
  const fitted = fitting(spill);
  const cell = Math.round(Math.max(fitted, Math.min(ENLARGED, fitted * zoom)));
  const turn = cell < FOR_LEANING ? UPRIGHT : TURN;
  if (turn === UPRIGHT) spill = 8;
  const labelled = cell >= FOR_LABELS;
  const rise = Math.sin((-turn * Math.PI) / 180);
  return {
    cell,
    fitted,
    turn,
    font: Math.min(usual, Math.max(8.5, cell - 1)),
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
    this.zoom = 1;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.bands = ["row", "col", "spot", "lock"].map((name) => h("div", { class: `band ${name}` }));
    this.marks = h("div", {});
    this.rows = h("div", { class: "matrix-labels rows", "aria-hidden": "true" });
    this.cols = h("div", { class: "matrix-labels cols", "aria-hidden": "true" });
    this.frame = h(
      "div",
      {
        class: "matrix-frame",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "matrix",
        "aria-label": `${label}. Arrow keys move, Enter opens the numbers, Escape releases the cell; + and − enlarge.`,
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
    this.scroller = h("div", { class: "matrix" }, this.frame);
    this.zoomBar = h(
      "div",
      { class: "matrix-zoom", role: "group", "aria-label": "Size of the cells", hidden: true },
      h("button", { type: "button", "aria-label": "Smaller cells", on: { click: () => this.enlarge(0.5) } }, "−"),
      h("button", { type: "button", "aria-label": "Larger cells", on: { click: () => this.enlarge(2) } }, "+"),
    );
    this.element = h("div", { class: "matrix-with-zoom" }, this.zoomBar, this.scroller);
    // The names of the rows and columns stay in sight.
    this.scroller.addEventListener("scroll", () => {
      this.rows.style.transform = `translateX(${this.scroller.scrollLeft}px)`;
      this.cols.style.transform = `translateY(${this.scroller.scrollTop}px)`;
    });
    new ResizeObserver(() => this.fit()).observe(this.scroller);
  }

  /** spec: {rows, cols, data, rowLabels, colLabels, scales, signed}, and where they are known: dim
   * (1 for each cell that a filter dims), masked(row, col), and the sets faintRows, faintCols (marks of
   * start and end), unseenRows, unseenCols (words that training never saw).
   */
  show(spec) {
    // A cell of other rows or columns would be another cell.
    if (this.spec && !sameLabels(this.spec, spec)) [this.at, this.zoom] = [[-1, -1], 1];
    this.spec = spec;
    this.width = 0;
    this.fit();
  }

  /** Nothing to show. */
  clear() {
    this.spec = null;
    [this.at, this.locked, this.marked] = [[-1, -1], [-1, -1], []];
    for (const part of [this.rows, this.cols, this.marks]) replace(part);
    for (const band of this.bands) band.hidden = true;
    this.canvas.width = 0;
    this.zoomBar.hidden = true;
    this.frame.style.height = "0";
  }

  /** Larger or smaller cells; what is in the middle stays there. */
  enlarge(by) {
    if (!this.spec) return;
    const { cell, left, top } = this.size;
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroller;
    const middle = [(scrollLeft + clientWidth / 2 - left) / cell, (scrollTop + clientHeight / 2 - top) / cell];
    const [col, row] = this.cell()[0] < 0 ? middle : [this.cell()[1] + 0.5, this.cell()[0] + 0.5];
    this.zoom = Math.max(1, Math.min(ENLARGED / this.size.fitted, this.zoom * by));
    this.width = 0;
    this.fit();
    this.scroller.scrollLeft = this.size.left + col * this.size.cell - this.scroller.clientWidth / 2;
    this.scroller.scrollTop = this.size.top + row * this.size.cell - this.scroller.clientHeight / 2;
  }

  fit() {
    const width = this.scroller.clientWidth;
    if (!this.spec || !width || width === this.width) return;
    this.width = width;
    this.size = layout(this.spec, width, this.zoom);
    this.zoomBar.hidden = this.size.fitted >= FOR_ZOOM;
    this.scroller.classList.toggle("zoomed", this.size.cell > this.size.fitted);
    this.paint();
    this.place();
    this.mark(this.marked);
    this.point(...(this.at[0] < 0 ? this.locked : this.at), true);
  }

  colourAt(row, col) {
    const { cols, data, scales, signed } = this.spec;
    return this.colours[shade(data[row * cols + col], scales[row], signed)];
  }

  isMasked(row, col) {
    return this.spec.masked?.(row, col) ?? false;
  }

  isDim(row, col) {
    return this.spec.dim?.[row * this.spec.cols + col] === 1;
  }

  paint() {
    const { rows, cols, signed } = this.spec;
    this.colours = table(isDark(), signed);
    const { cell, left, top, spill } = this.size;
    const wide = rows * cols > 10_000 ? 1 : Math.min(2, devicePixelRatio || 1);
    // Very large: the browser enlarges a pixel a cell, and what is behind it shows where there is a mask.
    const few = rows * cols * cell * cell * wide * wide > MOST_PIXELS;
    const ratio = few ? 1 / cell : wide;
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
    this.canvas.classList.toggle("hatched", few);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.pixels(), 0, 0, cols * cell, rows * cell);
    if (few) return;
    this.hatch(context);
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
        image.data[at + 3] = this.isMasked(row, col) ? 0 : this.isDim(row, col) ? 255 * DIM : 255;
      }
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  /** Lines across the cells that a mask forbids: nothing is there, which is not the same as 0. */
  hatch(context) {
    const { rows, cols, masked } = this.spec;
    if (!masked) return;
    const { cell } = this.size;
    const side = 6;
    const tile = h("canvas", { width: side, height: side });
    const drawing = tile.getContext("2d");
    drawing.strokeStyle = getComputedStyle(this.frame).getPropertyValue("--hatch");
    drawing.beginPath();
    for (const from of [-side, 0, side]) {
      drawing.moveTo(from - 1, side + 1);
      drawing.lineTo(from + side + 1, -1);
    }
    drawing.stroke();
    context.fillStyle = context.createPattern(tile, "repeat");
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        if (masked(row, col)) context.fillRect(col * cell, row * cell, cell, cell);
      }
    }
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
        if (this.isMasked(row, col) || this.isDim(row, col)) continue;
        context.fillStyle = ink(this.colourAt(row, col));
        context.fillText(short(data[row * cols + col]), (col + 0.5) * cell, (row + 0.5) * cell);
      }
    }
  }

  place() {
    const { rowLabels, colLabels, faintRows, faintCols, unseenRows, unseenCols } = this.spec;
    const { cell, left, top, font, labelled, turn } = this.size;
    if (!labelled) {
      replace(this.rows);
      replace(this.cols);
      return;
    }
    const marks = (faint = NONE, unseen = NONE) => (at) => ({
      faint: faint.has(at) && "faint",
      unseen: unseen.has(at) && "unseen",
    });
    const label = (side, marked, style) => (text, at) => {
      const { faint, unseen } = marked(at);
      const properties = {
        class: [`${side}-label`, faint, unseen].filter(Boolean).join(" "),
        dir: "auto",
        title: unseen && `“${text}” was never seen in training`,
        style: { "font-size": `${font}px`, ...style(at) },
      };
      return h("span", properties, text);
    };
    Object.assign(this.rows.style, { width: `${left}px`, height: `${top + this.spec.rows * cell}px` });
    Object.assign(this.cols.style, { width: this.frame.style.width, height: `${top - 4}px` });
    replace(
      this.rows,
      rowLabels.map(
        label("row", marks(faintRows, unseenRows), (row) => ({
          top: `${top + row * cell}px`,
          height: `${cell}px`,
          width: `${left - 8}px`,
          "line-height": `${cell - 1}px`,
        })),
      ),
    );
    // Upright, a label stands beside its anchor, so that it is moved to its column's middle.
    const aside = turn === UPRIGHT ? 0.6 * font : 0;
    replace(
      this.cols,
      colLabels.map(
        label("col", marks(faintCols, unseenCols), (col) => ({
          left: `${left + (col + 0.5) * cell + aside}px`,
          top: `${top - 6}px`,
          transform: `rotate(${turn}deg)`,
        })),
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
      this.reveal(...this.at);
    } else if (event.key === " " && row >= 0) actions.toggle(row, col);
    else if (event.key === "Enter" && row >= 0) actions.done(row, col);
    else if (event.key === "Escape") actions.cancel();
    else if (event.key === "+" && !this.zoomBar.hidden) this.enlarge(2);
    else if (event.key === "-" && !this.zoomBar.hidden) this.enlarge(0.5);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Scroll until a cell is in sight. */
  reveal(row, col) {
    const { cell, left, top } = this.size;
    const into = (name, from, to, before, size) => {
      if (from < this.scroller[name] + before) this.scroller[name] = from - before;
      else if (to > this.scroller[name] + size) this.scroller[name] = to - size;
    };
    into("scrollLeft", left + col * cell, left + (col + 1) * cell, left, this.scroller.clientWidth);
    into("scrollTop", top + row * cell, top + (row + 1) * cell, top, this.scroller.clientHeight);
  }

  /** The picture for export. */
  scene(inks) {
    const { rows, cols, data, rowLabels, colLabels } = this.spec;
    const most = Math.max(2, Math.min(SAVED.cell, Math.floor(SAVED.side / Math.max(rows, cols))));
    const size = layout({ ...this.spec, most, least: Math.min(most, this.spec.least ?? most) }, 20_000);
    const { cell, left, top, spill, font, turn, labelled } = size;
    const items = [];
    const gap = cell >= FOR_LABELS ? 1 : 0;
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        const [x, y] = [left + col * cell, top + row * cell];
        if (this.isMasked(row, col)) {
          items.push(scene.line([[x, y + cell - gap], [x + cell - gap, y]], inks.line));
          continue;
        }
        const colour = this.isDim(row, col) ? faded(this.colourAt(row, col), this.colours[0]) : this.colourAt(row, col);
        items.push(scene.rect(x, y, cell - gap, cell - gap, css(colour)));
        if (cell < FOR_NUMBERS || this.isDim(row, col)) continue;
        const style = { fill: ink(colour), size: 10.5, anchor: "middle" };
        const number = short(data[row * cols + col]);
        if (number) items.push(scene.text(x + cell / 2, y + cell / 2 + 3.5, number, style));
      }
    }
    const style = { fill: inks.ink, size: font };
    if (labelled) {
      rowLabels.forEach((label, row) =>
        items.push(scene.text(left - 8, top + (row + 0.5) * cell + 4, label, { ...style, anchor: "end" })),
      );
      colLabels.forEach((label, col) => {
        const x = left + (col + 0.5) * cell + (turn === UPRIGHT ? font / 3 : 2);
        items.push(scene.text(x, top - 6, label, { ...style, turn }));
      });
    }
    return { width: left + cols * cell + spill + 8, height: top + rows * cell + 8, items };
  }

  table() {
    const { rows, cols, data, rowLabels, colLabels } = this.spec;
    const line = (row) => Array.from(data.subarray(row * cols, (row + 1) * cols));
    return [["", ...colLabels], ...Array.from({ length: rows }, (_, row) => [rowLabels[row], ...line(row)])];
  }
}

const NONE = new Set();

/** A colour of which little is left on this ground. */
function faded(colour, ground) {
  return colour.map((part, at) => Math.round(DIM * part + (1 - DIM) * ground[at]));
}

function sameLabels(one, other) {
  const text = ({ rowLabels, colLabels }) => JSON.stringify([rowLabels, colLabels]);
  return text(one) === text(other);
}

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
