// Examples to work by hand: matrices that are given, and the steps from them to a result. Vectors are
// rows. Plain arithmetic, tested without a browser.

import { linear, recurrentStep, scaledDotProduct } from "./formula.js";
import { softmax } from "./weights.js";

export const transposed = (matrix) => matrix[0].map((_, col) => matrix.map((line) => line[col]));

export const times = (left, right) =>
  left.map((line) => right[0].map((_, col) => line.reduce((sum, value, at) => sum + value * right[at][col], 0)));

/** Each row of vectors through a matrix that stands on their left: W x. */
const through = (matrix, vectors) => times(vectors, transposed(matrix));

const scaledBy = (matrix, number) => matrix.map((line) => line.map((value) => value / number));

/** {Q, K, V} → what every step of scaled dot-product attention gives. */
export function attention({ Q, K, V }, causal = false) {
  const scores = times(Q, transposed(K));
  const scaled = scaledBy(scores, Math.sqrt(K[0].length)).map((line, i) =>
    line.map((value, j) => (causal && j > i ? -Infinity : value)),
  );
  const weights = scaled.map(softmax);
  return { scores, scaled, weights, output: times(weights, V) };
}

export const EXAMPLES = {
  attention: {
    title: "attention",
    about: "Three tokens, vectors of four numbers.",
    formula: scaledDotProduct,
    masked: true,
    given: {
      Q: [
        [1, 0, 1, 0],
        [0, 2, 0, 1],
        [1, 1, 0, 0],
      ],
      K: [
        [1, 1, 0, 0],
        [0, 1, 1, 0],
        [1, 0, 1, 1],
      ],
      V: [
        [1, 0, 2, 0],
        [0, 3, 0, 1],
        [2, 1, 0, 1],
      ],
    },
    steps: (given, causal) => {
      const { scores, scaled, weights, output } = attention(given, causal);
      return [
        ["S", "S = QKᵀ", "Row i, column j: the dot product of query i and key j.", scores],
        ["S/\\sqrt{d}", "S / √d", "Divided by the square root of the width, here √4 = 2.", scaled],
        ["A", "A = softmax by row", "e to each number, divided by the sum of its row.", weights],
        ["AV", "A V", "Each row is a mean of the rows of V, by the weights.", output],
      ];
    },
  },
  query: {
    title: "one query",
    about: "A decoder’s state y asks three source vectors x: from the three projections to the vector z it gets.",
    formula: scaledDotProduct,
    given: {
      x: [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [1, 0, 0, 0],
      ],
      y: [[1, -1, 0]],
      "W^K": [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
      ],
      "W^V": [
        [1, 0, 0, 0],
        [0, 1, 1, 0],
      ],
      "W^Q": [
        [0, 1, 0],
        [1, 0, 0],
        [0, 0, 1],
        [1, 0, -1],
      ],
    },
    steps: (given) => {
      const [K, V] = [through(given["W^K"], given.x), through(given["W^V"], given.x)];
      const Q = through(given["W^Q"], given.y);
      const { scores, scaled, weights, output } = attention({ Q, K, V });
      return [
        ["K", "k", "The key matrix times each x: a row for each source vector.", K],
        ["V", "v", "The value matrix times each x: what each of them contributes.", V],
        ["q", "q", "The query matrix times y: what is asked for.", Q],
        ["qK^\\top", "q·k", "How well each key answers.", scores],
        ["qK^\\top/\\sqrt{d}", "q·k / √d", "Keys have four numbers: √4 = 2.", scaled],
        ["a", "softmax", "Weights that add up to 1.", weights],
        ["z", "z", "The mean of the values, by the weights.", output],
      ];
    },
  },
  recurrent: {
    title: "a recurrent step",
    about: "What a recurrent network knows after it has read x: it takes h of the previous step and gives h of this step and an output. No biases.",
    formula: recurrentStep,
    given: {
      U: [
        [1, 0],
        [0, 1],
        [-1, 0],
      ],
      V: [
        [0, 1, 0],
        [0, 0, 1],
        [1, 0, 0],
      ],
      W: [[1, 0, -1]],
      "h_{t-1}": [[1, 0, 0]],
      x_t: [[1, 0]],
    },
    steps: (given) => {
      const [kept, read] = [through(given.V, given["h_{t-1}"]), through(given.U, given.x_t)];
      const state = [kept[0].map((value, at) => Math.max(0, value + read[0][at]))];
      return [
        ["Vh_{t-1}", "V h", "What is kept of the previous step.", kept],
        ["Ux_t", "U x", "What is read.", read],
        ["h_t", "ReLU of the sum", "Numbers below 0 become 0.", state],
        ["o_t", "W h", "The output, from the new state.", through(given.W, state)],
      ];
    },
  },
  shapes: {
    title: "shapes",
    about: "Two words, embeddings of four numbers, queries and keys of three. n words make n × n weights: two make 4, four would make 16.",
    formula: linear,
    given: {
      X: [
        [1, 0, 2, 1],
        [0, 1, 1, -1],
      ],
      "W^Q": [
        [1, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
        [0, 1, 1],
      ],
      "W^K": [
        [0, 1, 0],
        [1, 0, 1],
        [0, 0, 1],
        [1, 1, 0],
      ],
    },
    steps: ({ X, "W^Q": forQueries, "W^K": forKeys }) => {
      const [Q, K] = [times(X, forQueries), times(X, forKeys)];
      const scores = times(Q, transposed(K));
      const weights = scaledBy(scores, Math.sqrt(K[0].length)).map(softmax);
      return [
        ["Q", "Q", "X times the query matrix. 2 × 4 times 4 × 3 is 2 × 3: a row for each word.", Q],
        ["K", "K", "X times the key matrix, likewise.", K],
        ["S", "S = QKᵀ", "2 × 3 times 3 × 2 is 2 × 2: a score for each pair of words.", scores],
        ["A", "softmax of S / √3 by row", "One weight for each score.", weights],
      ];
    },
  },
};
