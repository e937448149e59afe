// Choosing a series among thousands, and where its past ends over all of it.

import * as api from "./api.js";
import { button, h, replace, svg } from "./dom.js";

const PAUSE_MS = 150;
const HEIGHT = 46;

/** A field that searches names as someone types. */
export class SeriesSearch {
  /** `choose(number)` hears which series is wanted; `model()` is {run, step}. */
  constructor({ choose, model, fail }) {
    Object.assign(this, { choose, model, fail });
    this.options = h("datalist", { id: "series-names" });
    this.box = h("input", {
      type: "text",
      list: "series-names",
      "aria-label": "Series",
      autocomplete: "off",
      placeholder: "Search for a series …",
      on: {
        focus: () => this.box.select(),
        input: () => this.typed(),
        change: () => this.take(),
        keydown: (event) => {
          if (event.key === "Enter") this.take();
          if (event.key === "Escape") this.restore();
        },
      },
    });
    this.note = h("span", { class: "muted small", role: "status" });
    this.element = h(
      "div",
      { class: "series-search" },
      h("label", { class: "field" }, h("span", {}, "Series"), this.box),
      this.options,
      button("←", () => this.turn(-1), { "aria-label": "Previous series", title: "Previous series" }),
      button("→", () => this.turn(1), { "aria-label": "Next series", title: "Next series" }),
      this.note,
    );
  }

  show(number, name, count) {
    Object.assign(this, { number, name, count });
    if (document.activeElement !== this.box || !this.dirty) this.restore();
  }

  restore() {
    this.dirty = false;
    this.box.value = this.name ?? "";
    replace(this.note, this.count > 1 && `${(this.number + 1).toLocaleString("en")} of ${this.count.toLocaleString("en")}`);
  }

  turn(by) {
    if (this.count) this.choose((this.number + by + this.count) % this.count);
  }

  typed() {
    this.dirty = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), PAUSE_MS);
  }

  async search() {
    const text = this.box.value;
    try {
      const found = await api.ask("series_names", { ...this.model(), text: text.slice(0, 200) });
      this.found = { text, ...found };
      if (text !== this.box.value) return;
      replace(this.options, found.names.map(([, name]) => h("option", { value: name })));
      const many = `${found.matches.toLocaleString("en")} of ${found.count.toLocaleString("en")} match`;
      replace(this.note, found.matches ? many : "No series has this in its name.");
    } catch (error) {
      this.fail(error.message);
    }
  }

  /** The series of this name, or else the first that was found. */
  async take() {
    if (!this.dirty) return;
    clearTimeout(this.timer);
    const text = this.box.value;
    if (this.found?.text !== text) await this.search();
    const names = this.found?.names ?? [];
    const exact = names.find(([, name]) => name === text) ?? names[0];
    if (!exact || !this.dirty) return;
    this.dirty = false;
    if (exact[0] === this.number) this.restore();
    else this.choose(exact[0]);
  }
}

/** The whole series from far away, with the end of its past as a slider. */
export class Overview {
  constructor({ move }) {
    this.drawing = svg("svg", { class: "chart overview", height: HEIGHT, "aria-hidden": "true" });
    this.range = h("input", {
      type: "range",
      step: 1,
      "aria-label": "End of the past, over the whole series",
      on: { input: () => move(Number(this.range.value)) },
    });
    this.element = h("div", { class: "overview-box" }, this.drawing, this.range);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** spec: {overview, frame, end, time} */
  show(spec) {
    this.spec = spec;
    const [least, most] = spec.overview.ends;
    Object.assign(this.range, { min: least, max: most });
    if (Number(this.range.value) !== spec.end) this.range.value = String(spec.end);
    this.range.setAttribute("aria-valuetext", spec.time);
    this.draw();
  }

  draw() {
    const { width } = this.element.getBoundingClientRect();
    if (!this.spec || !width) return;
    const { overview, frame, end } = this.spec;
    const last = Math.max(overview.length, frame.last);
    const x = (step) => (width * step) / last;
    const values = overview.points.map(([, value]) => value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const y = (value) => HEIGHT - 3 - ((HEIGHT - 6) * (value - low)) / (high - low || 1);
    const path = overview.points.map(([step, value], at) => `${at ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`);
    this.drawing.setAttribute("width", width);
    replace(
      this.drawing,
      overview.began !== null &&
        svg("rect", { class: "learned", x: 0, y: 0, width: x(overview.began), height: HEIGHT }),
      svg("rect", { class: "framed", x: x(frame.first), y: 0, width: x(frame.last) - x(frame.first), height: HEIGHT }),
      svg("path", { class: "curve past", d: path.join("") }),
      svg("line", { class: "end-line", x1: x(end), x2: x(end), y1: 0, y2: HEIGHT }),
    );
  }
}
