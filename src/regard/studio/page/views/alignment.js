// Alignment: which token looks at which, as a matrix.

import { button, h, more, redraw, replace, segmented, select, slider, toggle } from "../dom.js";
import { forcing } from "../forcing.js";
import { heading, inks, legend } from "../frame.js";
import {
  KINDS,
  MEASURES,
  bestMap,
  cellOf,
  choice,
  chosenWeights,
  nameOfMap,
  rowLabel,
  shownHead,
  sides,
  spec,
  suited,
  verb,
} from "../labelled.js";
import { Matrix } from "../matrix.js";
import { summary } from "../weights.js";

const REASONS = {
  encoder: "Each row is a token of the text; its weights say which tokens its new vector is a mean of.",
  decoder:
    "Each row is a position; hatched cells are masked, since nothing may look ahead.",
  cross:
    "Each row is a token of the output; its weights say which tokens of the source the model looked at to predict it.",
};
const EXPLAINED = {
  encoder: "The stronger the colour, the more the token of this row looks at the token of that column.",
  decoder:
    "The stronger the colour, the more a position looks at that earlier token. Hatched cells lie ahead, where it may not look.",
  cross:
    "The stronger the colour, the more the model looked at that source token while it predicted this output token.",
};
const CAUTION = " Attention shows where information came from, not why.";
const CARRIED = {
  transformer: "‖weight × value × output matrix‖",
  recurrent: "‖weight × state of the encoder‖",
};
const COLOURED = { weights: "attention weight", norm: "contribution" };
const TOGETHER = " For several heads it is the size of the sum of their contributions.";

export function alignment(session) {
  const { store } = session;
  let drawn = "";
  let shown = null;
  const controls = h("div", { class: "controls" });
  const readout = h("div", { class: "readout", "aria-live": "polite" });
  const explain = h("p", { class: "muted small" });
  const explained = h("span", {}, EXPLAINED.cross, CAUTION);
  const matrix = new Matrix({
    label: "Attention weights",
    point: (row, col) => say(row, col),
    lock: (row, col) =>
      store.set({ row: row < 0 ? -1 : shown.rowPiece[row], col: col < 0 ? -1 : shown.colPiece[col] }),
    open: (row, col) => openNumbers(row, col),
  });
  const forced = forcing(session, matrix);
  const titled = h("span", {}, "Alignment");
  /** The state, with a kind of attention that the model has. */
  const suitedState = () => suited(store.state, session.result.trace);
  const tableBox = h("div", {
    class: "table-box",
    tabindex: 0,
    role: "region",
    "aria-label": "Weights as a table",
    hidden: true,
  });
  let asTable = false;

  const view = {
    name: "alignment",
    root: h("div", {}),
    caption,
    update,
    force: () => (forced.choosing() ? forced.cancel() : force(...matrix.cell())),
    scene: () => (shown ? matrix.scene(inks()) : null),
    table: () => (shown ? matrix.table() : null),
    legend: () => [["0", store.state.scale === "fixed" ? "1" : "row’s largest", COLOURED[store.state.measure]]],
    matrix,
  };
  replace(
    view.root,
    heading(view, titled, explained),
    controls,
    h(
      "div",
      { class: "matrix-and-side" },
      h("div", { class: "matrix-box" }, matrix.element, tableBox),
      h("aside", { class: "side-panel" }, forced.root, readout, explain),
    ),
  );

  function caption() {
    const { trace } = session.result;
    const state = suitedState();
    const norm = state.measure === "norm" ? ", contributions" : "";
    const held = state.look.length ? ", one row forced" : "";
    return `${state.kind} attention, ${choice(state, trace).title}${norm}${held}: ${trace.source.text}`;
  }

  async function update() {
    const { result } = session;
    replace(titled, session.translates ? "Alignment" : "Attention");
    if (!result.trace) {
      if (result.busy) return;
      [shown, drawn] = [null, ""];
      matrix.clear();
      replace(controls);
      replace(explain);
      replace(tableBox);
      replace(readout, h("p", { class: "muted" }, "Type a sentence to see its matrix."));
      return;
    }
    const state = suitedState();
    const relevant = ["kind", "layer", "head", "words", "label", "scale", "specials", "mass", "measure"];
    const key = [result.key, ...relevant.map((name) => state[name])].join("|");
    if (key === drawn) return;
    drawn = key;
    drawControls(result.trace);
    const chosen = choice(state, result.trace);
    if (!chosen.layers.length) {
      shown = null;
      replace(readout, h("p", { class: "muted" }, "This model has no such attention."));
      return;
    }
    const weights = await chosenWeights(session, result, state, chosen);
    if (key !== drawn) return;
    shown = spec(weights, state, result.trace);
    matrix.locked = cellOf(shown, state);
    replace(explained, EXPLAINED[state.kind], CAUTION);
    matrix.show(shown);
    forced.update(shown);
    drawSide(result.trace, chosen);
    say(...matrix.cell());
    drawTable();
  }

  function drawControls(trace) {
    const state = suitedState();
    const kinds = KINDS.filter(([kind]) => trace.heads[kind]?.length);
    redraw(
      controls,
      JSON.stringify([state.kind, trace.heads[state.kind]]),
      kinds.length > 1 &&
        segmented("Attention", kinds, state.kind, (kind) =>
          store.set({ kind, layer: -1, head: -1, row: -1, col: -1 }),
        ),
      select(
        "Head",
        headOptions(state, trace),
        `${state.layer}.${state.layer < 0 ? -1 : state.head}`,
        (value) => {
          const [layer, head] = value.split(".").map(Number);
          store.set({ layer, head });
        },
      ),
      segmented(
        "Tokens",
        [
          [true, "Words"],
          [false, "Pieces"],
        ],
        state.words,
        (words) => store.set({ words }),
      ),
      more(
        segmented("Show", MEASURES, state.measure, (measure) => store.set({ measure })),
        state.kind !== "encoder" && trace.output &&
        segmented(
          "Rows are named after the token",
          [
            ["predicts", "it predicts", "The token that this position predicts"],
            ["read", "it has read", "The token that this position has just read: one earlier"],
          ],
          rowLabel(state, trace),
          (label) => store.set({ label }),
        ),
      segmented(
        "Colour",
        [
          ["fixed", "0 to 1"],
          ["row", "row’s largest"],
        ],
        state.scale,
        (scale) => store.set({ scale }),
      ),
      toggle(
        "start and end",
        state.specials,
        (specials) => store.set({ specials }),
        "Whether the marks of start and end are shown; without them the rest of each row is scaled to sum to 1",
      ),
      slider("Dim all but the largest", {
        min: 20,
        max: 100,
        step: 5,
        value: state.mass,
        shown: (value) => (value === 100 ? "all" : `${value} %`),
        change: (mass) => store.set({ mass }),
      }),
      toggle("as table", asTable, (on) => {
        asTable = on;
        drawTable();
      }),
      ),
    );
  }

  function drawSide(trace, chosen) {
    const state = suitedState();
    const special = new Set(shown.faintCols);
    shown.colLabels.forEach((label, at) => /^·?\p{P}+$/u.test(label) && special.add(at));
    const { entropy, sunk } = summary(shown, special);
    const best = bestMap(trace, state.kind);
    const unit = state.words ? "words" : "pieces";
    const rests = state.specials ? "the marks of start and end and on punctuation" : "punctuation";
    const name = state.layer >= 0 && chosen.head >= 0 && `${state.kind}.${chosen.layers[0]}.${chosen.head}`;
    replace(
      explain,
      h("span", {}, `Shown: ${chosen.title}. `),
      name && h("span", {}, "On the command line, which counts from 0, it is ", h("code", {}, name), ". "),
      REASONS[state.kind],
      state.measure === "norm" &&
        ` A cell is the contribution of a token, ${CARRIED[session.run.kind] ?? CARRIED.transformer}, each row scaled to sum to 1: a token may get much attention and contribute little.`,
      state.measure === "norm" && chosen.head < 0 && TOGETHER,
      h(
        "span",
        {},
        ` A row spreads over ${(2 ** entropy).toFixed(1)} ${unit} on average; ${(100 * sunk).toFixed(0)} % of its ${state.measure === "norm" ? "contributions" : "weight"} is on ${rests}, where heads rest when they have nothing to do.`,
      ),
      !state.words && " A dot before a piece: it continues a word.",
      shown.unseenCols.size > 0 && " Dotted words were never seen in training.",
      best &&
        state.layer === -1 &&
        h(
          "span",
          {},
          ` Of all heads and means of heads, this map differs least from word alignments that were found without any network: error rate ${best.aer.toFixed(2)}, sharpness ${best.sharpness.toFixed(2)}.`,
        ),
      state.kind === "cross" && ranking(trace.aligners),
      legend("0", state.scale === "fixed" ? "1" : "row’s largest"),
    );
  }

  /** The heads and means by how well they align words. */
  function ranking(scores) {
    if (!scores.length) return null;
    return h(
      "details",
      {},
      h("summary", {}, "All heads by how well they align"),
      h(
        "ol",
        { class: "ranking" },
        scores.map((each) =>
          h(
            "li",
            {},
            button(
              nameOfMap(each),
              () => store.set({ layer: each.layer ?? -2, head: each.head ?? -1, label: each.reading }),
              { class: "plain" },
            ),
            h(
              "span",
              { class: "muted" },
              ` ${each.reading === "read" ? "as read, " : ""}error ${each.aer.toFixed(2)}, sharpness ${each.sharpness.toFixed(2)}`,
            ),
          ),
        ),
      ),
    );
  }

  function say(row, col) {
    if (!shown) return;
    if (row < 0 || row >= shown.rows || col < 0 || col >= shown.cols) {
      replace(readout, h("p", { class: "muted" }, "Point at a cell; click to hold it."));
      return;
    }
    const line = Array.from(shown.data.subarray(row * shown.cols, (row + 1) * shown.cols));
    const best = line
      .map((value, at) => [value, at])
      .filter(([, at]) => !matrix.isMasked(row, at))
      .sort((a, b) => b[0] - a[0])
      .slice(0, 4);
    replace(
      readout,
      h(
        "p",
        { class: "big" },
        h("bdi", {}, shown.rowLabels[row]),
        h("span", { class: "muted" }, ` ${verb(store.state)} `),
        h("bdi", {}, shown.colLabels[col]),
      ),
      matrix.isMasked(row, col)
        ? h("p", { class: "value masked" }, "masked: it lies ahead")
        : h("p", { class: "value", "data-value": line[col] }, line[col].toFixed(4)),
      h(
        "ol",
        { class: "mini" },
        best.map(([value, at]) =>
          h(
            "li",
            { class: at === col ? "taken" : "" },
            h("bdi", {}, shown.colLabels[at]),
            h("span", { class: "bar" }, h("span", { style: { width: `${100 * Math.min(1, value)}%` } })),
            h("span", { class: "share" }, value.toFixed(2)),
          ),
        ),
      ),
      h(
        "div",
        { class: "ways" },
        button("The numbers behind it", () => openNumbers(row, col), { class: "link" }),
        forced.possible() && button("Make it look elsewhere", () => force(row, col), { class: "link" }),
      ),
    );
  }

  /** Choose where a row has to look; the tokens of this column are chosen first. */
  function force(row, col) {
    if (row < 0 || !shown || !forced.possible()) return;
    const [, cols] = sides("cross", session.result.trace, "predicts");
    const piece = shown.colPiece[col];
    const word = store.state.words ? cols.wordOf[piece] : -1;
    const together = cols.wordOf.flatMap((each, at) => (each === word ? [at] : []));
    forced.begin(shown.rowPiece[row], word < 0 ? [piece] : together);
  }

  function openNumbers(row, col) {
    if (row < 0) return;
    const place = { row: shown.rowPiece[row], col: shown.colPiece[col] };
    store.set({ view: "numbers", ...place, ...shownHead(suitedState(), session.result.trace) });
  }

  function drawTable() {
    matrix.element.hidden = asTable;
    tableBox.hidden = !asTable;
    replace(tableBox);
    if (!asTable || !shown) return;
    const [head, ...rows] = matrix.table();
    const cell = (value) => h("td", {}, value.toFixed(3));
    tableBox.append(
      h(
        "table",
        { class: "weights" },
        h("caption", { class: "muted" }, view.caption()),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            head.slice(1).map((label) => h("th", { scope: "col" }, label)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([label, ...values]) => h("tr", {}, h("th", { scope: "row" }, label), values.map(cell))),
        ),
      ),
    );
  }

  return view;
}

/** Every head, the means, and the map that is shown first, as options of a list. */
export function headOptions(state, trace) {
  const counts = trace.heads[state.kind];
  const best = bestMap(trace, state.kind);
  const first = best
    ? `Aligns best: ${nameOfMap(best)}`
    : `First shown: mean of layer ${Math.max(0, counts.length - 2) + 1}`;
  const options = [["-1.-1", first]];
  if (counts.reduce((sum, count) => sum + count, 0) > 1) options.push(["-2.-1", "Mean of all heads"]);
  if (state.kind !== "cross" && counts.length > 1) options.push(["-3.-1", "Rollout through all layers"]);
  for (const [layer, heads] of counts.entries()) {
    if (heads > 1) options.push([`${layer}.-1`, `Layer ${layer + 1}, mean`]);
    for (let head = 0; head < heads; head += 1) {
      options.push([`${layer}.${head}`, `Layer ${layer + 1}, head ${head + 1}`]);
    }
  }
  return options;
}
