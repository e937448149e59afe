// The figure of a model: stacks side by side, layers in frames, a box for every step.

import { css, isDark, shade, table } from "./colour.js";
import { h, replace } from "./dom.js";
import { percent, readable } from "./pieces.js";
import { largest } from "./strips.js";

/** More layers than this are folded, but for the one that is looked at. */
const UNFOLDED = 3;

export function modelFigure({ choose }) {
  const element = h("div", { class: "model-figure" });
  const buttons = new Map();
  const folded = new Map();
  let opened = "";

  function show(found, name) {
    buttons.clear();
    opened = name;
    element.dataset.stacks = found.stacks.length;
    replace(element, found.stacks.map(stackOf));
  }

  function stackOf(stack) {
    const parts = [];
    let layer = null;
    const count = new Set(stack.boxes.map((each) => each.layer).filter((each) => each !== null)).size;
    for (const box of stack.boxes) {
      if (box.layer === null) {
        layer = null;
        parts.push(boxOf(box), lensOf(box));
        continue;
      }
      if (layer === null || layer.number !== box.layer) {
        const boxes = stack.boxes.filter((each) => each.layer === box.layer);
        layer = { number: box.layer };
        parts.push(layerOf(stack, boxes, count), lensOf(boxes.at(-1)));
      }
    }
    return h(
      "section",
      { class: "model-stack", "aria-label": stack.title },
      h("h3", {}, stack.title),
      h("div", { class: "model-line" }, parts),
    );
  }

  function layerOf(stack, boxes, count) {
    if (boxes.length === 1) return boxOf(boxes[0]);
    const key = `${stack.name}.${boxes[0].layer}`;
    const usual = count <= UNFOLDED || boxes[0].layer === 0;
    const shown = folded.get(key) ?? (usual || boxes.some((each) => each.name === opened));
    const details = h(
      "details",
      { class: "model-layer", open: shown },
      h(
        "summary",
        {},
        h("span", { class: "layer-name" }, `Layer ${boxes[0].layer + 1}`),
        h("span", { class: "muted small" }, boxes.at(-1).shape),
        stripOf(boxes.at(-1)),
      ),
      boxes.map(boxOf),
    );
    details.addEventListener("toggle", () => folded.set(key, details.open));
    return details;
  }

  function boxOf(box) {
    const button = h(
      "button",
      {
        type: "button",
        "aria-expanded": String(box.name === opened),
        "data-box": box.name,
        on: { click: () => choose(box.name) },
      },
      h(
        "span",
        { class: "box-title" },
        box.adds && h("span", { class: "plus", "aria-hidden": "true" }, "⊕"),
        h("strong", {}, box.title),
        box.reads && h("span", { class: "muted small" }, "reads the encoder"),
      ),
      h("span", { class: "box-shape" }, box.shape),
      stripOf(box),
    );
    buttons.set(box.name, button);
    return h("div", { class: box.adds ? "model-box adds" : "model-box" }, button);
  }

  /** What the model would say if it ended here. */
  function lensOf(box) {
    if (!box.lens.length) return null;
    return h(
      "p",
      { class: "lens", title: "What the model would predict if it ended here (logit lens)" },
      h("span", { class: "muted" }, "predicts "),
      box.lens.map((each) =>
        h(
          "span",
          { class: "guess" },
          h("span", { class: "piece", dir: "auto" }, readable(each.name)),
          ` ${percent(Math.log(each.probability))}`,
        ),
      ),
    );
  }

  function mark(name) {
    opened = name;
    for (const [each, button] of buttons) button.setAttribute("aria-expanded", String(each === name));
    const layer = buttons.get(name)?.closest("details");
    if (layer) layer.open = true;
  }

  return { element, show, mark, button: (name) => buttons.get(name) };
}

/** The first numbers of a row, as coloured cells. */
export function stripOf({ strip, width }) {
  const canvas = h("canvas", { class: "strip-of-box", width: strip.length, height: 1 });
  const colours = table(isDark(), true);
  const most = largest(strip);
  const context = canvas.getContext("2d");
  strip.forEach((value, at) => {
    context.fillStyle = css(colours[shade(value, most, true)]);
    context.fillRect(at, 0, 1, 1);
  });
  const title = `The first ${strip.length} of ${width} numbers, from −${most.toFixed(2)} to ${most.toFixed(2)}`;
  return h("span", { class: "strip-frame", title }, canvas);
}
