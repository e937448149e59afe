// A head as a small map without labels.

import { css, isDark, shade, table as colourTable } from "./colour.js";
import { h } from "./dom.js";

/** A cell a pixel, enlarged by the browser; the hatching behind shows where there is a mask. */
export function thumbnail({ rows, cols, data, masked }) {
  const canvas = h("canvas", { width: Math.max(1, cols), height: Math.max(1, rows), "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(Math.max(1, cols), Math.max(1, rows));
  const colours = colourTable(isDark());
  data.forEach((value, at) => {
    const hidden = masked?.(Math.floor(at / cols), at % cols);
    image.data.set([...colours[shade(value, 1)], hidden ? 0 : 255], 4 * at);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The same as a picture of this size, for export. */
export function smallScene({ rows, cols, data }, size) {
  const [w, v] = [size / cols, size / rows];
  const colours = colourTable(isDark());
  return Array.from(data, (value, at) => ({
    kind: "rect",
    x: (at % cols) * w,
    y: Math.floor(at / cols) * v,
    width: w,
    height: v,
    fill: css(colours[shade(value, 1)]),
  }));
}
