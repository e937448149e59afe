// A sheet of numbers as a picture: a row for each token, a column for each number or token. The
// number under the pointer is read out; a click asks where it comes from.

import { css, ink, isDark, shade, table } from "./colour.js";
import { h } from "./dom.js";
import { digits } from "./strips.js";

const HIGHEST = 300;
const FOR_NUMBERS = 40;
const FOR_LABELS = 9;
const WIDEST = 64;
const FOR_NAMES = 26;

/** Widths and heights of the cells in a given width. */
function layout(rows, cols, square, width) {
  const wide = Math.max(1, Math.min(WIDEST, width / cols));
  const most = square ? Math.min(34, wide) : 22;
  const high = Math.max(2, Math.min(most, HIGHEST / rows));
  return { wide: square ? wide : Math.max(1, width / cols), high };
}

export class Sheet {
  /** spec: {label, rows, cols, data, rowLabels, colLabels, most, signed}; `open(row, col)` hears of
   * clicks, `chosen` is the row of the visitor.
   */
  constructor({ spec, chosen, open }) {
    this.spec = spec;
    this.chosen = chosen;
    this.open = open;
    this.at = [-1, -1];
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.spot = h("div", { class: "sheet-spot", hidden: true });
    this.here = h("div", { class: "sheet-here", "aria-hidden": "true" });
    this.labels = h("div", { class: "sheet-labels", "aria-hidden": "true" });
    this.readout = h("p", { class: "sheet-readout muted small", "aria-live": "polite" });
    this.frame = h(
      "div",
      {
        class: "sheet-frame",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "matrix",
        "aria-label": `${spec.label}, ${spec.rows} × ${spec.cols}. Arrow keys move, Enter shows where a number comes from.`,
        on: {
          pointermove: (event) => this.hover(event),
          click: (event) => {
            this.hover(event);
            if (this.at[0] >= 0) this.open(...this.at);
          },
          keydown: (event) => this.key(event),
        },
      },
      this.canvas,
      this.here,
      this.spot,
    );
    this.tops = h("div", { class: "sheet-tops", "aria-hidden": "true" });
    this.element = h(
      "div",
      { class: "sheet" },
      h("div", { class: "sheet-body" }, this.labels, h("div", { class: "sheet-right" }, this.tops, this.frame)),
      this.readout,
    );
    new ResizeObserver(() => this.fit()).observe(this.frame);
  }

  fit() {
    const width = this.frame.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const { rows, cols } = this.spec;
    this.size = layout(rows, cols, this.spec.colLabels.length > 0, width);
    this.paint();
    this.place();
    this.read(this.at[0] < 0 ? [this.chosen, 0] : this.at, this.at[0] < 0);
  }

  paint() {
    const { rows, cols, data, most, signed } = this.spec;
    const { wide, high } = this.size;
    const scale = Math.min(2, devicePixelRatio || 1);
    const [width, height] = [wide * cols, high * rows];
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    const colours = table(isDark(), signed);
    const gap = wide > 12 && high > 8 ? 1 : 0;
    const numbers = wide >= FOR_NUMBERS && high >= 14;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let row = 0; row < rows; row += 1) {
      for (let col = 0; col < cols; col += 1) {
        const value = data[row * cols + col];
        const gone = value === -Infinity;
        const colour = colours[gone ? 127 : shade(value, most, signed)];
        context.fillStyle = gone ? "transparent" : css(colour);
        // Neighbours share an edge: without the extra half pixel there would be seams.
        const [w, t] = [wide - gap + (gap ? 0 : 0.5), high - gap + (gap ? 0 : 0.5)];
        if (!gone) context.fillRect(col * wide, row * high, w, t);
        if (!numbers) continue;
        context.fillStyle = gone ? getComputedStyle(this.frame).color : ink(colour);
        context.fillText(gone ? "−∞" : short(value), (col + 0.5) * wide, (row + 0.5) * high);
      }
    }
  }

  place() {
    const { rows, rowLabels } = this.spec;
    const { high } = this.size;
    this.labels.replaceChildren();
    if (rowLabels.length && high >= FOR_LABELS) {
      for (let row = 0; row < rows; row += 1) {
        const style = { height: `${high}px`, "line-height": `${high}px` };
        this.labels.append(
          h("div", { class: row === this.chosen ? "chosen" : "", dir: "auto", style }, rowLabels[row] ?? ""),
        );
      }
    }
    const { colLabels, cols } = this.spec;
    const room = colLabels.length && this.size.wide >= FOR_NAMES;
    this.tops.replaceChildren();
    if (room) {
      for (let col = 0; col < cols; col += 1) {
        const style = { width: `${this.size.wide}px` };
        this.tops.append(h("div", { style, dir: "auto", title: colLabels[col] }, colLabels[col]));
      }
    }
    this.labels.style.paddingTop = room ? "18px" : "0";
    Object.assign(this.here.style, {
      top: `${this.chosen * high}px`,
      height: `${high}px`,
      width: this.canvas.style.width,
    });
    this.here.hidden = this.chosen < 0 || rows < 2;
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect();
    const col = Math.floor((event.clientX - box.left) / this.size.wide);
    const row = Math.floor((event.clientY - box.top) / this.size.high);
    const inside = row >= 0 && col >= 0 && row < this.spec.rows && col < this.spec.cols;
    if (inside && (row !== this.at[0] || col !== this.at[1])) this.read([row, col]);
  }

  /** Say what is in a cell, and put the frame around it. */
  read([row, col], quiet = false) {
    const { cols, data, rowLabels, colLabels } = this.spec;
    if (!this.size || row < 0 || row >= this.spec.rows) return;
    if (!quiet) this.at = [row, col];
    const value = data[row * cols + col];
    const from = rowLabels[row] ?? `row ${row + 1}`;
    const to = colLabels[col] ?? `d${col + 1}`;
    this.readout.textContent = quiet
      ? "Point at a number to read it; click to see where it comes from."
      : `${from} · ${to} = ${digits(value)}`;
    this.spot.hidden = quiet;
    if (quiet) return;
    const { wide, high } = this.size;
    Object.assign(this.spot.style, {
      transform: `translate(${col * wide}px, ${row * high}px)`,
      width: `${Math.max(3, wide)}px`,
      height: `${Math.max(3, high)}px`,
    });
  }

  key(event) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const start = this.at[0] < 0 ? [Math.max(0, this.chosen), 0] : this.at;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.read(start);
      this.open(...start);
    } else if (moves[event.key]) {
      event.preventDefault();
      const clamp = (value, most) => Math.min(most - 1, Math.max(0, value));
      const [down, right] = moves[event.key];
      const to = this.at[0] < 0 ? start : [start[0] + down, start[1] + right];
      this.read([clamp(to[0], this.spec.rows), clamp(to[1], this.spec.cols)]);
    }
  }
}

function short(value) {
  const size = Math.abs(value);
  const text = size >= 100 ? size.toFixed(0) : size >= 10 ? size.toFixed(1) : size.toFixed(2);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}
