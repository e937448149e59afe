// The experiments of the page compute what they say.

import assert from "node:assert/strict";
import { test } from "node:test";

const folder = new URL("../../src/regard/studio/page/blocks/", import.meta.url);
const { normals, vector, times, plus, normalised } = await import(new URL("arithmetic.js", folder));
const { collapse } = await import(new URL("collapse.js", folder));
const { travel } = await import(new URL("depth.js", folder));
const { derivatives } = await import(new URL("unrolled.js", folder));
const { sharpness } = await import(new URL("root.js", folder));
const { smoothed } = await import(new URL("kernel.js", folder));
const { curve } = await import(new URL("activations.js", folder));

const close = (one, other, within = 1e-9) => assert.ok(Math.abs(one - other) <= within, `${one} ${other}`);

test("two linear layers are one, and with a ReLU between them they are not", () => {
  const differences = (between) => collapse.run({ between }, 3).rows[2].values.map(Math.abs);
  assert.ok(Math.max(...differences("nothing")) < 1e-12);
  assert.ok(Math.max(...differences("ReLU")) > 0.01);
});

test("a gradient is the slope of the end, in its own direction", () => {
  for (const way of ["plain", "with residual", "residual and norm"]) {
    const { gradients, slope } = checked(way);
    close(gradients, slope, 1e-4 * Math.max(1, slope));
  }
});

/** The gradient's size at the first layer, and the same by differences. */
function checked(way) {
  const width = 24;
  const [layers, gain, seed] = [3, 0.8, 5];
  const draw = normals(seed);
  const weights = Array.from({ length: layers }, () =>
    Array.from({ length: width }, () => Array.from({ length: width }, () => (gain / Math.sqrt(width)) * draw())),
  );
  const start = vector(width, draw);
  const forward = (x) => {
    let state = x;
    for (const weight of weights) {
      const given = way === "residual and norm" ? normalised(state) : state;
      const update = times(weight, given).map(Math.tanh);
      state = way === "plain" ? update : plus(state, update);
    }
    return state.reduce((sum, each) => sum + (each * each) / 2, 0);
  };
  const tiny = 1e-5;
  const slopes = start.map((_, at) => {
    const moved = (by) => start.map((each, place) => (place === at ? each + by : each));
    return (forward(moved(tiny)) - forward(moved(-tiny))) / (2 * tiny);
  });
  const slope = Math.sqrt(slopes.reduce((sum, each) => sum + each * each, 0)) / Math.sqrt(2 * forward(start));
  return { gradients: travel(way, layers, gain, seed).gradients[0], slope };
}

test("plain layers lose the gradient, residuals keep it", () => {
  assert.ok(travel("plain", 40, 0.5, 1).gradients[0] < 1e-9);
  assert.ok(travel("with residual", 40, 0.5, 1).gradients[0] > 1);
});

test("derivatives of a linear RNN are powers of its weight", () => {
  derivatives("linear", 0.5, 4, 1).forEach((each, at) => close(each, 0.5 ** at));
  assert.ok(derivatives("linear", 1.3, 50, 1).at(-1) > 1e5);
  assert.ok(derivatives("tanh", 0.7, 50, 1).at(-1) < 1e-6);
  assert.ok(derivatives("gated", 0.7, 20, 1).at(-1) > derivatives("tanh", 0.7, 20, 1).at(-1));
});

test("scores of random vectors vary as much as they are wide", () => {
  const found = sharpness(64, false, 1);
  assert.ok(Math.abs(found.variance - 64) < 8);
  assert.ok(found.largest > 0.85);
  close(sharpness(64, true, 1).variance, found.variance / 64);
});

test("a wide kernel takes the mean, a narrow one the nearest point", () => {
  const [keys, values] = [[-1, 0, 1], [3, 5, 10]];
  close(smoothed(0.2, keys, values, 1000), 6, 1e-3);
  close(smoothed(0.2, keys, values, 0.05), 5, 1e-3);
});

test("slopes are slopes", () => {
  assert.equal(Math.max(...curve("sigmoid").slopes), 0.25);
  const gap = 10 / 80;
  for (const name of ["sigmoid", "tanh", "SiLU"]) {
    const { values, slopes } = curve(name);
    for (let at = 1; at < 80; at += 1) close((values[at + 1] - values[at - 1]) / (2 * gap), slopes[at], 0.02);
  }
});
