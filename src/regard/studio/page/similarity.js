// A table of texts and images: a cell says how well the two fit.

import { css, ink, isDark, shade, table as colours } from "./colour.js";
import { h, replace } from "./dom.js";
import { fixed, percent } from "./pieces.js";
import { canvasOf } from "./pixels.js";

export const WAYS = [
  ["similarity", "similarity", "The cosine of the two vectors, from -1 to 1"],
  ["of texts", "text for an image", "The probability of each text, if one of them is right for the image: columns sum to 100 %"],
  ["of images", "image for a text", "The probability of each image, if one of them is right for the text: rows sum to 100 %"],
];

export class SimilarityTable {
  /** `choose(text, image)` hears which cell is clicked, `drop(image)` which image is to go. */
  constructor({ choose, drop }) {
    this.listeners = { choose, drop };
    this.focus = [0, 0];
    this.element = h("div", { class: "similarity-box" });
  }

  /** Images and texts, numbers [images][texts], one of WAYS, and the cell [text, image] that is
   * chosen.
   */
  show({ images, texts, numbers, way, chosen }) {
    const inside = this.element.contains(document.activeElement) && document.activeElement.dataset.cell;
    const all = numbers.flat();
    const [low, high] = way === "similarity" ? [Math.min(...all), Math.max(...all)] : [0, 1];
    this.focus = [Math.min(this.focus[0], texts.length - 1), Math.min(this.focus[1], images.length - 1)];
    if (chosen[0] >= 0) this.focus = chosen;
    const cell = (text, image) => {
      const value = numbers[image][text];
      const colour = colours(isDark())[shade(value - low, high - low || 1)];
      const best = value === Math.max(...(way === "of images" ? numbers.map((row) => row[text]) : numbers[image]));
      const shown = way === "similarity" ? fixed(value, 2) : percent(Math.log(Math.max(value, 1e-9)));
      const isChosen = text === chosen[0] && image === chosen[1];
      return h(
        "td",
        {},
        h(
          "button",
          {
            type: "button",
            class: `fit ${best ? "best" : ""}`,
            "data-cell": `${text},${image}`,
            "data-value": value,
            tabindex: text === this.focus[0] && image === this.focus[1] ? "0" : "-1",
            "aria-pressed": String(isChosen),
            "aria-label": `“${texts[text]}” and image ${image + 1}: ${shown}${best ? ", the best" : ""}`,
            style: { background: css(colour), color: ink(colour) },
            on: {
              click: () => this.listeners.choose(text, image),
              keydown: (event) => this.key(event, text, image),
            },
          },
          shown,
        ),
      );
    };
    replace(
      this.element,
      h(
        "table",
        { class: "similarity" },
        h("thead", {}, h("tr", {}, h("td", {}), images.map((each, at) => this.heading(each, at)))),
        h(
          "tbody",
          {},
          texts.map((each, text) =>
            h("tr", {}, h("th", { scope: "row", dir: "auto" }, each), images.map((_, image) => cell(text, image))),
          ),
        ),
      ),
    );
    this.size = [texts.length, images.length];
    if (inside) this.element.querySelector(`[data-cell="${this.focus}"]`)?.focus();
  }

  heading(image, at) {
    return h(
      "th",
      { scope: "col" },
      canvasOf(image.pixels, image),
      h(
        "button",
        {
          type: "button",
          class: "quiet drop",
          "aria-label": `Take image ${at + 1} away`,
          title: image.title ?? image.name,
          on: { click: () => this.listeners.drop(at) },
        },
        "×",
      ),
    );
  }

  key(event, text, image) {
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!moves[event.key]) return;
    event.preventDefault();
    const to = [text + moves[event.key][0], image + moves[event.key][1]];
    if (to.some((each, side) => each < 0 || each >= this.size[side])) return;
    this.element.querySelector(`[data-cell="${text},${image}"]`).tabIndex = -1;
    this.focus = to;
    const next = this.element.querySelector(`[data-cell="${to}"]`);
    next.tabIndex = 0;
    next.focus();
  }
}
