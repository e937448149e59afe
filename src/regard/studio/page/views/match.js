// Match: how well images and texts fit, which patches and words make one pair fit, and what is
// confused.

import * as api from "../api.js";
import { confusionList } from "../confusions.js";
import { h, redraw, replace, segmented } from "../dom.js";
import { heading } from "../frame.js";
import { ImageSource } from "../imagesource.js";
import { Pair } from "../pair.js";
import { SimilarityTable, WAYS } from "../similarity.js";

const PAUSE_MS = 500;
const FIRST = 4; // images to begin with
const MOST_IMAGES = 16;
const MOST_TEXTS = 32;
const FRESH = { hidden: [], word: -1, row: -1, col: -1 };

export function match(session) {
  const { store } = session;
  let own = []; // images of the visitor's
  let fetched = new Map(); // validation images by their place
  let found = null; // {similarity, of_texts, of_images, scale} of `given`
  let given = { images: [], texts: [] };
  let [problem, asked, of] = ["", "", ""];
  let timer = 0;

  const head = h("div", {});
  const said = h("div", { "aria-live": "polite" });
  const box = h("textarea", {
    class: "text-box",
    rows: 5,
    dir: "auto",
    "aria-label": "Texts, one on each line",
    placeholder: "Texts, one on each line …",
    on: {
      input: () => {
        clearTimeout(timer);
        // An empty field is not the same as none: there, captions of the images are shown.
        timer = setTimeout(() => store.set({ ...FRESH, texts: box.value || " " }), PAUSE_MS);
      },
    },
  });
  const controls = h("div", { class: "controls" });
  const pair = new Pair(store);
  const source = new ImageSource({
    several: true,
    run: () => store.state.run,
    take: (image) => {
      const images = places();
      [problem, own] = ["", [...own, image]];
      store.set({ ...FRESH, images });
      update();
    },
    choose: (at) => {
      const { place } = source.sample(at);
      const now = places();
      const next = now.includes(place) ? now.filter((each) => each !== place) : [...now, place];
      store.set({ ...FRESH, images: next.length || own.length ? next.slice(-MOST_IMAGES) : [place] });
    },
    fail: (sentence) => {
      problem = sentence;
      draw();
    },
  });
  const table = new SimilarityTable({
    choose: (row, col) => store.set({ ...FRESH, row, col }),
    drop: (at) => {
      const now = places();
      if (given.images.length === 1) return;
      if (at >= now.length) own = own.filter((_, each) => each !== at - now.length);
      store.set({ ...FRESH, images: now.filter((_, each) => each !== at) });
      update();
    },
  });
  const confusions = confusionList((images, texts) =>
    store.set({ ...FRESH, images, texts: texts.join("\n"), row: 0, col: 0 }),
  );
  const view = {
    name: "match",
    root: h("div", { on: source.drops(() => view.root) }),
    caption: () => (pair.found ? pair.caption() : session.run.title),
    update,
    scene: () => pair.scene(),
    table: () => found && rows(),
  };
  replace(
    view.root,
    head,
    source.element,
    h("label", { class: "texts-label" }, h("span", { class: "muted small" }, "Texts, one on each line"), box),
    said,
    h("div", { class: "image-body" }, controls, table.element, pair.element),
    confusions.element,
  );

  /** The places of the validation images that are compared. */
  function places() {
    const { images } = store.state;
    if (images.length || own.length) return images.filter((each) => Number.isInteger(each));
    return (source.samples?.samples ?? []).slice(0, FIRST).map((each) => each.place);
  }

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("match")) return;
    if (of !== session.run.folder) {
      of = session.run.folder;
      [own, fetched, found, asked, problem] = [[], new Map(), null, "", ""];
      pair.forget();
      replace(head, heading(view, session.run.title, session.run.explanation));
      loadSamples(state.run);
    }
    if (session.run.status !== "ready") {
      replace(said, h("p", { class: "muted" }, "Loading the model …"));
      return;
    }
    confusions.offer(state.run, state.step, `${of} ${state.step}`);
    if (!source.samples) return;
    source.mark(source.samples.samples.flatMap((each, at) => (places().includes(each.place) ? [at] : [])));
    await ask();
    await askPair();
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

  /** The validation images that are compared, also those that the page does not offer. */
  async function sampled(run) {
    for (const each of source.samples.samples) fetched.set(each.place, each);
    const missing = places().filter((each) => !fetched.has(each));
    if (missing.length) {
      const { samples } = await api.ask("image_samples", { run, places: missing.slice(0, MOST_IMAGES) });
      for (const each of samples) fetched.set(each.place, each);
    }
    const { size, channels } = source.samples;
    return places().flatMap((place) => (fetched.has(place) ? [{ ...fetched.get(place), size, channels }] : []));
  }

  async function ask() {
    const { run, step, texts } = store.state;
    const key = JSON.stringify([of, run, step, texts, places(), own.map((each) => each.name)]);
    if (key === asked) return;
    asked = key;
    try {
      const images = [...(await sampled(run)), ...own].slice(-MOST_IMAGES);
      const lines = [...new Set((texts || captionsOf(images)).split("\n").map((each) => each.trim()))];
      const wanted = { images, texts: lines.filter(Boolean).slice(0, MOST_TEXTS) };
      if (document.activeElement !== box) box.value = wanted.texts.join("\n");
      if (!images.length || !wanted.texts.length) {
        found = null;
        problem = images.length ? "Write a text to compare." : "Give the model an image.";
        return;
      }
      const pixels = images.map((each) => each.pixels);
      const answer = await api.ask("match", { run, step, images: pixels, texts: wanted.texts });
      if (key !== asked) return;
      [found, given, problem] = [answer, wanted, ""];
    } catch (error) {
      if (key === asked) problem = error.message;
    }
  }

  async function askPair() {
    const { row, col } = store.state;
    try {
      await pair.ask(found && given.images[col], given.texts[row], asked);
    } catch (error) {
      problem = error.message;
    }
  }

  function draw() {
    const hint = found && !pair.found && "Choose a cell to see which words and patches make the two fit.";
    replace(said, (problem || hint) && h("p", { class: problem && found ? "problem" : "muted" }, problem || hint));
    view.root.classList.toggle("waiting", !found);
    pair.draw();
    if (!found) return;
    const { ways, row, col } = store.state;
    const numbersOf = { similarity: found.similarity, "of texts": found.of_texts, "of images": found.of_images };
    const way = numbersOf[ways] ? ways : "similarity";
    redraw(
      controls,
      "ways",
      segmented("Show", WAYS, way, (next) => store.set({ ways: next })),
      h("span", { class: "muted small" }, `For probabilities, similarities are multiplied by ${found.scale.toFixed(1)}.`),
    );
    table.show({ ...given, numbers: numbersOf[way], way, chosen: [row, col] });
  }

  function rows() {
    const names = given.images.map((each) => each.title ?? each.name);
    const lines = given.texts.map((text, at) => [text, ...found.similarity.map((row) => row[at])]);
    return [["text", ...names], ...lines, ...pair.table()];
  }

  return view;
}

/** A text of each image, where it has some. */
function captionsOf(images) {
  return images.flatMap((each) => (each.texts ?? []).slice(0, 1)).join("\n");
}
