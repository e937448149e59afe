// The heads of a model of images as small maps, layer by layer.

import { h, redraw } from "./dom.js";
import { pixelsOf } from "./pixels.js";

/** Fill `element` with all heads, [layers][heads][rows][columns]. `choose(layer, head)` hears which
 * one is to be shown, `toggle(name)` which one is to be switched off or on.
 */
export function drawHeadGrid(element, heads, { chosen, off, choose, toggle }) {
  const most = Math.max(...heads.map((layer) => layer.length));
  element.style.setProperty("--columns", most);
  const cell = (map, layer, number) => {
    const name = `encoder.${layer}.${number}`;
    const isOff = off.includes(name);
    const isChosen = layer === chosen[0] && number === chosen[1];
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
          on: { click: () => choose(layer, number) },
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
          on: { change: () => toggle(name) },
        }),
        ` ${number + 1}`,
      ),
    );
  };
  redraw(
    element,
    null,
    heads.map((layer, row) => [
      h("div", { class: "head-layer muted" }, `Layer ${row + 1}`),
      Array.from({ length: most }, (_, at) => (at < layer.length ? cell(layer[at], row, at) : h("div"))),
    ]),
  );
}
