// Why √d: the products of random vectors spread with their width, and softmax sharpens.

import { dot, normals, softmax, vector } from "./arithmetic.js";

const KEYS = 8;
const TRIALS = 200;

/** The mean variance of scores, and the mean of the largest weight, over many random draws. */
export function sharpness(width, divided, seed) {
  const draw = normals(seed);
  let [variance, largest] = [0, 0];
  let last = [];
  for (let trial = 0; trial < TRIALS; trial += 1) {
    const query = vector(width, draw);
    const scores = Array.from({ length: KEYS }, () => dot(query, vector(width, draw)));
    const used = divided ? scores.map((score) => score / Math.sqrt(width)) : scores;
    variance += used.reduce((sum, score) => sum + score * score, 0) / KEYS / TRIALS;
    last = softmax(used);
    largest += Math.max(...last) / TRIALS;
  }
  return { variance, largest, weights: last };
}

export const root = {
  title: "Why √d",
  text: "Query and keys are random, d numbers each. Their products have a variance of about d, so that one key gets nearly all of the weight. Divided by √d the variance is about 1, whatever the width.",
  controls: [
    { name: "width", label: "d", min: 1, max: 128, step: 1, value: 64 },
    { name: "divided", label: "Divide by √d", options: ["no", "yes"] },
  ],
  ask: {
    question: "Divided by √d, with d = 64: what is the variance of the scores, rounded to a whole number?",
    number: 1,
    within: 0.2,
  },
  after: "And a softmax that is not saturated still passes a gradient.",
  run({ width, divided }, seed) {
    const found = sharpness(width, divided === "yes", seed);
    return {
      rows: [
        { name: "variance of the scores", values: [found.variance] },
        { name: "largest weight, mean", values: [found.largest] },
        { name: "weights, once", values: found.weights },
      ],
    };
  },
};
