// Pixels and maps over them, as canvases and as pictures to save.

import { css, isDark, shade, table as colourTable } from "./colour.js";
import { h } from "./dom.js";
import { rect } from "./scene.js";

const ABOVE = [209, 98, 10];
const BELOW = [27, 104, 176];
const MOST_OPAQUE = 0.8;
// A saved picture has at most this many pixels a side; each is a rectangle.
const MOST_SAVED = 64;

/** Bytes of base64. */
export function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** Square pixels as a canvas, a pixel each; grey ones have one channel. */
export function canvasOf(pixels, { size, channels }) {
  const canvas = h("canvas", { width: size, height: size, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  const data = bytes(pixels);
  for (let at = 0; at < size * size; at += 1) {
    const rgb = channels === 1 ? [data[at], data[at], data[at]] : data.subarray(3 * at, 3 * at + 3);
    image.data.set([...rgb, 255], 4 * at);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** A map as a canvas, a place a pixel. */
export function pixelsOf(map) {
  const [rows, cols] = [map.length, map[0].length];
  const canvas = h("canvas", { width: cols, height: rows, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(cols, rows);
  const most = Math.max(...map.flat());
  const colours = colourTable(isDark());
  map.flat().forEach((value, at) => image.data.set([...colours[shade(value, most)], 255], 4 * at));
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The colour of a place over an image: orange above 0, blue below, the clearer the further. */
export function colourOf(value, most) {
  const [r, g, b] = value < 0 ? BELOW : ABOVE;
  const share = MOST_OPAQUE * Math.min(1, Math.abs(value) / (most || 1));
  return `rgba(${r}, ${g}, ${b}, ${share.toFixed(3)})`;
}

/** The image with a map over it, or without, as a picture to save. */
export function pictureScene(pixels, { size, channels }, map, { paper }) {
  const data = bytes(pixels);
  const count = Math.min(MOST_SAVED, size);
  const side = 384 / count;
  const items = [rect(0, 0, 384, 384, paper)];
  for (let row = 0; row < count; row += 1) {
    for (let col = 0; col < count; col += 1) {
      const at = Math.floor((row * size) / count) * size + Math.floor((col * size) / count);
      const rgb = Array.from({ length: 3 }, (_, part) => data[at * channels + Math.min(part, channels - 1)]);
      const grey = 115 + 0.55 * ((rgb[0] + rgb[1] + rgb[2]) / 3);
      const colour = css(map ? [grey, grey, grey].map(Math.round) : rgb);
      items.push(rect(col * side, row * side, side, side, colour));
    }
  }
  if (map) {
    const most = map.flat().reduce((high, value) => Math.max(high, Math.abs(value)), 1e-12);
    const [high, wide] = [384 / map.length, 384 / map[0].length];
    map.forEach((line, row) =>
      line.forEach((value, col) => items.push(rect(col * wide, row * high, wide, high, colourOf(value, most)))),
    );
  }
  return { width: 384, height: 384, items };
}
