// Weights with the labels they belong to, in words or pieces, as a matrix can show them.

import { END, NEXT, START, labelOf } from "./pieces.js";
import { headOf, meanOf, mergeWords, outsideMass, rollout, rowScales, withoutColumns } from "./weights.js";

export const KINDS = [
  ["encoder", "Encoder", "Source tokens look at source tokens"],
  ["decoder", "Decoder", "Output tokens look at earlier output tokens"],
  ["cross", "Cross", "Output tokens look at source tokens"],
];

export const MEASURES = [
  ["weights", "weight", "How much each row looks at each column"],
  [
    "norm",
    "contribution",
    "How large what a row takes from a column is: weight × value × output matrix; each row is scaled to sum to 1",
  ],
];

/** What a row does to a column, in words. */
export function verb({ measure }) {
  return measure === "norm" ? "takes from" : "looks at";
}

/** The labels of pieces. A dot stands before one that continues a word. */
function pieceLabels({ pieces, word_of: wordOf }) {
  return pieces.map((piece, at) => labelOf(piece, wordOf[at] >= 0 && wordOf[at] === wordOf[at - 1]));
}

/** The rows or columns of one side: labels of pieces and of words, each piece's word (-1 for the
 * marks of start and end), and the words that training never saw.
 */
function sourceSide({ source, marked }) {
  const ends = marked ? [] : [END];
  return {
    pieces: [...pieceLabels(source), ...ends],
    words: source.words,
    wordOf: [...source.word_of, ...ends.map(() => -1)],
    unseen: new Set(source.unseen ?? []),
  };
}

/** An output as it is predicted: row i is the position that predicts token i. */
function predicts({ output, marked }) {
  // After its text a language model goes on; a translation ends.
  const last = marked ? NEXT : END;
  return { pieces: [...pieceLabels(output), last], words: output.words, wordOf: [...output.word_of, -1] };
}

/** The same positions by the token each has read, one earlier; also for the columns of a decoder. */
function read({ output }) {
  return { pieces: [START, ...pieceLabels(output)], words: output.words, wordOf: [-1, ...output.word_of] };
}

export function sides(kind, trace, label) {
  // A model of one stack reads its text as it is, with the marks around it.
  if (kind === "encoder" || !trace.output) return [sourceSide(trace), sourceSide(trace)];
  const rows = label === "read" ? read(trace) : predicts(trace);
  return [rows, kind === "decoder" ? read(trace) : sourceSide(trace)];
}

/** Pieces put together to words: their labels, and each piece's place among them. The marks of start
 * and end stand for themselves, or are left out (-1).
 */
function asWords({ pieces, words, wordOf }, marks) {
  const labels = [];
  const places = new Map();
  const placeOf = pieces.map((piece, at) => {
    const word = wordOf[at];
    if (word < 0) return marks ? labels.push(piece) - 1 : -1;
    // Bytes that are not text give fewer words than pieces.
    if (!places.has(word)) places.set(word, labels.push(words[word] ?? "·") - 1);
    return places.get(word);
  });
  return { labels, placeOf };
}

/** The state with a kind of attention that this model has: a link may be of another model. */
export function suited(state, trace) {
  if (trace.heads[state.kind]?.length) return state;
  const kind = KINDS.map(([each]) => each).find((each) => trace.heads[each]?.length);
  return kind ? { ...state, kind } : state;
}

/** The single head that aligns words best, where that was measured. */
export function bestHead(trace) {
  return trace.aligners.find((each) => each.head !== null) ?? null;
}

/** What aligns words best, a head or a mean of heads: the map that is shown first, here and by
 * `regard attend`.
 */
export function bestMap(trace, kind) {
  return kind === "cross" ? (trace.aligners[0] ?? null) : null;
}

/** What a map of `bestMap` is called. */
export function nameOfMap({ layer, head }) {
  if (layer === null) return "mean of all heads";
  return head === null ? `mean of layer ${layer + 1}` : `layer ${layer + 1}, head ${head + 1}`;
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
    const best = bestMap(trace, kind);
    if (best) {
      const layers = best.layer === null ? every : [best.layer];
      return { layers, head: best.head ?? -1, title: `${nameOfMap(best)}, which aligns best` };
    }
    const last = Math.max(0, count - 2);
    return { layers: [last], head: -1, title: `mean of layer ${last + 1}` };
  }
  const at = Math.min(layer, count - 1);
  const known = Math.min(head, trace.heads[kind][at] - 1);
  const which = known < 0 ? "mean" : `head ${known + 1}`;
  return { layers: [at], head: known, title: `layer ${at + 1}, ${which}` };
}

/** The one head that keys and numbers mean: the one that is shown, or where a mean is shown, a head of
 * its (last) layer; where words are aligned best, the head that does.
 */
export function shownHead(state, trace) {
  const { layers, head } = choice(state, trace);
  if (!layers.length) return { layer: 0, head: 0 };
  const best = state.layer === -1 && state.kind === "cross" ? bestHead(trace) : null;
  if (best) return { layer: best.layer, head: best.head };
  return { layer: layers.at(-1), head: Math.max(0, head) };
}

/** The weights that were chosen, over pieces. */
export async function chosenWeights(session, result, state, { layers, head, rolled }) {
  const found = await Promise.all(
    layers.map((layer) => session.layer(result, state.kind, layer, state.measure)),
  );
  const chosen = found.map((each) => headOf(each, head));
  // The mean of all heads is not the mean of the layers, where some have lost heads.
  const counts = found.map((each) => (state.measure === "norm" ? 1 : each.heads));
  return rolled ? rollout(chosen) : meanOf(chosen, counts);
}

/** How rows are labelled: as chosen, or as suits the shown map. */
export function rowLabel(state, trace) {
  if (state.label !== "auto") return state.label;
  return (state.layer === -1 && bestMap(trace, state.kind)?.reading) || "predicts";
}

/** What a Matrix shows. `rowPiece` and `colPiece` lead from its cells to pieces, `rowOf` and `colOf`
 * back (-1 for a piece that is not shown).
 */
export function spec(weights, state, trace) {
  const [rows, cols] = sides(state.kind, trace, rowLabel(state, trace));
  const marks = new Set(cols.wordOf.flatMap((word, at) => (word < 0 ? [at] : [])));
  const kept = cols.pieces.map((_, at) => at).filter((at) => state.specials || !marks.has(at));
  let matrix = kept.length < cols.pieces.length ? withoutColumns(weights, marks) : weights;
  let [rowLabels, rowOf] = [rows.pieces, rows.pieces.map((_, at) => at)];
  let [colLabels, colOf] = [kept.map((at) => cols.pieces[at]), cols.pieces.map((_, at) => kept.indexOf(at))];
  if (state.words) {
    const [across, down] = [asWords(rows, state.specials), asWords(cols, state.specials)];
    matrix = mergeWords(matrix, across.placeOf, kept.map((at) => down.placeOf[at]));
    [rowLabels, rowOf, colLabels, colOf] = [across.labels, across.placeOf, down.labels, down.placeOf];
  }
  const causal = state.kind === "decoder";
  const [rowPiece, colPiece] = [firstOf(rowLabels, rowOf), firstOf(colLabels, colOf)];
  const which = (pieces, holds) => new Set(pieces.flatMap((piece, at) => (holds(piece) ? [at] : [])));
  const mark = (side) => (piece) => side.wordOf[piece] < 0;
  const unseen = (side) => (piece) => side.unseen?.has(side.words[side.wordOf[piece]]);
  return {
    ...matrix,
    ...{ rowLabels, colLabels, rowPiece, colPiece, rowOf, colOf },
    scales: rowScales(matrix, state.scale),
    dim: outsideMass(matrix, state.mass / 100),
    // No piece of this row may look at any piece of this column: they come later.
    masked: causal ? (row, col) => rowOf.lastIndexOf(row) < colPiece[col] : null,
    faintRows: which(rowPiece, mark(rows)),
    faintCols: which(colPiece, mark(cols)),
    unseenRows: which(rowPiece, unseen(rows)),
    unseenCols: which(colPiece, unseen(cols)),
  };
}

/** The first piece of each label. */
const firstOf = (labels, placeOf) => labels.map((_, at) => placeOf.indexOf(at));

/** The cell of a spec in which a piece of the rows and one of the columns meet. */
export function cellOf(shown, { row, col }) {
  return [shown.rowOf[row] ?? -1, shown.colOf[col] ?? -1];
}
