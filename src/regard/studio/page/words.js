// The words of a text, each with a small map over an image: hover or focus shows one, a click keeps
// it.

import { h, replace } from "./dom.js";
import { moved } from "./frame.js";
import { mapOver, pictureScene } from "./pixels.js";
import { text } from "./scene.js";

// Of the small pictures in a file, in pixels of the image and on paper.
const SAVED = 32;
const SIDE = 128;

export class WordRow {
  /** `preview(word)` hears which word is pointed at (null for none), `hold(word)` which is clicked. */
  constructor({ label, preview, hold }) {
    this.listeners = { preview, hold };
    this.items = [];
    this.element = h("ol", { class: "words", "aria-label": label, on: { pointerleave: () => preview(null) } });
  }

  /** items: {word, text, map, most, share, note, class}: `word` is its number, `map` may be null, `share`
   * from 0 to 1 is a bar, `note` stands below. The colours of a map go up to its `most`.
   */
  show(items, image, held) {
    const inside = this.element.contains(document.activeElement) ? document.activeElement.dataset.word : null;
    this.items = items;
    replace(this.element, items.map((item, at) => h("li", {}, this.button(item, at, image, held))));
    if (inside !== null) this.element.querySelector(`[data-word="${inside}"]`)?.focus();
  }

  button(item, at, image, held) {
    const isHeld = item.word === held;
    const first = this.items.some((each) => each.word === held) ? isHeld : at === 0;
    return h(
      "button",
      {
        type: "button",
        class: `token word ${item.class ?? ""}`,
        "data-word": item.word,
        "aria-pressed": String(isHeld),
        tabindex: first ? "0" : "-1",
        title: item.title,
        on: {
          click: () => this.listeners.hold(item.word),
          pointerenter: () => this.listeners.preview(item.word),
          focus: () => this.listeners.preview(item.word),
          blur: () => this.listeners.preview(null),
          keydown: (event) => this.key(event, at),
        },
      },
      item.map?.length ? mapOver(image, item.map, item.most) : h("span", { class: "no-map" }),
      h("span", { class: "piece", dir: "auto" }, item.text),
      item.share !== undefined && h("span", { class: "bar" }, h("span", { style: { width: `${100 * item.share}%` } })),
      h("span", { class: "share" }, item.note),
    );
  }

  key(event, at) {
    const last = this.items.length - 1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const buttons = this.element.querySelectorAll("button");
    if (to < 0 || to > last) return;
    buttons[at].tabIndex = -1;
    buttons[to].tabIndex = 0;
    buttons[to].focus();
  }
}

/** The image and the maps of all words in a row, as a picture to save. */
export function wordsScene(image, items, inks) {
  const known = items.filter((each) => each.map?.length);
  const pictures = [
    { title: "", scene: pictureScene(image.pixels, image, null, inks, 1, SAVED) },
    ...known.map((each) => ({
      title: `${each.text} ${each.note}`,
      scene: pictureScene(image.pixels, image, each.map, inks, each.most, SAVED),
    })),
  ];
  const scale = SIDE / 384;
  const drawn = pictures.flatMap(({ title, scene }, at) => [
    text(at * (SIDE + 10) + 2, 14, title, { fill: inks.ink, size: 12 }),
    ...scene.items.map((item) => moved(scaled(item, scale), at * (SIDE + 10), 22)),
  ]);
  return { width: pictures.length * (SIDE + 10), height: SIDE + 30, items: drawn };
}

function scaled({ x, y, width, height, ...rest }, by) {
  return { ...rest, x: x * by, y: y * by, width: width * by, height: height * by };
}
