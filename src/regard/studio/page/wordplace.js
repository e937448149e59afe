// Where points and labels of a map of words stand.

const FONT = "12px system-ui, sans-serif";
const LINE = 15; // the height of a label
const GAP = 3;
const MARGIN = 36;
const widths = new Map();
let context = null;

/** The part of the map that shows all points: a point [x, y] is drawn at left + scale · x,
 * top − scale · y.
 */
export function fitting(points, width, height) {
  let [low, high] = [
    [Infinity, Infinity],
    [-Infinity, -Infinity],
  ];
  for (const point of points) {
    low = low.map((value, axis) => Math.min(value, point[axis]));
    high = high.map((value, axis) => Math.max(value, point[axis]));
  }
  const span = [0, 1].map((axis) => high[axis] - low[axis] || 1);
  const scale = Math.min((width - 2 * MARGIN) / span[0], (height - 2 * MARGIN) / span[1]);
  const left = width / 2 - (scale * (low[0] + high[0])) / 2;
  const top = height / 2 + (scale * (low[1] + high[1])) / 2;
  return { scale, left, top, least: scale };
}

export function placed([x, y], { scale, left, top }) {
  return [left + scale * x, top - scale * y];
}

/** The word whose point is nearest to a place, if it is within reach. */
export function nearest(found, view, [x, y], reach) {
  let [best, word] = [reach, ""];
  found.points.forEach((point, at) => {
    const [px, py] = placed(point, view);
    const distance = Math.hypot(px - x, py - y);
    if (distance < best) [best, word] = [distance, found.words[at]];
  });
  return word;
}

function widthOf(word) {
  if (!widths.has(word)) {
    context ??= document.createElement("canvas").getContext("2d");
    context.font = `600 ${FONT}`;
    widths.set(word, context.measureText(word).width);
  }
  return widths.get(word);
}

/** Labels for as many words as have room, the first ones first: none overlaps another. A label stands
 * above its point, or else below it.
 */
export function labels(words, width, height) {
  const taken = new Map(); // boxes by the cells of a grid that they touch
  const made = [];
  for (const { word, at, lit } of words) {
    const half = widthOf(word) / 2 + GAP;
    const x = Math.min(width - half, Math.max(half, at[0]));
    for (const y of [at[1] - 6, at[1] + LINE]) {
      const box = { left: x - half, right: x + half, top: y - LINE + 3, bottom: y + 4 };
      if (box.top < 0 || box.bottom > height || !isFree(box, taken)) continue;
      for (const cell of cells(box)) taken.set(cell, [...(taken.get(cell) ?? []), box]);
      made.push({ word, x, y, lit: Boolean(lit) });
      break;
    }
  }
  return made;
}

function isFree(box, taken) {
  return cells(box).every((cell) =>
    (taken.get(cell) ?? []).every(
      (other) =>
        box.right <= other.left || box.left >= other.right || box.bottom <= other.top || box.top >= other.bottom,
    ),
  );
}

function cells({ left, right, top, bottom }) {
  const found = [];
  for (let x = Math.floor(left / 64); x <= Math.floor(right / 64); x += 1) {
    for (let y = Math.floor(top / 32); y <= Math.floor(bottom / 32); y += 1) found.push(`${x},${y}`);
  }
  return found;
}
