// Vectors, matrices and random numbers of the experiments: exact in double precision, and the same
// for the same seed.

/** Numbers from N(0, 1), always the same ones for a seed (mulberry32 and Box–Muller). */
export function normals(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

export const vector = (size, draw) => Array.from({ length: size }, draw);

export const matrix = (rows, cols, draw, scale = 1) =>
  Array.from({ length: rows }, () => Array.from({ length: cols }, () => scale * draw()));

export const dot = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);

export const times = (weights, x) => weights.map((row) => dot(row, x));

export const transposed = (rows) => rows[0].map((_, at) => rows.map((row) => row[at]));

export const product = (one, other) => {
  const columns = transposed(other);
  return one.map((row) => columns.map((column) => dot(row, column)));
};

export const plus = (one, other) => one.map((value, at) => value + other[at]);

export const size = (x) => Math.sqrt(dot(x, x));

export function softmax(scores) {
  const most = Math.max(...scores);
  const found = scores.map((score) => Math.exp(score - most));
  const total = found.reduce((sum, each) => sum + each, 0);
  return found.map((each) => each / total);
}

/** Mean 0 and variance 1. */
export function normalised(x) {
  const mean = x.reduce((sum, each) => sum + each, 0) / x.length;
  const variance = x.reduce((sum, each) => sum + (each - mean) ** 2, 0) / x.length;
  return x.map((each) => (each - mean) / Math.sqrt(variance + 1e-5));
}
