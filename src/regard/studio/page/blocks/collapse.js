// Two linear layers are one: W₂(W₁x + b₁) + b₂ = (W₂W₁)x + (W₂b₁ + b₂), unless something is between.

import { matrix, normals, plus, product, times, vector } from "./arithmetic.js";

export const collapse = {
  title: "Two linear layers collapse into one",
  text: "Left: two layers, one after the other. Right: one layer with W₂W₁ and W₂b₁ + b₂. Put a ReLU between the two, and no single layer can do the same.",
  controls: [{ name: "between", label: "Between them", options: ["nothing", "ReLU"] }],
  ask: {
    question: "With nothing between them: how large is the largest difference, but for rounding?",
    number: 0,
    within: 1e-9,
  },
  after: "So a stack without activations is never more than one layer, however deep.",
  run({ between }, seed) {
    const draw = normals(seed);
    const [first, second] = [matrix(5, 3, draw), matrix(4, 5, draw)];
    const [b1, b2, x] = [vector(5, draw), vector(4, draw), vector(3, draw)];
    const hidden = plus(times(first, x), b1).map((each) => (between === "ReLU" ? Math.max(0, each) : each));
    const two = plus(times(second, hidden), b2);
    const one = plus(times(product(second, first), x), plus(times(second, b1), b2));
    return {
      rows: [
        { name: "two layers", values: two },
        { name: "one layer", values: one },
        { name: "difference", values: two.map((value, at) => value - one[at]) },
      ],
    };
  },
};
