// Attention as a kernel smoother: a weighted mean of the values whose keys are near the query.

import { normals, softmax } from "./arithmetic.js";

const AREA = { points: 9, from: -3, to: 3, steps: 60 };

/** Σ α_i y_i, with α = softmax(−(x − x_i)² / 2 w²). */
export function smoothed(x, keys, values, width) {
  const weights = softmax(keys.map((key) => -((x - key) ** 2) / (2 * width * width)));
  return weights.reduce((sum, weight, at) => sum + weight * values[at], 0);
}

export const kernel = {
  title: "Attention is a kernel smoother",
  text: "Nine points have a key (across) and a value (up). For each query the mean of all values is taken, the nearer the key the heavier: Σ α_i y_i, as in the mean of a Gaussian process. Attention learns what near means.",
  controls: [{ name: "width", label: "Width of the kernel", min: 0.05, max: 5, step: 0.05, value: 0.5 }],
  ask: {
    question: "Make the kernel very wide. What does the line become?",
    options: ["Steps from point to point", "The mean of all values", "Zero"],
    right: 1,
  },
  after: "Very narrow, it becomes the value of the nearest point: softmax then chooses instead of mixing.",
  run({ width }, seed) {
    const draw = normals(seed);
    const gap = (AREA.to - AREA.from) / (AREA.points - 1);
    const keys = Array.from({ length: AREA.points }, (_, at) => AREA.from + at * gap);
    const values = keys.map((key) => Math.sin(1.5 * key) + 0.25 * draw());
    const queries = Array.from(
      { length: AREA.steps + 1 },
      (_, at) => AREA.from + (at * (AREA.to - AREA.from)) / AREA.steps,
    );
    return {
      lines: [{ name: "Σ α y", values: queries.map((x) => smoothed(x, keys, values, width)) }],
      points: keys.map((key, at) => [(key - AREA.from) / (AREA.to - AREA.from), values[at]]),
      across: "query",
    };
  },
};
