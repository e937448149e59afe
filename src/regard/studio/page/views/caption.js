// Caption: what a model says of an image, where it looks at each word, and what changes when a patch
// is hidden or another word is chosen.

import * as api from "../api.js";
import { alternativesOf, outputList } from "../choices.js";
import { button, h, redraw, replace, segmented, select } from "../dom.js";
import { whatChanged } from "../effect.js";
import { heading, inks } from "../frame.js";
import { ImageSource } from "../imagesource.js";
import { PatchImage, placeName, signed, toggled } from "../patches.js";
import { END, percent } from "../pieces.js";
import { largest, meanOf } from "../pixels.js";
import { total } from "../session.js";
import { WordRow, wordsScene } from "../words.js";

const LOOKS = "looks at";
const HIDING = "patches hidden";
const PLAIN = "image";
const EXPLAINED = {
  [PLAIN]: "The image as the model sees it.",
  [LOOKS]: "The share of a word’s attention that each part of the image gets.",
  [HIDING]:
    "What happens to a word’s probability when a patch is hidden and the words before it stay: orange patches speak for the word, blue ones against it.",
};
const FRESH = { hidden: [], prefix: [], typed: "", adopted: [], word: -1 };

export function caption(session) {
  const { store } = session;
  let own = null; // an image of the visitor's
  let found = null; // the answer that is shown
  let effects = null; // what hiding each patch does to each word of it: {hidden, agreement}
  let usual = null; // the caption of the whole image, if patches are hidden
  let problem = "";
  let asked = "";
  let of = ""; // the run that all this belongs to
  let pointed = null; // the word under the pointer
  let drawn = { of: null, word: null }; // the answer and the word whose alternatives are drawn

  const head = h("div", {});
  const said = h("div", { "aria-live": "polite" });
  const warning = h("p", { class: "warning", role: "status" });
  const note = h("p", { class: "readout-of-patch", "aria-live": "polite" });
  const controls = h("div", { class: "controls" });
  const explained = h("p", { class: "muted small" });
  const details = h("div", { class: "alternatives" });
  const changes = h("div", { "aria-live": "polite" });
  const others = h("div", { class: "others" });
  const source = new ImageSource({
    run: () => store.state.run,
    take: (image) => {
      [own, problem] = [image, ""];
      store.set({ ...FRESH, sample: -1 });
      update();
    },
    choose: (sample) => store.set({ ...FRESH, sample }),
    fail: (sentence) => {
      problem = sentence;
      draw();
    },
  });
  const picture = new PatchImage({
    toggle: (at) => store.set({ hidden: toggled(store.state.hidden, at), adopted: [] }),
    clear: () => store.set({ hidden: [] }),
    explain,
  });
  const words = new WordRow({
    label: "Words of the caption: arrow keys move, Enter keeps one",
    preview: (word) => {
      pointed = word;
      if (found) drawPatches();
    },
    hold: (word) => store.set({ word: word === store.state.word ? -1 : word }),
  });

  const view = {
    name: "caption",
    root: h("div", { on: source.drops(() => view.root) }),
    caption: () => `${found?.output.text ?? ""} (${mapName()})`,
    update,
    scene: () => found && wordsScene(shownImage(), items(), inks()),
    table: () => found && rows(),
  };
  replace(
    view.root,
    head,
    source.element,
    said,
    h(
      "div",
      { class: "image-body" },
      words.element,
      warning,
      h(
        "div",
        { class: "image-view" },
        h("div", { class: "image-left" }, picture.element, note),
        h("div", { class: "image-right" }, controls, explained, changes, details, others),
      ),
    ),
  );

  const shownImage = () => own ?? source.sample(Math.max(0, store.state.sample));

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("caption")) return;
    if (of !== session.run.folder) {
      of = session.run.folder;
      [own, found, effects, usual, asked, problem] = [null, null, null, null, "", ""];
      replace(head, heading(view, session.run.title, session.run.explanation));
      loadSamples(state.run);
    }
    if (session.run.status !== "ready") {
      replace(said, h("p", { class: "muted" }, "Loading the model …"));
      return;
    }
    if (state.sample >= 0) own = null;
    source.mark(own ? [] : [Math.max(0, state.sample)]);
    const image = shownImage();
    if (!image) {
      if (!problem && source.samples) replace(said, h("p", { class: "muted" }, "Give the model an image."));
      return;
    }
    const { run, step, hidden, prefix, typed, adopted, layer, head: number } = state;
    const body = { run, step, pixels: image.pixels, hidden, prefix, typed, output: adopted };
    const shown = { ...body, layer: Math.max(-1, layer), head: Math.max(-1, number) };
    const key = JSON.stringify({ ...shown, pixels: image.name });
    if (key !== asked) {
      asked = key;
      await ask(key, shown);
    }
    draw();
  }

  async function loadSamples(run) {
    try {
      if (await source.load(run)) update();
    } catch (error) {
      problem = error.message;
      draw();
    }
  }

  async function ask(key, body) {
    try {
      const answer = await api.ask("caption", body);
      const before = body.hidden.length ? await compared(body) : null;
      if (key !== asked) return;
      [found, usual, effects, problem, pointed] = [answer, before, null, "", null];
      askEffects(key, { ...body, output: answer.output.ids });
    } catch (error) {
      if (key !== asked) return;
      problem = error.message;
    }
  }

  /** The caption of the whole image, and how likely it is then and now. */
  async function compared(body) {
    const then = await api.ask("caption", { ...body, hidden: [], output: [] });
    const now = await api.ask("caption", { ...body, output: then.output.ids });
    return { output: then.output, then: total(then), now: total(now) };
  }

  /** Hiding every patch takes longer than the caption, so it comes after it. */
  async function askEffects(key, body) {
    try {
      const answer = await api.ask("caption_hidden", body);
      if (key !== asked) return;
      effects = answer;
      draw();
    } catch (error) {
      if (key !== asked) return;
      problem = error.message;
      draw();
    }
  }

  const looks = () => found.weights.length > 0;

  function mapName() {
    const { map } = store.state;
    if (map === PLAIN || map === HIDING) return map;
    return found && !looks() ? HIDING : LOOKS;
  }

  /** The maps of all words; empty while they are not known. */
  function maps() {
    const name = mapName();
    if (name === PLAIN) return [];
    return (name === LOOKS ? found.weights : effects?.hidden) ?? [];
  }

  /** The word that is shown: the one that is pointed at, or the one that is kept; -1 is all. */
  function shownWord() {
    const word = pointed ?? store.state.word;
    return word < found.output.words.length ? word : -1;
  }

  function items() {
    const known = maps();
    const most = largest(known);
    const forced = found.output.word_of[found.prefix - 1] ?? -1;
    const last = found.steps.at(-1);
    return [
      ...found.output.words.map((text, word) => ({
        ...{ word, text, map: known[word], most, share: found.probabilities[word] },
        note: percent(Math.log(found.probabilities[word])),
        class: word <= forced ? "forced" : "",
        title: word <= forced ? "You chose the caption up to here" : "Where the model looks, and what else it might have written",
      })),
      {
        ...{ word: found.output.words.length, text: END, map: null, class: "special" },
        share: Math.exp(last.log_probability),
        note: percent(last.log_probability),
        title: "The end of the caption",
      },
    ];
  }

  function draw() {
    replace(said, problem && h("p", { class: "problem" }, problem));
    view.root.classList.toggle("waiting", !found);
    if (!found) return;
    words.show(items(), shownImage(), store.state.word);
    replace(warning, mapName() === LOOKS && found.warning);
    drawControls();
    drawPatches();
    // Someone may be typing a word there.
    if (drawn.of === found && drawn.word === store.state.word) return;
    drawn = { of: found, word: store.state.word };
    drawChanges();
    drawDetails();
    drawOthers();
  }

  function drawControls() {
    const { state } = store;
    const names = [...(looks() ? [LOOKS] : []), HIDING, PLAIN];
    const layered = found.heads.length > 1 || found.heads[0] > 1;
    const layer = Math.min(Math.max(-1, state.layer), found.heads.length - 1);
    const { hidden, prefix, typed, adopted } = state;
    const changed = [hidden, prefix, typed, adopted].some((each) => each.length > 0);
    redraw(
      controls,
      `${names}|${layer}|${mapName()}|${changed}`,
      segmented("Map", names.map((name) => [name, name, EXPLAINED[name]]), mapName(), (map) => store.set({ map })),
      mapName() === LOOKS &&
        layered &&
        select(
          "Layer",
          [[-1, "usual"], ...found.heads.map((_, at) => [at, String(at + 1)])],
          layer,
          (next) => store.set({ layer: next, head: -1 }),
        ),
      mapName() === LOOKS &&
        layered &&
        layer >= 0 &&
        select(
          "Head",
          [[-1, "mean"], ...Array.from({ length: found.heads[layer] }, (_, at) => [at, String(at + 1)])],
          Math.min(state.head, found.heads[layer] - 1),
          (next) => store.set({ head: next }),
        ),
      changed && button("Back to the model’s own caption", () => store.set(FRESH)),
    );
    replace(
      explained,
      EXPLAINED[mapName()],
      mapName() === HIDING && !effects && " One moment …",
      mapName() === LOOKS &&
        found.output.words.length > 1 &&
        ` On average ${Math.round(100 * found.difference)} % of it is elsewhere than that of the other words.`,
      mapName() === LOOKS && layered && layer < 0 && " Usual is the mean of the heads in the layer before the last.",
    );
  }

  function drawPatches() {
    const known = maps();
    const word = shownWord();
    const values = known.length ? (word < 0 ? meanOf(known) : known[word]) : null;
    picture.show({
      image: shownImage(),
      grid: found.grid,
      hidden: store.state.hidden,
      values,
      most: word < 0 ? largest(values) : largest(known),
    });
  }

  function explain(at) {
    if (!found) return;
    const word = shownWord();
    const name = word < 0 ? "a word on average" : `“${found.output.words[word]}”`;
    const known = maps();
    const map = known.length ? (word < 0 ? meanOf(known) : known[word]) : null;
    if (at < 0 || !map) {
      replace(note, about(word));
      return;
    }
    const [row, col] = [Math.floor(at / found.grid[1]), at % found.grid[1]];
    const hidden = store.state.hidden.includes(at) ? "hidden; " : "";
    const value =
      mapName() === LOOKS
        ? `${name} gives ${cellName()} ${percent(Math.log(Math.max(map[row][col], 1e-9)))} of its attention`
        : `hiding it changes ${name} by ${signed(-100 * map[row][col], 1)} points`;
    replace(note, `${placeName(at, found.grid)}: ${hidden}${value}.`);
  }

  const cellName = () => (String(found.cells) === String(found.grid) ? "it" : "the cell it is in");

  /** What is to be said of a word, or of all of them. */
  function about(word) {
    if (word < 0) return "Point at a word to see its map, at a patch to read a number; click a patch to hide it.";
    const share = percent(Math.log(found.probabilities[word]));
    const agrees = mapName() === LOOKS ? effects?.agreement[word] : undefined;
    const tested =
      agrees === undefined ? "" : ` Its attention agrees ${signed(agrees, 2)} with what hiding each patch does to it.`;
    return `“${found.output.words[word]}” has ${share}.${tested}`;
  }

  function drawChanges() {
    changes.className = usual ? "effect" : "";
    replace(changes, usual ? whatChanged({ usual, trace: found }, "The caption") : null);
  }

  function drawDetails() {
    const inside = details.contains(document.activeElement);
    const { word } = store.state;
    const { output, steps, end } = found;
    const atEnd = word === output.words.length;
    const places = atEnd ? [steps.length - 1] : output.word_of.flatMap((each, at) => (each === word ? [at] : []));
    replace(
      details,
      places.map((at) =>
        alternativesOf(
          { step: steps[at], before: output.pieces.slice(0, at), end },
          (token) => store.set({ prefix: [...output.ids.slice(0, at), token], typed: "", adopted: [], word: -1 }),
          at === places[0] &&
            ((typed) => store.set({ prefix: output.ids.slice(0, at), typed, adopted: [], word: -1 })),
        ),
      ),
    );
    if (inside) words.element.querySelector('[tabindex="0"]')?.focus();
  }

  function drawOthers() {
    replace(
      others,
      h("h3", {}, "What the beam found"),
      outputList(
        found.outputs,
        found.output.ids,
        (adopted) => store.set({ adopted, word: -1 }),
        "Look at this caption",
      ),
    );
  }

  function rows() {
    const places = Array.from({ length: found.grid[0] * found.grid[1] }, (_, at) => placeName(at, found.grid));
    return [
      ["word", "probability", ...(maps().length ? places.map((each) => `${mapName()}: ${each}`) : [])],
      ...found.output.words.map((word, at) => [word, found.probabilities[at], ...(maps()[at] ?? []).flat()]),
    ];
  }

  return view;
}
