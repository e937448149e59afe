// Image: the labels of an image, what the model looks at in it, and what changes when a patch is
// hidden or a head is switched off.

import * as api from "../api.js";
import { button, h, redraw, replace, segmented, select } from "../dom.js";
import { heading, inks } from "../frame.js";
import { drawHeadGrid } from "../imageheads.js";
import { ImageSource } from "../imagesource.js";
import { PatchImage, change, placeName, signed, toggled } from "../patches.js";
import { percent } from "../pieces.js";
import { meanOf, mosaicOf, pictureScene } from "../pixels.js";

const PLAIN = "image";
const HIDING = "patches hidden";
const HEADS = "heads";
const POSITIONS = "positions";
const EXPLAINED = {
  [PLAIN]: "The image as the model sees it. Click a patch to hide it.",
  rollout: "Attention through all layers, with the identity added. It is the same for every label.",
  "gradient × attention": "What attention carries through the layers in favour of the label.",
  "Grad-CAM": "Places whose channels speak for the label.",
  [HIDING]:
    "What happens to the label’s probability when each patch is hidden: orange patches speak for it, blue ones against it.",
  [HEADS]: "Where one head looks, or the mean of a layer’s heads.",
  [POSITIONS]: "How alike the position of the patch in focus is to that of every other patch.",
};
const MOST_LABELS = 8;

export function image(session) {
  const { store } = session;
  let own = null; // an image of the visitor's: {pixels, size, channels, label: "", name}
  let found = null; // the answer that is shown
  let usual = null; // the answer without anything hidden or switched off
  let alike = null; // how alike positions are
  let problem = "";
  let asked = "";
  let of = ""; // the run that all this belongs to

  const head = h("div", {});
  const source = new ImageSource({
    run: () => store.state.run,
    take: (image) => {
      [own, problem] = [image, ""];
      store.set({ sample: -1, hidden: [], about: "" });
      update();
    },
    choose: (sample) => store.set({ sample, hidden: [], about: "" }),
    fail: (sentence) => {
      problem = sentence;
      draw();
    },
  });
  const picture = new PatchImage({
    toggle: (at) => store.set({ hidden: toggled(store.state.hidden, at) }),
    clear: () => store.set({ hidden: [] }),
    explain,
    move: () => mapName() === POSITIONS && drawPatches(),
  });
  const note = h("p", { class: "readout-of-patch", "aria-live": "polite" });
  const controls = h("div", { class: "controls" });
  const explained = h("p", { class: "muted small" });
  const labels = h("div", { class: "image-labels" });
  const grid = h("div", { class: "image-heads" });
  const all = h("div", { class: "all-positions", hidden: true });
  const said = h("div", { "aria-live": "polite" });

  const view = {
    name: "image",
    root: h("div", { on: source.drops(() => view.root) }),
    caption: () => `${session.run.title}: ${found?.label ?? ""}, ${mapName()}`,
    update,
    scene: () => found && pictureScene(shownImage().pixels, shownImage(), tinted(), inks()),
    table: () => found && rows(),
  };
  replace(
    view.root,
    head,
    source.element,
    said,
    h(
      "div",
      { class: "image-view" },
      h("div", { class: "image-left" }, picture.element, note),
      h("div", { class: "image-right" }, labels, controls, explained, grid, all),
    ),
  );

  const shownImage = () => own ?? source.sample(Math.max(0, store.state.sample));

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("image")) return;
    if (of !== session.run.folder) {
      of = session.run.folder;
      [own, found, usual, alike, asked, problem] = [null, null, null, null, "", ""];
      replace(all);
      replace(head, heading(view, session.run.title, session.run.explanation));
      loadSamples(state.run);
    }
    if (session.run.status !== "ready") {
      replace(said, h("p", { class: "muted" }, "Loading the model …"));
      return;
    }
    if (state.sample >= 0) own = null;
    source.mark(own ? [] : [Math.max(0, state.sample)]);
    const chosen = shownImage();
    if (!chosen) {
      if (!problem && source.samples) replace(said, h("p", { class: "muted" }, "Give the model an image."));
      return;
    }
    const { run, step, about, hidden, off } = state;
    const body = { run, step, pixels: chosen.pixels, label: about, hidden, off };
    const key = JSON.stringify([run, step, chosen.name, chosen.pixels.length, state.sample, about, hidden, off]);
    if (key !== asked) {
      asked = key;
      await ask(key, body);
    }
    draw();
  }

  async function loadSamples(run) {
    try {
      if (await source.load(run)) update();
    } catch (error) {
      problem = error.message;
      replace(said, h("p", { class: "problem" }, problem));
    }
  }

  async function ask(key, body) {
    try {
      const changed = body.hidden.length || body.off.length;
      const answer = await api.ask("image", body);
      // The change is measured on the same label, whatever has become the likeliest.
      const before = changed ? await api.ask("image", { ...body, hidden: [], off: [] }) : answer;
      if (key !== asked) return;
      [found, usual, problem] = [answer, before, ""];
    } catch (error) {
      if (key !== asked) return;
      problem = error.message;
    }
  }

  function mapName() {
    const names = [PLAIN, ...Object.keys(found?.maps ?? {}), HIDING, HEADS, POSITIONS];
    if (names.includes(store.state.map)) return store.state.map;
    return Object.keys(found?.maps ?? {}).at(-1) ?? HIDING;
  }

  /** The numbers of the map that is shown, row by row; null for none. */
  function values() {
    const name = mapName();
    if (name === PLAIN) return null;
    if (name === HIDING) return found.hidden;
    if (name === POSITIONS) return alike && folded(alike[picture.focus], found.grid[1]);
    if (name !== HEADS) return found.maps[name];
    if (!found.heads.length) return null;
    const [layer, number] = chosenHead();
    const own = found.heads[layer];
    return number < 0 ? meanOf(own) : own[number];
  }

  /** The same as it is coloured: from the lowest that says something. */
  function tinted() {
    const shown = values();
    if (!shown?.length) return null;
    const low = lowest(shown, mapName());
    return shown.map((row) => row.map((value) => value - low));
  }

  function chosenHead() {
    const { layer, head: number } = store.state;
    const at = layer < 0 ? found.heads.length - 1 : Math.min(layer, found.heads.length - 1);
    return [at, Math.min(number, found.heads[at].length - 1)];
  }

  function draw() {
    replace(said, problem && h("p", { class: "problem" }, problem));
    view.root.classList.toggle("waiting", !found);
    if (!found) return;
    drawControls();
    drawPatches();
    drawLabels();
    drawHeads();
    replace(explained, EXPLAINED[mapName()], agreementOf(mapName()));
    all.hidden = mapName() !== POSITIONS || !alike?.length;
    if (mapName() === POSITIONS && !alike) askPositions();
    if (!all.hidden && !all.firstChild) drawPositions();
  }

  async function askPositions() {
    const { run, step } = store.state;
    alike = (await api.ask("image_positions", { run, step })).alike ?? [];
    draw();
  }

  /** All patches at once: a small map in the place of each. */
  function drawPositions() {
    const picture = mosaicOf(alike, found.grid);
    picture.removeAttribute("aria-hidden");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", "For each patch, how alike its position is to that of every other");
    replace(all, h("p", { class: "muted small" }, "All patches, each with its own map:"), picture);
  }

  function agreementOf(name) {
    const value = found.agreement[name];
    if (value === undefined) return null;
    return ` Its rank correlation with what hiding each patch does is ${signed(value, 2)}.`;
  }

  function drawControls() {
    const { state } = store;
    const [layer, number] = found.heads.length ? chosenHead() : [0, -1];
    const names = [PLAIN, ...Object.keys(found.maps), HIDING];
    if (found.heads.length) names.push(HEADS, POSITIONS);
    const inHeads = mapName() === HEADS && found.heads.length;
    redraw(
      controls,
      `${names}|${inHeads}|${layer}`,
      segmented(
        "Map",
        names.map((name) => [name, name, EXPLAINED[name]]),
        mapName(),
        (map) => store.set({ map }),
      ),
      inHeads &&
        select(
          "Layer",
          found.heads.map((_, at) => [at, String(at + 1)]),
          layer,
          (next) => store.set({ layer: next, head: -1 }),
        ),
      inHeads &&
        select(
          "Head",
          [[-1, "mean"], ...found.heads[layer].map((_, at) => [at, String(at + 1)])],
          number,
          (next) => store.set({ head: next }),
        ),
      (state.hidden.length > 0 || state.off.length > 0) &&
        button("Show and switch on everything", () => store.set({ hidden: [], off: [] })),
    );
  }

  function drawPatches() {
    picture.show({
      image: shownImage(),
      grid: found.grid,
      hidden: store.state.hidden,
      values: values(),
      tints: tinted(),
    });
  }

  function explain(at) {
    if (!found) return;
    const { hidden } = store.state;
    if (at < 0) {
      const count = hidden.length;
      replace(
        note,
        count
          ? `${count} ${count === 1 ? "patch is" : "patches are"} hidden: ${found.label} ${beforeAndNow(found.label)}.`
          : "Click a patch to hide it, or move with the arrow keys and press Space.",
      );
      return;
    }
    const across = found.grid[1];
    const [row, col] = [Math.floor(at / across), at % across];
    const shown = values();
    const value = shown?.length ? shown[row][col] : null;
    const effect = -100 * found.hidden[row][col];
    const state = hidden.includes(at) ? "hidden" : `hiding it changes ${found.label} by ${signed(effect, 1)} points`;
    replace(
      note,
      `${placeName(at, found.grid)}: ${state}.`,
      value !== null && mapName() !== HIDING && ` ${mapName()} ${value.toPrecision(3)}.`,
    );
  }

  /** A label's probability, before and now, in words. */
  function beforeAndNow(label) {
    return `${percent(Math.log(usual.labels[label]))} → ${percent(Math.log(found.labels[label]))}`;
  }

  function drawLabels() {
    const changed = found !== usual;
    const names = Object.keys(usual.labels).slice(0, MOST_LABELS);
    for (const name of Object.keys(found.labels).slice(0, 3)) if (!names.includes(name)) names.push(name);
    const inside = labels.contains(document.activeElement) ? document.activeElement.dataset.label : null;
    replace(
      labels,
      h(
        "ol",
        { class: "label-bars" },
        names.map((name) => {
          const [now, before] = [found.labels[name], usual.labels[name]];
          return h(
            "li",
            {},
            h(
              "button",
              {
                type: "button",
                class: "label-bar",
                "data-label": name,
                "data-value": now,
                "aria-pressed": String(name === found.label),
                title: `Maps for ${name}`,
                on: { click: () => store.set({ about: name }) },
              },
              h("span", { class: "piece", dir: "auto" }, name),
              h("span", { class: "bar" }, h("span", { style: { width: `${100 * now}%` } })),
              h("span", { class: "share" }, percent(Math.log(now))),
              changed && change(100 * (now - before)),
            ),
          );
        }),
      ),
      changed && h("p", { class: "muted small" }, "Right: the change in points against the whole image and all heads."),
    );
    if (inside) labels.querySelector(`[data-label="${CSS.escape(inside)}"]`)?.focus();
  }

  function drawHeads() {
    grid.hidden = !found.heads.length || mapName() !== HEADS;
    if (grid.hidden) return;
    const { off } = store.state;
    drawHeadGrid(grid, found.heads, {
      chosen: chosenHead(),
      off,
      choose: (layer, number) => store.set({ layer, head: number }),
      toggle: (name) => store.set({ off: off.includes(name) ? off.filter((each) => each !== name) : [...off, name] }),
    });
  }

  function rows() {
    const shown = values();
    return [
      ["label", "probability", "of the whole image"],
      ...Object.entries(found.labels).map(([label, share]) => [label, share, usual.labels[label]]),
      [],
      [mapName()],
      ...(shown?.length ? shown : []),
    ];
  }

  return view;
}

function folded(list, across) {
  if (!list) return null;
  return Array.from({ length: list.length / across }, (_, row) => list.slice(row * across, (row + 1) * across));
}

/** Where a map's colours begin. A rollout is nowhere near 0, so only what is above its lowest place
 * says something; other maps begin at 0.
 */
function lowest(map, name) {
  return map && name === "rollout" ? Math.min(...map.flat()) : 0;
}
