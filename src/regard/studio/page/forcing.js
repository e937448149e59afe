// Forcing: one position of the output is made to look at some source tokens only, and the rest of
// the sentence is decoded again from there.

import { button, h, redraw, segmented } from "./dom.js";
import { whatChanged } from "./effect.js";
import { choice, rowLabel, sides } from "./labelled.js";
import { LET_GO } from "./state.js";

/** The panel beside a matrix, in which it chooses its cells. */
export function forcing(session, matrix) {
  const { store } = session;
  const root = h("section", { class: "forcing", "aria-label": "Where a token has to look", hidden: true });
  let shown = null; // what the matrix shows
  let draft = null; // {of, row, pieces, lookers} while one chooses, of a result

  /** Recurrent decoders do not count positions, so none of theirs can be forced. */
  const possible = () => store.state.kind === "cross" && session.run.kind === "transformer";

  function begin(row, pieces) {
    const options = whose();
    const single = store.state.layer >= 0;
    const lookers = options[single ? 0 : options.length - 1][0];
    draft = { of: session.result.key, row, pieces: new Set(pieces), lookers };
    matrix.choosing = { toggle, done, cancel };
    // Positions are of pieces, so they are what is shown.
    store.set({ words: false, row, col: pieces[0] });
    draw();
    matrix.frame.focus();
  }

  function toggle(_, col) {
    const piece = shown.colPiece[col];
    if (!draft.pieces.delete(piece)) draft.pieces.add(piece);
    draw();
  }

  function done() {
    if (!draft.pieces.size) return;
    const { row, lookers } = draft;
    const look = [...draft.pieces].sort(upwards);
    const { ids } = session.result.trace.output;
    cancel();
    store.set({ look, held: ids.slice(0, row), lookers, row, col: look[0] });
  }

  function cancel() {
    draft = null;
    matrix.choosing = null;
    draw();
  }

  /** Which heads may be made to look: those that are shown, their layer, all. */
  function whose() {
    const { layers, head } = choice(store.state, session.result.trace);
    const [layer] = layers;
    return [
      layers.length === 1 && head >= 0 && [`cross.${layer}.${head}`, "this one"],
      layers.length === 1 && [`cross.${layer}`, `all of layer ${layer + 1}`],
      ["cross", "all"],
    ].filter(Boolean);
  }

  function update(spec) {
    shown = spec;
    if (draft && (store.state.words || !possible() || draft.of !== session.result.key)) cancel();
    else draw();
  }

  function draw() {
    const { look, held } = store.state;
    const { trace } = session.result;
    root.hidden = !trace || !(draft || look.length);
    const [row, pieces] = draft ? [draft.row, [...draft.pieces].sort(upwards)] : [held.length, look];
    mark(root.hidden ? -1 : row, pieces);
    if (root.hidden) return;
    const [rows, cols] = sides("cross", trace, rowLabel({ ...store.state, kind: "cross" }, trace));
    const names = pieces.map((piece) => quoted(cols.pieces[piece]));
    redraw(root, null, draft ? chooser(rows.pieces[row], names) : outcome(row, rows.pieces[row], names));
  }

  function mark(row, pieces) {
    const { kind, words } = store.state;
    if (!shown) return;
    const at = kind === "cross" && !words ? shown.rowPiece.indexOf(row) : -1;
    const cols = pieces.map((piece) => shown.colPiece.indexOf(piece)).filter((col) => col >= 0);
    matrix.mark(at < 0 ? [] : cols.map((col) => [at, col]));
  }

  function chooser(name, names) {
    return [
      h("h3", {}, "Where should ", quoted(name), " look?"),
      h("p", {}, names.length ? joined(names) : h("span", { class: "muted" }, "No token is chosen yet.")),
      segmented("Heads", whose(), draft.lookers, (lookers) => {
        draft.lookers = lookers;
      }),
      h(
        "p",
        { class: "muted small" },
        "Click source tokens in the matrix, or move there with the arrows and press Space. Their weights are scaled to sum to 1, all others are 0.",
      ),
      h(
        "div",
        { class: "choices" },
        button("Look only here", done, { disabled: !names.length }),
        button("Cancel", cancel, { class: "quiet" }),
      ),
    ];
  }

  function outcome(row, name, names) {
    const { result } = session;
    return [
      h(
        "p",
        { class: "small" },
        `${spelled(store.state.lookers)} looked only at `,
        joined(names),
        ` to predict token ${row + 1}, now `,
        quoted(name),
        ".",
      ),
      result.usual ? whatChanged(result) : h("p", { class: "muted" }, "…"),
      h("div", { class: "choices" }, button("Undo", () => store.set(LET_GO))),
    ];
  }

  return { root, begin, cancel, possible, update, choosing: () => draft !== null };
}

const upwards = (a, b) => a - b;
const quoted = (name) => h("bdi", { class: "named" }, name ?? "·");

function joined(names) {
  return names.flatMap((name, at) => (at ? [at === names.length - 1 ? " and " : ", ", name] : [name]));
}

/** "cross.1.3" in words. */
function spelled(lookers) {
  const [, layer, head] = lookers.split(".").map(Number);
  if (layer === undefined) return "All heads of cross attention";
  return head === undefined ? `All heads of layer ${layer + 1}` : `Head ${head + 1} of layer ${layer + 1}`;
}
