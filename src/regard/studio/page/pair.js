// One image and one text: which patches and which words make them fit.

import * as api from "./api.js";
import { button, h, redraw, replace, segmented } from "./dom.js";
import { inks } from "./frame.js";
import { PatchImage, change, placeName, signed, toggled } from "./patches.js";
import { centred, largest, sumOf } from "./pixels.js";
import { WordRow, wordsScene } from "./words.js";

const SHARES = "shares";
const HIDING = "patches hidden";
const PLAIN = "image";
const EXPLAINED = {
  [SHARES]:
    "What each part of the image adds to the similarity with a word; all together are the similarity. Orange is more than the mean patch adds, blue is less.",
  [HIDING]:
    "What happens to the similarity when a patch is hidden. Under a word: how much of that is due to the word, since it is gone when the word is left out.",
  [PLAIN]: "The image as the model sees it.",
};

export class Pair {
  constructor(store) {
    this.store = store;
    this.image = null;
    this.found = null;
    this.usual = null; // the same of the whole image
    this.asked = "";
    this.pointed = null; // the word under the pointer
    this.title = h("h3", {});
    this.note = h("p", { class: "readout-of-patch", "aria-live": "polite" });
    this.controls = h("div", { class: "controls" });
    this.explained = h("p", { class: "muted small" });
    this.picture = new PatchImage({
      toggle: (at) => store.set({ hidden: toggled(store.state.hidden, at) }),
      clear: () => store.set({ hidden: [] }),
      explain: (at) => this.explain(at),
    });
    this.words = new WordRow({
      label: "Words of the text: arrow keys move, Enter keeps one",
      preview: (word) => {
        this.pointed = word;
        if (this.found) this.drawPatches();
      },
      hold: (word) => store.set({ word: word === store.state.word ? -1 : word }),
    });
    this.element = h(
      "section",
      { class: "pair", hidden: true },
      this.title,
      this.words.element,
      h(
        "div",
        { class: "image-view" },
        h("div", { class: "image-left" }, this.picture.element, this.note),
        h("div", { class: "image-right" }, this.controls, this.explained),
      ),
    );
  }

  forget() {
    [this.image, this.found, this.usual, this.asked] = [null, null, null, ""];
  }

  /** Ask about an image and a text, unless it was asked before; `of` says what else the answer
   * depends on.
   */
  async ask(image, text, of) {
    const { run, step, hidden } = this.store.state;
    if (!image || !text) {
      this.forget();
      return;
    }
    const key = JSON.stringify([of, image.name, text, hidden]);
    if (key === this.asked) return;
    this.asked = key;
    const body = { run, step, pixels: image.pixels, text };
    const answer = await api.ask("pair", { ...body, hidden });
    const before = hidden.length ? await api.ask("pair", body) : answer;
    if (key === this.asked) [this.image, this.found, this.usual, this.pointed] = [image, answer, before, null];
  }

  mapName() {
    const { map } = this.store.state;
    if (map === PLAIN || map === HIDING) return map;
    return this.found?.parts.length ? SHARES : HIDING;
  }

  /** The numbers of all words together, then those of each. */
  numbers() {
    const { parts, rest, hidden, together } = this.found;
    const name = this.mapName();
    if (name === PLAIN) return [];
    return name === HIDING ? [hidden, ...together] : [sumOf([...parts, rest]), ...parts];
  }

  /** The same as they are coloured: shares against that of the mean patch. */
  maps() {
    return this.mapName() === SHARES ? this.numbers().map(centred) : this.numbers();
  }

  items() {
    const { words, similarity, without_word: without } = this.found;
    const [whole, ...each] = this.maps();
    const most = largest(each);
    return [
      {
        ...{ word: -1, text: "all words", map: whole, most: largest(whole) },
        note: similarity.toFixed(2),
        class: "special",
      },
      ...words.map((text, word) => ({
        ...{ word, text, map: each[word], most },
        note: signed(-without[word], 2),
        title: `Without “${text}” the similarity changes by ${signed(-without[word], 3)}`,
      })),
    ];
  }

  draw() {
    this.element.hidden = !this.found;
    if (!this.found) return;
    const { hidden, word } = this.store.state;
    const { text, similarity, parts, agreement } = this.found;
    const [name, names] = [this.mapName(), [...(parts.length ? [SHARES] : []), HIDING, PLAIN]];
    replace(
      this.title,
      h("span", { dir: "auto" }, `“${text}”: similarity ${similarity.toFixed(3)} `),
      hidden.length > 0 && change(similarity - this.usual.similarity, 3),
    );
    this.words.show(this.items(), this.image, word);
    redraw(
      this.controls,
      `${names}|${name}|${hidden.length > 0}`,
      segmented("Map", names.map((each) => [each, each, EXPLAINED[each]]), name, (map) => this.store.set({ map })),
      hidden.length > 0 && button("Show all patches", () => this.store.set({ hidden: [] })),
    );
    replace(
      this.explained,
      EXPLAINED[name],
      name === SHARES && ` Their rank correlation with what hiding each patch does is ${signed(agreement, 2)}.`,
    );
    this.drawPatches();
  }

  shownWord() {
    return Math.min(this.pointed ?? this.store.state.word, this.found.words.length - 1);
  }

  drawPatches() {
    const [numbers, maps, word] = [this.numbers(), this.maps(), this.shownWord()];
    this.picture.show({
      image: this.image,
      grid: this.found.grid,
      hidden: this.store.state.hidden,
      values: numbers[word + 1] ?? null,
      tints: maps[word + 1] ?? null,
      most: largest(word < 0 ? maps[0] : maps.slice(1)),
    });
  }

  explain(at) {
    if (!this.found) return;
    const { words, grid, cells, without_word: without } = this.found;
    const word = this.shownWord();
    const map = this.numbers()[word + 1];
    const name = word < 0 ? "all words" : `“${words[word]}”`;
    if (at < 0 || !map) {
      replace(
        this.note,
        word < 0
          ? "Under a word: how the similarity changes without it. Point at one to see its map; click a patch to hide it."
          : `Without ${name} the similarity changes by ${signed(-without[word], 3)}.`,
      );
      return;
    }
    const value = map[Math.floor(at / grid[1])][at % grid[1]];
    const cell = String(cells) === String(grid) ? "it" : "the cell it is in";
    const what =
      this.mapName() === SHARES
        ? `${cell} adds ${signed(value, 4)} with ${name}`
        : `hiding it changes the similarity by ${signed(-value, 4)}${word < 0 ? "" : ` because of ${name}`}`;
    const state = this.store.state.hidden.includes(at) ? "hidden; " : "";
    replace(this.note, `${placeName(at, grid)}: ${state}${what}.`);
  }

  caption() {
    return `${this.found.text}: similarity ${this.found.similarity.toFixed(3)} (${this.mapName()})`;
  }

  scene() {
    return this.found && wordsScene(this.image, this.items(), inks());
  }

  /** A row for each word, with a column for each patch. */
  table() {
    if (!this.found) return [];
    const { words, grid, without_word: without } = this.found;
    const places = Array.from({ length: grid[0] * grid[1] }, (_, at) => `${this.mapName()}: ${placeName(at, grid)}`);
    const [, ...each] = this.numbers();
    return [
      [],
      ["word", "without it", ...(each.length ? places : [])],
      ...words.map((word, at) => [word, -without[at], ...(each[at] ?? []).flat()]),
    ];
  }
}
