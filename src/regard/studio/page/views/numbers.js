// Numbers: every product behind one weight of the model, and examples to work by hand.

import { h, redraw, replace, segmented, select } from "../dom.js";
import { EXAMPLES } from "../examples.js";
import { additive, scaledDotProduct } from "../formula.js";
import { heading, inks, legend, stacked } from "../frame.js";
import { KINDS, shownHead, sides, suited } from "../labelled.js";
import { rect, text } from "../scene.js";
import { digits, number, vectors, vectorsScene } from "../strips.js";
import { workedExample } from "../worked.js";

const MODES = [
  ["", "This model"],
  ...Object.entries(EXAMPLES).map(([name, { title }]) => [name, `By hand: ${title}`]),
];

const OF_MODEL =
  "One weight, from the two vectors that are compared to the sum that leaves the layer. Every number is the model’s own.";
const BY_HAND =
  "An example to work by hand, with numbers of your choice: they are not the model’s. Hidden results can be checked or shown.";

export function numbers(session) {
  const { store } = session;
  let drawn = "";
  let found = null;
  const examples = new Map();
  const modes = h("div", { class: "controls" });
  const controls = h("div", { class: "controls" });
  const strips = h("div", { class: "strips" });
  const explained = h("span", {});

  const view = {
    name: "numbers",
    root: h("div", {}),
    caption: () =>
      example()
        ? `A worked example: ${EXAMPLES[store.state.worked].title}`
        : `Weight of ${found?.rowName} on ${found?.colName}, ${found?.want.kind} attention, layer ${found?.want.layer + 1}, head ${found?.want.head + 1}: ${session.result.trace?.source.text ?? ""}`,
    update,
    scene,
    table,
  };
  replace(
    view.root,
    heading(view, "Numbers", explained),
    modes,
    controls,
    strips,
  );

  /** The chosen example, as the user left it; none if the view shows the model. */
  function example() {
    const { worked } = store.state;
    if (!Object.hasOwn(EXAMPLES, worked)) return null;
    if (!examples.has(worked)) examples.set(worked, workedExample(worked));
    return examples.get(worked);
  }

  /** Which head, query and key: those in the state, or at first the place of the largest weight. */
  function asked({ trace }) {
    const state = suited(store.state, trace);
    const { kind } = state;
    const counts = trace.heads[kind];
    if (!counts?.length) return null;
    const { layer, head } = shownHead(state, trace);
    const [rows, cols] = sides(kind, trace, "predicts");
    const clamp = (value, most) => Math.min(Math.max(0, value), most - 1);
    return {
      kind,
      layer,
      head: clamp(head, counts[layer]),
      query: clamp(state.row, rows.pieces.length),
      key: clamp(state.col, cols.pieces.length),
    };
  }

  async function update() {
    drawModes();
    const worked = example();
    replace(explained, worked ? BY_HAND : OF_MODEL);
    if (worked) {
      drawn = "";
      replace(controls);
      if (strips.firstElementChild !== worked.element) replace(strips, worked.element);
      return;
    }
    const { result } = session;
    if (!result.trace) {
      if (result.busy) return;
      [drawn, found] = ["", null];
      replace(controls);
      replace(strips, h("p", { class: "muted" }, "Type a sentence, then choose a weight."));
      return;
    }
    const want = asked(result);
    if (!want) {
      replace(
        strips,
        h("p", { class: "muted" }, "This model has no attention; the examples above can still be worked."),
      );
      return;
    }
    const body = { ...result.pair, ...want };
    const key = `${result.key}|${JSON.stringify(body)}`;
    if (key === drawn) return;
    drawn = key;
    drawControls(result.trace, want);
    try {
      let answer = await session.weight(result, want);
      if (store.state.col < 0) {
        // Nothing was chosen: start with the key that gets the largest weight.
        want.key = answer.weights.indexOf(Math.max(...answer.weights));
        answer = await session.weight(result, want);
        drawControls(result.trace, want);
      }
      if (key !== drawn) return;
      const [rows, cols] = sides(want.kind, result.trace, "predicts");
      const [reads] = sides(want.kind, result.trace, "read");
      found = {
        ...answer,
        want,
        rows: rows.pieces,
        cols: cols.pieces,
        rowName: rows.pieces[want.query],
        readName: reads.pieces[want.query],
        colName: cols.pieces[want.key],
      };
      drawStrips();
    } catch (error) {
      replace(strips, h("p", { class: "problem" }, error.message));
    }
  }

  function drawModes() {
    const { worked } = store.state;
    if (modes.dataset.mode === worked) return;
    modes.dataset.mode = worked;
    redraw(
      modes,
      null,
      select("Show", MODES, worked, (next) => store.set({ worked: next })),
    );
  }

  function drawControls(trace, want) {
    const kinds = KINDS.filter(([kind]) => trace.heads[kind]?.length);
    const counts = trace.heads[want.kind];
    const [rows, cols] = sides(want.kind, trace, "predicts");
    const numbered = (labels) => labels.map((label, at) => [at, `${at + 1}. ${label}`]);
    redraw(
      controls,
      null,
      kinds.length > 1 &&
        segmented("Attention", kinds, want.kind, (kind) =>
          store.set({ kind, layer: 0, head: 0, row: 0, col: 0 }),
        ),
      select(
        "Layer",
        counts.map((_, at) => [at, String(at + 1)]),
        want.layer,
        (layer) => store.set({ layer, head: want.head }),
      ),
      select(
        "Head",
        Array.from({ length: counts[want.layer] }, (_, at) => [at, String(at + 1)]),
        want.head,
        (head) => store.set({ layer: want.layer, head }),
      ),
      select(want.kind === "encoder" ? "Query" : "Predicting", numbered(rows.pieces), want.query, (row) =>
        store.set({ row, col: want.key, layer: want.layer, head: want.head }),
      ),
      select("Looking at", numbered(cols.pieces), want.key, (col) =>
        store.set({ row: want.query, col, layer: want.layer, head: want.head }),
      ),
    );
  }

  function drawStrips() {
    const {
      want,
      scale,
      dots,
      scaled,
      visible,
      exponentials,
      total,
      weights,
      query_row,
    } = found;
    const isAdditive = additiveOf(found);
    const width = query_row.length;
    const divided = scale !== 1;
    replace(
      strips,
      strip(
        "1",
        `How well “${found.colName}” answers what “${found.rowName}” asks`,
        isAdditive
          ? "The state before the word and the source position are each projected, added, squashed by tanh and weighted by v; the sum is the score."
          : `The query comes from the position that ${want.kind === "encoder" ? "holds" : "predicts"} “${found.rowName}”${want.kind === "encoder" ? "" : ` (it has read “${found.readName}”)`}, the key from “${found.colName}”. Multiply them number by number and add up.`,
        isAdditive ? additive() : scaledDotProduct(),
        vectors(compared()),
      ),
      strip(
        "2",
        "From scores to weights",
        `${divided ? `Each score is divided by √${width} = ${digits(scale)}, so that wide heads are not sharper than narrow ones. ` : ""}Masked positions get nothing. Take e to the power of each score (minus the largest, which changes no weight) and divide by the sum ${digits(total)}: the weights add up to 1.`,
        null,
        scoreTable({ dots, scaled, visible, exponentials, weights, divided }),
        legend("0", "1", "the colours of the weights"),
      ),
      strip(
        "3",
        "The weighted mean of the values",
        "Each position’s value vector is multiplied by its weight; the sum is what this head passes on.",
        null,
        vectors(heaviest()),
      ),
      strip(
        "4",
        "What leaves the layer",
        found.projected.length === found.output.length && scale === 1
          ? "A recurrent decoder uses this mean directly, as the context of the step."
          : "The outputs of all heads are joined and multiplied by one matrix. This head’s share and that of the others, with the bias, add up to the layer’s output.",
        null,
        scale !== 1 && vectors(leaving()),
      ),
    );
  }

  function scoreTable({ dots, scaled, visible, exponentials, weights, divided }) {
    const masked = visible.some((each) => !each);
    const head = ["", "score", divided && "÷ √d", masked && "mask", "e to it", "weight", ""].filter(
      (name) => name !== false,
    );
    return h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores and weights" },
      h(
        "table",
        { class: "numbers scores" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((name) => (name ? h("th", { scope: "col" }, name) : h("td", {}))),
          ),
        ),
        h(
          "tbody",
          {},
          found.cols.map((label, at) =>
            h(
              "tr",
              {
                class: at === found.want.key ? "chosen" : "",
                on: {
                  click: () =>
                    store.set({
                      row: found.want.query,
                      col: at,
                      layer: found.want.layer,
                      head: found.want.head,
                    }),
                },
              },
              h("th", { scope: "row", dir: "auto" }, label),
              number(dots[at]),
              divided && number(scaled[at]),
              masked && h("td", { class: "muted" }, visible[at] ? "" : "−∞"),
              number(exponentials[at]),
              number(weights[at], 1, { signed: false, strong: at === found.want.key }),
              h(
                "td",
                { class: "wide" },
                h("span", { class: "bar" }, h("span", { style: { width: `${100 * weights[at]}%` } })),
              ),
            ),
          ),
        ),
      ),
    );
  }

  const additiveOf = ({ scale }) => scale === 1 && session.run.model.attention === "additive";

  /** The two vectors that are compared, and their products. */
  function compared() {
    const isAdditive = additiveOf(found);
    return [
      { name: isAdditive ? "W s" : "q", values: found.query_row },
      { name: isAdditive ? "U h" : "k", values: found.key_row },
      {
        name: isAdditive ? "v · tanh" : "q × k",
        values: found.products,
        sum: `Σ = ${digits(found.dot)}`,
        strong: true,
      },
    ];
  }

  /** The values with the largest weights, the rest together, and their sum. */
  function heaviest() {
    const order = found.weights.map((_, at) => at).sort((a, b) => found.weights[b] - found.weights[a]);
    const shown = order.slice(0, 5).map((at) => ({
      name: `${found.weights[at].toFixed(2)} × v(${found.cols[at]})`,
      values: found.weighted[at],
    }));
    const rest = order.slice(5);
    const sum = { name: "sum", values: found.output, strong: true };
    if (!rest.length) return [...shown, sum];
    const others = found.output.map((_, dim) => rest.reduce((total, at) => total + found.weighted[at][dim], 0));
    return [...shown, { name: `${rest.length} others`, values: others }, sum];
  }

  /** What leaves the layer: this head's share, and that of all others with the bias. */
  function leaving() {
    return [
      { name: "this head", values: found.contribution },
      { name: "all others", values: found.projected.map((value, at) => value - found.contribution[at]) },
      { name: "the layer", values: found.projected, strong: true },
    ];
  }

  /** All strips below one another. */
  function scene() {
    if (example()) return example().scene(inks());
    if (!found) return null;
    const drawing = inks();
    const parts = [
      [`1  Query of “${found.rowName}”, key of “${found.colName}”`, vectorsScene(compared(), { inks: drawing })],
      ["2  From scores to weights", scoresScene(drawing)],
      ["3  The weighted mean of the values", vectorsScene(heaviest(), { inks: drawing })],
      found.scale !== 1 && ["4  What leaves the layer", vectorsScene(leaving(), { inks: drawing })],
    ].filter(Boolean);
    return stacked(
      parts.map(([, picture]) => picture),
      parts.map(([title]) => title),
    );
  }

  function scoresScene({ ink, muted }) {
    const columns = ["score", "÷ √d", "e to it", "weight"];
    const style = { fill: ink, size: 11.5, anchor: "end" };
    const items = columns.map((name, at) => text(230 + at * 80, 12, name, { ...style, fill: muted }));
    found.cols.forEach((label, at) => {
      const y = 32 + at * 18;
      const values = [found.dots[at], found.scaled[at], found.exponentials[at], found.weights[at]];
      items.push(text(150, y, label, style));
      values.forEach((value, col) => items.push(text(230 + col * 80, y, digits(value), style)));
      items.push(rect(486, y - 9, 140 * found.weights[at], 10, "#4b8cbd"));
    });
    return { width: 640, height: 40 + 18 * found.cols.length, items };
  }

  function table() {
    if (example()) return example().table();
    if (!found) return null;
    const each = (name, values) => [name, ...values];
    return [
      ["quantity", ...found.cols],
      each("score", found.dots),
      each("scaled", found.scaled),
      each("exponential", found.exponentials),
      each("weight", found.weights),
      [],
      ["quantity", ...found.query_row.map((_, at) => at + 1)],
      each("query", found.query_row),
      each("key", found.key_row),
      each("product", found.products),
      each("output", found.output),
    ];
  }

  return view;
}

function strip(step, title, explanation, formula, ...content) {
  return h(
    "section",
    { class: "strip" },
    h("div", { class: "strip-head" }, h("span", { class: "step" }, step), h("h3", {}, title)),
    h("p", { class: "muted small" }, explanation),
    formula,
    content,
  );
}
