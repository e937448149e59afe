// Which parts of the past a forecast comes from, below the axis of its chart: attention of a
// Transformer, and what hiding each part does.

import { css, isDark, shade, table as colours } from "./colour.js";
import { shownNumber } from "./curves.js";
import { h, replace, svg } from "./dom.js";
import { across, PAD } from "./fan.js";
import * as scene from "./scene.js";

const ROW = 22;
const BARS = 70;
const GAP = 20;
const LABEL = 12;

export class PastMap {
  constructor() {
    this.drawing = svg("svg", { class: "chart past-map", role: "img" });
    this.said = h("p", { class: "past-said", "aria-live": "polite" });
    this.numbers = h("details", { class: "past-numbers" });
    this.element = h("div", {}, this.drawing, this.said, this.numbers);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(found, frame) {
    this.spec = { found, frame };
    this.draw();
    this.write();
  }

  /** Rectangles and texts: for the page and for files. */
  shapes(width) {
    const { found, frame } = this.spec;
    const { x } = across(frame, width);
    const left = (part) => x(found.first + part * found.size - 0.5);
    const clipped = (part) => [Math.max(PAD.left, left(part)), Math.max(PAD.left, left(part + 1))];
    const table = colours(isDark());
    const most = Math.max(1e-9, ...found.attention.flat());
    const rects = [];
    const texts = [];
    let top = LABEL + 4;
    if (found.attention.length) {
      texts.push([PAD.left, LABEL - 2, "attention to the past", "start"]);
      found.attention.forEach((row, ahead) => {
        texts.push([PAD.left - 6, top + ROW / 2 + 4, `+${ahead * found.size + 1}`, "end"]);
        row.forEach((value, part) => {
          const [from, to] = clipped(part);
          if (to > from) rects.push({ from, to, top, height: ROW - 2, fill: css(table[shade(value, most)]), kind: "past-cell", ahead, part });
        });
        top += ROW;
      });
      top += GAP;
    }
    texts.push([PAD.left, top - 6, "how far the median moves without it", "start"]);
    const tallest = Math.max(1e-12, ...found.hidden);
    texts.push([PAD.left - 6, top + 10, shownNumber(tallest), "end"]);
    found.hidden.forEach((value, part) => {
      const [from, to] = clipped(part);
      const height = (BARS * value) / tallest;
      if (to > from) rects.push({ from, to: to - 1, top: top + BARS - height, height, kind: "past-bar", part });
    });
    return { rects, texts, base: top + BARS, height: top + BARS + 4 };
  }

  title({ kind, ahead, part }) {
    const { found } = this.spec;
    const when = found.parts[part] || "before the series begins";
    if (kind === "past-bar") return `${when}: ${shownNumber(found.hidden[part])}`;
    return `from ${found.ahead[ahead]} to ${when}: ${(100 * found.attention[ahead][part]).toFixed(1)} %`;
  }

  draw() {
    const { width } = this.element.getBoundingClientRect();
    if (!this.spec || !width) return;
    const { rects, texts, base, height } = this.shapes(width);
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute("height", height);
    this.drawing.setAttribute("aria-label", `Which parts of the past the forecast comes from. ${this.sentence()}`);
    replace(
      this.drawing,
      rects.map((each) =>
        svg(
          "rect",
          {
            class: each.kind,
            ...{ x: each.from, y: each.top, width: Math.max(0.5, each.to - each.from), height: each.height },
            fill: each.fill,
            "data-part": each.part,
          },
          svg("title", {}, this.title(each)),
        ),
      ),
      svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: base, y2: base }),
      texts.map(([x, y, text, anchor]) => svg("text", { class: "tick", x, y, "text-anchor": anchor }, text)),
    );
  }

  /** The mean attention to each part; none without attention. */
  looked() {
    const { attention, parts } = this.spec.found;
    if (!attention.length) return [];
    return parts.map((_, part) => attention.reduce((sum, row) => sum + row[part], 0) / attention.length);
  }

  sentence() {
    const { found } = this.spec;
    const best = (values) => values.indexOf(Math.max(...values));
    const looked = this.looked();
    const named = (part) => {
      const when = found.parts[part];
      if (found.size === 1) return when ? `the step at ${when}` : "what is before the series";
      return when ? `the ${found.size} steps from ${when}` : `the ${found.size} steps that begin before the series`;
    };
    const looks = looked.length
      ? `It looks most at ${named(best(looked))} (${Math.round(100 * looked[best(looked)])} %). `
      : "";
    const most = best(found.hidden);
    return `${looks}Without ${named(most)}, the median moves most: ${shownNumber(found.hidden[most])} on average.`;
  }

  rows() {
    const looked = this.looked();
    return [
      ["part of the past", ...(looked.length ? ["attention"] : []), "moves without it"],
      ...this.spec.found.parts.map((name, part) => [
        name || "before the series begins",
        ...(looked.length ? [looked[part]] : []),
        this.spec.found.hidden[part],
      ]),
    ];
  }

  write() {
    replace(this.said, this.sentence());
    const [head, ...rows] = this.rows();
    const cell = (value, at) => (at && typeof value === "number" ? shownNumber(value) : value);
    replace(
      this.numbers,
      h("summary", {}, "As a table"),
      h(
        "table",
        { class: "numbers-of" },
        h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map(([name, ...rest]) => h("tr", {}, h("th", { scope: "row" }, name), rest.map((each) => h("td", {}, cell(each, 1)))))),
      ),
    );
  }

  scene(width, { muted, second }) {
    const { rects, texts, height } = this.shapes(width);
    return {
      width,
      height,
      items: [
        ...rects.map((each) => scene.rect(each.from, each.top, Math.max(0.5, each.to - each.from), each.height, each.fill ?? second)),
        ...texts.map(([x, y, text, anchor]) => scene.text(x, y, text, { fill: muted, size: 11, anchor })),
      ],
    };
  }
}
