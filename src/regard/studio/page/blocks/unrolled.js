// An RNN unrolled: the derivative of its state with respect to the first one is a product.

import { normals } from "./arithmetic.js";

/** |∂h_t / ∂h_0| for one number as a state, after each step. */
export function derivatives(cell, weight, steps, seed) {
  const draw = normals(seed);
  let h = 0;
  let size = 1;
  const found = [1];
  for (let step = 0; step < steps; step += 1) {
    const input = 0.3 * draw();
    if (cell === "linear") {
      h = weight * h + input;
      size *= weight;
    } else if (cell === "tanh") {
      h = Math.tanh(weight * h + input);
      size *= weight * (1 - h * h);
    } else {
      // Gated: z keeps the old state, and here does not depend on it.
      const z = 1 / (1 + Math.exp(-3 - draw()));
      const candidate = Math.tanh(weight * h + input);
      h = z * h + (1 - z) * candidate;
      size *= z + (1 - z) * weight * (1 - candidate * candidate);
    }
    found.push(Math.abs(size));
  }
  return found;
}

export const unrolled = {
  title: "An RNN, unrolled",
  text: "One number as a state, h ← f(w h + x). How much of the first state is left after t steps? The derivative is a product of as many factors as there are steps.",
  controls: [
    { name: "cell", label: "Cell", options: ["linear", "tanh", "gated"] },
    { name: "weight", label: "w", min: 0.5, max: 1.5, step: 0.05, value: 0.9 },
    { name: "steps", label: "Steps", min: 1, max: 60, step: 1, value: 40 },
  ],
  ask: { question: "Linear, w = 0.5: what is the derivative after 3 steps?", number: 0.125, within: 0.0006 },
  after: "0.5³. Below 1 it vanishes, above 1 it explodes; a gate close to 1 keeps it.",
  run({ cell, weight, steps }, seed) {
    return {
      lines: [{ name: "|∂h_t / ∂h_0|", values: derivatives(cell, weight, steps, seed) }],
      across: "step",
      log: true,
    };
  },
};
