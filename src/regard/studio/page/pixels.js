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

/** Square pixels as a canvas, a pixel each; pale ones are for a map over them. */
export function canvasOf(pixels, { size, channels }, pale = false) {
  const canvas = h("canvas", { width: size, height: size, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(size, size);
  const data = bytes(pixels);
  const colour = pale ? paleAt : colourAt;
  for (let at = 0; at < size * size; at += 1) image.data.set([...colour(data, at, channels), 255], 4 * at);
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The colour of a pixel; grey ones have one channel. */
function colourAt(data, at, channels) {
  return channels === 1 ? [data[at], data[at], data[at]] : data.subarray(3 * at, 3 * at + 3);
}

/** The same, paler and with a third of its colour, so that a map over it can be seen. */
function paleAt(data, at, channels) {
  const [r, g, b] = colourAt(data, at, channels);
  const grey = (r + g + b) / 3;
  return [r, g, b].map((each) => Math.round(115 + 0.55 * (grey + (each - grey) / 3)));
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

/** Maps of all places [places][places] as one canvas, each where its place is in the grid. */
export function mosaicOf(maps, [rows, cols]) {
  const [high, wide] = [rows * (rows + 1) - 1, cols * (cols + 1) - 1];
  const canvas = h("canvas", { width: wide, height: high, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const colours = colourTable(isDark(), true);
  maps.forEach((map, at) => {
    const [top, left] = [Math.floor(at / cols) * (rows + 1), (at % cols) * (cols + 1)];
    map.forEach((value, place) => {
      context.fillStyle = css(colours[shade(value, 1, true)]);
      context.fillRect(left + (place % cols), top + Math.floor(place / cols), 1, 1);
    });
  });
  return canvas;
}

/** The colour of a place over an image: orange above 0, blue below, the clearer the further. */
export function colourOf(value, most) {
  const [r, g, b] = value < 0 ? BELOW : ABOVE;
  const share = MOST_OPAQUE * Math.min(1, Math.abs(value) / (most || 1));
  return `rgba(${r}, ${g}, ${b}, ${share.toFixed(3)})`;
}

/** The largest number of a map, whatever its sign. */
export function largest(map) {
  return (map ?? []).flat(3).reduce((most, value) => Math.max(most, Math.abs(value)), 1e-12);
}

/** The mean of several maps. */
export function meanOf(maps) {
  return maps[0].map((row, r) => row.map((_, c) => maps.reduce((sum, each) => sum + each[r][c], 0) / maps.length));
}

/** The sum of several maps. */
export function sumOf(maps) {
  return meanOf(maps).map((row) => row.map((value) => value * maps.length));
}

/** A map minus its mean. */
export function centred(map) {
  const all = map.flat();
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  return map.map((row) => row.map((value) => value - mean));
}

/** A pale image with a map over it, as one small canvas. */
export function mapOver(image, map, most) {
  const { size } = image;
  const canvas = canvasOf(image.pixels, image, true);
  const context = canvas.getContext("2d");
  const [high, wide] = [size / map.length, size / map[0].length];
  const edge = (at, side) => Math.round(at * side);
  map.forEach((line, row) =>
    line.forEach((value, col) => {
      const [left, top] = [edge(col, wide), edge(row, high)];
      context.fillStyle = colourOf(value, most);
      context.fillRect(left, top, edge(col + 1, wide) - left, edge(row + 1, high) - top);
    }),
  );
  return canvas;
}

/** The image with a map over it, or without, as a picture to save. */
export function pictureScene(pixels, { size, channels }, map, { paper }, most = largest(map), saved = MOST_SAVED) {
  const data = bytes(pixels);
  const count = Math.min(saved, size);
  const side = 384 / count;
  const items = [rect(0, 0, 384, 384, paper)];
  for (let row = 0; row < count; row += 1) {
    for (let col = 0; col < count; col += 1) {
      const at = Math.floor((row * size) / count) * size + Math.floor((col * size) / count);
      const colour = css((map ? paleAt : colourAt)(data, at, channels));
      items.push(rect(col * side, row * side, side, side, colour));
    }
  }
  if (map) {
    const [high, wide] = [384 / map.length, 384 / map[0].length];
    map.forEach((line, row) =>
      line.forEach((value, col) => items.push(rect(col * wide, row * high, wide, high, colourOf(value, most)))),
    );
  }
  return { width: 384, height: 384, items };
}
