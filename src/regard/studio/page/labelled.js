// Weights with the labels they belong to, in words or pieces, as a matrix can show them.

import { END, START, readable } from "./pieces.js";
import { headOf, largestMass, meanOf, mergeWords, rollout, rowScales, withoutColumns } from "./weights.js";

export const KINDS = [
  ["encoder", "Encoder", "Source tokens look at source tokens"],
  ["decoder", "Decoder", "Output tokens look at earlier output tokens"],
  ["cross", "Cross", "Output tokens look at source tokens"],
];

export const MEASURES = [
  ["weights", "weights", "How much each row looks at each column"],
  [
    "norm",
    "what they carry",
    "The size of what each weight carries: weight × value × output matrix; each row is scaled to sum to 1",
  ],
];

/** What a row does to a column, in words. */
export function verb({ measure }) {
  return measure === "norm" ? "takes from" : "looks at";
}

/** The rows or columns of one side: labels of pieces and of words, and each piece's word. */
function sourceSide({ source }) {
  return {
    pieces: [...source.pieces.map(readable), END],
    words: source.words,
    wordOf: [...source.word_of, -1],
  };
}

/** An output as it is predicted: row i is the position that predicts token i. */
function predicts({ output }) {
  return {
    pieces: [...output.pieces.map(readable), END],
    words: output.words,
    wordOf: [...output.word_of, -1],
  };
}

/** The same positions by the token each has read, one earlier; also for the columns of a decoder. */
function read({ output }) {
  return {
    pieces: [START, ...output.pieces.map(readable)],
    words: output.words,
    wordOf: [-1, ...output.word_of],
  };
}

export function sides(kind, trace, label) {
  if (kind === "encoder") return [sourceSide(trace), sourceSide(trace)];
  const rows = label === "read" ? read(trace) : predicts(trace);
  return [rows, kind === "decoder" ? read(trace) : sourceSide(trace)];
}

/** The single head that aligns words best, where that was measured. */
export function bestHead(trace) {
  return trace.aligners.find((each) => each.head !== null) ?? null;
}

/** Which weights a state asks for: {layers, head, title}. */
export function choice(state, trace) {
  const { kind, layer, head } = state;
  const count = trace.heads[kind]?.length ?? 0;
  const every = Array.from({ length: count }, (_, each) => each);
  if (!count) return { layers: [], head: -1, title: "no attention of this kind" };
  if (layer === -2) return { layers: every, head: -1, title: "mean of all heads" };
  if (layer === -3 && kind !== "cross") {
    return { layers: every, head: -1, rolled: true, title: "rollout through all layers" };
  }
  if (layer < 0) {
    const named = kind === "cross" ? bestHead(trace) : null;
    if (named) {
      const title = `layer ${named.layer + 1}, head ${named.head + 1}, which aligns best`;
      return { layers: [named.layer], head: named.head, title };
    }
    const last = Math.max(0, count - 2);
    return { layers: [last], head: -1, title: `mean of layer ${last + 1}` };
  }
  const at = Math.min(layer, count - 1);
  const known = Math.min(head, trace.heads[kind][at] - 1);
  const which = known < 0 ? "mean" : `head ${known + 1}`;
  return { layers: [at], head: known, title: `layer ${at + 1}, ${which}` };
}

/** The weights that were chosen, over pieces. */
export async function chosenWeights(session, result, state, { layers, head, rolled }) {
  const found = await Promise.all(
    layers.map((layer) => session.layer(result, state.kind, layer, state.measure)),
  );
  const chosen = found.map((each) => headOf(each, head));
  return rolled ? rollout(chosen) : meanOf(chosen);
}

/** How rows are labelled: as chosen, or as suits the shown head. */
export function rowLabel(state, trace) {
  if (state.label !== "auto") return state.label;
  const named = state.kind === "cross" && state.layer === -1 ? bestHead(trace) : null;
  return named?.reading ?? "predicts";
}

/** What a Matrix shows. `rowPiece` and `colPiece` lead back from its cells to pieces. */
export function spec(weights, state, trace) {
  const [rows, cols] = sides(state.kind, trace, rowLabel(state, trace));
  let matrix = weights;
  let rowLabels = rows.pieces;
  let colLabels = cols.pieces;
  let rowPiece = rows.pieces.map((_, at) => at);
  let colPiece = cols.pieces.map((_, at) => at);
  const special = new Set(cols.wordOf.flatMap((word, at) => (word < 0 ? [at] : [])));
  if (!state.specials) {
    matrix = withoutColumns(matrix, special);
    colPiece = colPiece.filter((at) => !special.has(at));
    colLabels = colPiece.map((at) => cols.pieces[at]);
  }
  if (state.words) {
    matrix = mergeWords(
      matrix,
      rows.wordOf,
      colPiece.map((at) => cols.wordOf[at]),
    );
    // Bytes that are not text give fewer words than pieces.
    const labels = (count, words) => Array.from({ length: count }, (_, word) => words[word] ?? "·");
    rowLabels = labels(matrix.rows, rows.words);
    colLabels = labels(matrix.cols, cols.words);
    rowPiece = rowLabels.map((_, word) => rows.wordOf.indexOf(word));
    colPiece = colLabels.map((_, word) => cols.wordOf.indexOf(word));
  }
  matrix = largestMass(matrix, state.mass / 100);
  const faint = (pieces, wordOf) => new Set(pieces.flatMap((piece, at) => (wordOf[piece] < 0 ? [at] : [])));
  return {
    ...matrix,
    rowLabels,
    colLabels,
    rowPiece,
    colPiece,
    scales: rowScales(matrix, state.scale),
    faintRows: state.words ? undefined : faint(rowPiece, rows.wordOf),
    faintCols: state.words ? undefined : faint(colPiece, cols.wordOf),
  };
}

/** The cell of a spec in which a piece of the rows and one of the columns meet. */
export function cellOf(shown, trace, state) {
  const [rows, cols] = sides(state.kind, trace, rowLabel(state, trace));
  const find = (pieces, piece, side) => {
    if (piece < 0) return -1;
    const same = pieces.indexOf(piece);
    if (same >= 0 || !state.words) return same;
    return side.wordOf[piece] ?? -1;
  };
  return [find(shown.rowPiece, state.row, rows), find(shown.colPiece, state.col, cols)];
}
