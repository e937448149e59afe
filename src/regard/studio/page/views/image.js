// Image: the labels of an image, what the model looks at in it, and what changes when a patch is
// hidden or a head is switched off.

import * as api from "../api.js";
import { button, h, redraw, replace, segmented, select } from "../dom.js";
import { heading, inks } from "../frame.js";
import { percent } from "../pieces.js";
import { canvasOf, colourOf, pixelsOf, pictureScene } from "../pixels.js";

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
  let samples = null; // of the run: {size, channels, samples}
  let own = null; // an image of the visitor's: {pixels, size, channels, label: "", name}
  let found = null; // the answer that is shown
  let usual = null; // the answer without anything hidden or switched off
  let alike = null; // how alike positions are
  let problem = "";
  let asked = "";
  let of = ""; // the run that all this belongs to
  let focus = 0; // the patch that the arrow keys move

  const head = h("div", {});
  const file = h("input", {
    type: "file",
    accept: "image/*",
    class: "file-input",
    "aria-label": "Choose an image",
    on: { change: () => file.files[0] && take(file.files[0]) },
  });
  const strip = h("div", { class: "samples" });
  const picture = h("div", { class: "patches" });
  const note = h("p", { class: "readout-of-patch", "aria-live": "polite" });
  const controls = h("div", { class: "controls" });
  const explained = h("p", { class: "muted small" });
  const labels = h("div", { class: "image-labels" });
  const grid = h("div", { class: "image-heads" });
  const said = h("div", { "aria-live": "polite" });

  const view = {
    name: "image",
    root: h("div", {
      on: {
        dragover: (event) => {
          event.preventDefault();
          view.root.classList.add("dropping");
        },
        dragleave: () => view.root.classList.remove("dropping"),
        drop: (event) => {
          event.preventDefault();
          view.root.classList.remove("dropping");
          if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
        },
      },
    }),
    caption: () => `${session.run.title}: ${found?.label ?? ""}, ${mapName()}`,
    update,
    scene: () => found && pictureScene(shownImage().pixels, sizes(), tinted(), inks()),
    table: () => found && rows(),
  };
  replace(
    view.root,
    head,
    h(
      "div",
      { class: "image-source" },
      h("label", { class: "choose" }, file, h("span", {}, "Choose an image")),
      h("span", { class: "muted small" }, "or drop one here, or take one that the model has not learned from:"),
    ),
    strip,
    said,
    h(
      "div",
      { class: "image-view" },
      h("div", { class: "image-left" }, picture, note),
      h("div", { class: "image-right" }, labels, controls, explained, grid),
    ),
  );

  const shownImage = () => own ?? samples?.samples[Math.max(0, store.state.sample)] ?? null;
  const sizes = () => own ?? samples;

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("image")) return;
    if (of !== session.run.folder) {
      of = session.run.folder;
      [samples, own, found, usual, alike, asked] = [null, null, null, null, null, ""];
      replace(head, heading(view, session.run.title, session.run.explanation));
      loadSamples(state.run);
    }
    if (session.run.status !== "ready") {
      replace(said, h("p", { class: "muted" }, "Loading the model …"));
      return;
    }
    if (state.sample >= 0) own = null;
    drawStrip();
    const chosen = shownImage();
    if (!chosen) {
      if (!problem && samples) replace(said, h("p", { class: "muted" }, "Give the model an image."));
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
    const folder = of;
    try {
      const answer = await api.ask("image_samples", { run });
      if (folder !== of) return;
      samples = answer;
      update();
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

  /** An image file of the visitor's, as the model sees it. */
  async function take(chosen) {
    try {
      own = { ...(await api.square(store.state.run, chosen)), label: "", name: `${chosen.name} ${Date.now()}` };
      problem = "";
      store.set({ sample: -1, hidden: [], about: "" });
      update();
    } catch (error) {
      problem = error.message;
      draw();
    }
    file.value = "";
  }

  function drawStrip() {
    if (!samples || strip.dataset.of === of) {
      for (const [at, each] of [...strip.children].entries()) {
        each.setAttribute("aria-pressed", String(!own && at === Math.max(0, store.state.sample)));
      }
      return;
    }
    strip.dataset.of = of;
    replace(
      strip,
      samples.samples.map((each, at) =>
        h(
          "button",
          {
            type: "button",
            class: "sample",
            title: each.name,
            "aria-label": `Image ${at + 1}: ${each.label}`,
            "aria-pressed": String(!own && at === Math.max(0, store.state.sample)),
            on: { click: () => store.set({ sample: at, hidden: [], about: "" }) },
          },
          canvasOf(each.pixels, samples),
          h("span", {}, each.label),
        ),
      ),
    );
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
    if (name === POSITIONS) return alike && folded(alike[focus], found.grid[1]);
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
    if (mapName() === POSITIONS && !alike) askPositions();
  }

  async function askPositions() {
    const { run, step } = store.state;
    alike = (await api.ask("image_positions", { run, step })).alike ?? [];
    draw();
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
    const [down, across] = found.grid;
    const shown = values();
    const tints = tinted();
    const most = largest(tints);
    const patches = Array.from({ length: down * across }, (_, at) => {
      const [row, col] = [Math.floor(at / across), at % across];
      const off = store.state.hidden.includes(at);
      const value = shown?.length ? shown[row][col] : null;
      return h("button", {
        type: "button",
        class: `patch ${off ? "hidden-patch" : ""}`,
        tabindex: at === Math.min(focus, down * across - 1) ? "0" : "-1",
        "aria-pressed": String(off),
        "aria-label": `Patch in row ${row + 1}, column ${col + 1}${off ? ", hidden" : ""}`,
        "data-value": value,
        style: value === null || off ? {} : { background: colourOf(tints[row][col], most) },
        on: {
          click: () => toggle(at),
          pointerenter: () => explain(at),
          focus: () => {
            focus = at;
            explain(at);
          },
        },
      });
    });
    const inside = picture.contains(document.activeElement);
    const chosen = shownImage();
    const base = canvasOf(chosen.pixels, sizes());
    base.setAttribute("role", "img");
    base.setAttribute("aria-label", chosen.label || "The image as the model sees it");
    base.removeAttribute("aria-hidden");
    picture.classList.toggle("pale", Boolean(shown));
    replace(
      picture,
      base,
      h(
        "div",
        {
          class: "patch-grid",
          role: "group",
          "aria-label": "Patches: arrow keys move, Space hides or shows",
          style: { "--across": across, "--down": down },
          on: { keydown: move, pointerleave: () => explain(-1) },
        },
        patches,
      ),
    );
    if (inside) patches[focus]?.focus({ preventScroll: true });
    else explain(-1);
  }

  function toggle(at) {
    focus = at;
    const { hidden } = store.state;
    store.set({ hidden: hidden.includes(at) ? hidden.filter((each) => each !== at) : [...hidden, at].sort((a, b) => a - b) });
  }

  function move(event) {
    const [down, across] = found.grid;
    const [row, col] = [Math.floor(focus / across), focus % across];
    const steps = {
      ArrowLeft: [row, col - 1],
      ArrowRight: [row, col + 1],
      ArrowUp: [row - 1, col],
      ArrowDown: [row + 1, col],
      Home: [row, 0],
      End: [row, across - 1],
    };
    if (event.key === "Escape") store.set({ hidden: [] });
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [toRow, toCol] = steps[event.key];
    if (toRow < 0 || toCol < 0 || toRow >= down || toCol >= across) return;
    const buttons = picture.querySelectorAll(".patch");
    buttons[focus].tabIndex = -1;
    focus = toRow * across + toCol;
    buttons[focus].tabIndex = 0;
    buttons[focus].focus();
    if (mapName() === POSITIONS) drawPatches();
  }

  function explain(at) {
    const { hidden } = store.state;
    if (at < 0) {
      const count = hidden.length;
      replace(
        note,
        count
          ? `${count} ${count === 1 ? "patch is" : "patches are"} hidden: ${found.label} ${change(found.label)}.`
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
      `Row ${row + 1}, column ${col + 1}: ${state}.`,
      value !== null && mapName() !== HIDING && ` ${mapName()} ${value.toPrecision(3)}.`,
    );
  }

  /** A label's probability, before and now, in words. */
  function change(label) {
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
              changed && points(100 * (now - before)),
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
    const [at, number] = chosenHead();
    const most = Math.max(...found.heads.map((layer) => layer.length));
    grid.style.setProperty("--columns", most);
    redraw(
      grid,
      null,
      found.heads.map((layer, row) => [
        h("div", { class: "layer-name muted" }, `Layer ${row + 1}`),
        Array.from({ length: most }, (_, each) => each < layer.length ? headCell(layer[each], row, each, row === at && each === number) : h("div")),
      ]),
    );
  }

  function headCell(map, layer, number, isChosen) {
    const name = `encoder.${layer}.${number}`;
    const { off } = store.state;
    const isOff = off.includes(name);
    return h(
      "div",
      { class: `head ${isOff ? "off" : ""} ${isChosen ? "chosen" : ""}` },
      h(
        "button",
        {
          type: "button",
          class: "thumb",
          "aria-pressed": String(isChosen),
          "aria-label": `Show head ${number + 1} of layer ${layer + 1}`,
          on: { click: () => store.set({ layer, head: number }) },
        },
        pixelsOf(map),
      ),
      h(
        "label",
        { class: "head-name" },
        h("input", {
          type: "checkbox",
          checked: !isOff,
          "aria-label": `Head ${number + 1} of layer ${layer + 1} on`,
          on: { change: () => store.set({ off: isOff ? off.filter((each) => each !== name) : [...off, name] }) },
        }),
        ` ${number + 1}`,
      ),
    );
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

/** A change of a probability in percentage points. */
function points(value) {
  const shown = signed(value, 1);
  const way = { "+": "up", "−": "down" }[shown[0]] ?? "";
  return h("span", { class: `points ${way}` }, shown);
}

function signed(value, digits) {
  const size = Math.abs(value).toFixed(digits);
  if (Number(size) === 0) return size;
  return `${value < 0 ? "−" : "+"}${size}`;
}

function meanOf(heads) {
  return heads[0].map((row, r) => row.map((_, c) => heads.reduce((sum, each) => sum + each[r][c], 0) / heads.length));
}

function folded(list, across) {
  if (!list) return null;
  return Array.from({ length: list.length / across }, (_, row) => list.slice(row * across, (row + 1) * across));
}

function largest(map) {
  return (map ?? []).flat().reduce((most, value) => Math.max(most, Math.abs(value)), 1e-12);
}

/** Where a map's colours begin. A rollout is nowhere near 0, so only what is above its lowest place
 * says something; other maps begin at 0.
 */
function lowest(map, name) {
  return map && name === "rollout" ? Math.min(...map.flat()) : 0;
}
