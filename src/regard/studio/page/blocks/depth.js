// A signal on its way through many layers, and its gradient on the way back.

import { matrix, normalised, normals, plus, size, times, transposed, vector } from "./arithmetic.js";

const WIDTH = 24;
const WAYS = {
  plain: (x, inner) => inner(x),
  "with residual": (x, inner) => plus(x, inner(x)),
  "residual and norm": (x, inner) => plus(x, inner(normalised(x))),
};

/** The size of a signal after each layer, and of a gradient that has size 1 at the last. */
export function travel(way, layers, gain, seed) {
  const draw = normals(seed);
  const weights = Array.from({ length: layers }, () => matrix(WIDTH, WIDTH, draw, gain / Math.sqrt(WIDTH)));
  const states = [vector(WIDTH, draw)];
  for (const weight of weights) {
    const inner = (x) => times(weight, x).map(Math.tanh);
    states.push(WAYS[way](states.at(-1), inner));
  }
  const last = size(states.at(-1));
  let gradient = states.at(-1).map((each) => each / last);
  const gradients = [size(gradient)];
  for (let layer = layers - 1; layer >= 0; layer -= 1) {
    gradient = back(way, weights[layer], states[layer], gradient);
    gradients.unshift(size(gradient));
  }
  return { signals: states.map(size), gradients };
}

/** The gradient before a layer, from the one after it. */
function back(way, weight, x, gradient) {
  const given = way === "residual and norm" ? normalised(x) : x;
  const slope = times(weight, given).map((each) => 1 - Math.tanh(each) ** 2);
  const through = times(
    transposed(weight),
    gradient.map((each, at) => each * slope[at]),
  );
  if (way === "plain") return through;
  return plus(gradient, way === "with residual" ? through : beforeNorm(x, through));
}

/** Through (x − μ) / σ: what is left is orthogonal to the constant and to x itself. */
function beforeNorm(x, gradient) {
  const even = normalised(x);
  const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length;
  const average = mean(gradient);
  const along = mean(gradient.map((each, at) => each * even[at]));
  const center = mean(x);
  const deviation = Math.sqrt(mean(x.map((each) => (each - center) ** 2)) + 1e-5);
  return gradient.map((each, at) => (each - average - even[at] * along) / deviation);
}

export const depth = {
  title: "Through fifty layers and back",
  text: "Each layer is tanh(W x) with random W. The line is the size of the signal after each layer; the other is the size of the gradient that comes back to it, which starts at the end with 1. The axis is logarithmic.",
  controls: [
    { name: "way", label: "Layers", options: Object.keys(WAYS) },
    { name: "layers", label: "How many", min: 1, max: 50, step: 1, value: 30 },
    { name: "gain", label: "Size of W", min: 0.2, max: 2, step: 0.1, value: 0.5 },
  ],
  ask: {
    question: "Plain layers of size 0.5: what happens to the gradient on its way to the first layer?",
    options: ["It vanishes", "It stays as it is", "It explodes"],
    right: 0,
  },
  after: "Each layer multiplies by about a half. With the residual there is a way past every layer.",
  run({ way, layers, gain }, seed) {
    const { signals, gradients } = travel(way, layers, gain, seed);
    return {
      lines: [
        { name: "signal", values: signals },
        { name: "gradient", values: gradients },
      ],
      across: "layer",
      log: true,
    };
  },
};
