// Numbers: every product behind one weight of the model, and examples to work by hand.

import { ask } from "../api.js";
import { h, redraw, replace, segmented, select } from "../dom.js";
import { EXAMPLES } from "../examples.js";
import { additive, scaledDotProduct } from "../formula.js";
import { heading, inks, legend } from "../frame.js";
import { KINDS, choice, sides } from "../labelled.js";
import { rect, text } from "../scene.js";
import { digits, largest, number, vectors } from "../strips.js";
import { workedExample } from "../worked.js";

const MODES = [
  ["", "This model"],
  ...Object.entries(EXAMPLES).map(([name, { title }]) => [name, `By hand: ${title}`]),
];

export function numbers(session) {
  const { store } = session;
  let drawn = "";
  let found = null;
  const examples = new Map();
  const modes = h("div", { class: "controls" });
  const controls = h("div", { class: "controls" });
  const strips = h("div", { class: "strips" });

  const view = {
    name: "numbers",
    root: h("div", {}),
    caption: () =>
      example()
        ? `A worked example: ${EXAMPLES[store.state.worked].title}`
        : `Weight of ${found?.rowName} on ${found?.colName}`,
    update,
    scene,
    table,
  };
  replace(
    view.root,
    heading(
      view,
      "Numbers",
      "One weight, from the two vectors that are compared to the sum that leaves the layer. Every number is the model’s own.",
    ),
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
    const { state } = store;
    const counts = trace.heads[state.kind]?.length ? trace.heads[state.kind] : trace.heads.cross;
    const kind = counts === trace.heads[state.kind] ? state.kind : "cross";
    if (!counts?.length) return null;
    const chosen = choice({ ...state, kind }, trace);
    const layer = chosen.layers.at(-1);
    const [rows, cols] = sides(kind, trace, "predicts");
    const clamp = (value, most) => Math.min(Math.max(0, value), most - 1);
    return {
      kind,
      layer,
      head: clamp(chosen.head, counts[layer]),
      query: clamp(state.row, rows.pieces.length),
      key: clamp(state.col, cols.pieces.length),
    };
  }

  async function update() {
    drawModes();
    const worked = example();
    if (worked) {
      drawn = "";
      replace(controls);
      if (strips.firstElementChild !== worked.element) replace(strips, worked.element);
      return;
    }
    const { result } = session;
    if (!result.trace) {
      if (!result.busy) replace(strips, h("p", { class: "muted" }, "Type a sentence, then choose a weight."));
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
      let answer = await ask("weight", body);
      if (store.state.col < 0) {
        // Nothing was chosen: start with the key that gets the largest weight.
        want.key = answer.weights.indexOf(Math.max(...answer.weights));
        answer = await ask("weight", { ...body, key: want.key });
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
      dot,
      dots,
      scaled,
      visible,
      exponentials,
      total,
      weights,
      query_row,
      key_row,
      products,
    } = found;
    const isAdditive = scale === 1 && session.run.model.attention === "additive";
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
        vectors([
          { name: isAdditive ? "W s" : "q", values: query_row },
          { name: isAdditive ? "U h" : "k", values: key_row },
          {
            name: isAdditive ? "v · tanh" : "q × k",
            values: products,
            sum: `Σ = ${digits(dot)}`,
            strong: true,
          },
        ]),
      ),
      strip(
        "2",
        "From scores to weights",
        `${divided ? `Each score is divided by √${width} = ${digits(scale)}, so that wide heads are not sharper than narrow ones. ` : ""}Masked positions get nothing. Take e to the power of each score (minus the largest, which changes no weight) and divide by the sum ${digits(total)}: the weights add up to 1.`,
        null,
        scoreTable({ dots, scaled, visible, exponentials, weights, divided }),
      ),
      strip(
        "3",
        "The weighted mean of the values",
        "Each position’s value vector is multiplied by its weight; the sum is what this head passes on.",
        null,
        vectors([...heaviest(), { name: "sum", values: found.output, strong: true }]),
      ),
      strip(
        "4",
        "What leaves the layer",
        found.projected.length === found.output.length && scale === 1
          ? "A recurrent decoder uses this mean directly, as the context of the step."
          : "The outputs of all heads are joined and multiplied by one matrix. This head’s share and that of the others, with the bias, add up to the layer’s output.",
        null,
        scale !== 1 &&
          vectors([
            { name: "this head", values: found.contribution },
            {
              name: "all others",
              values: found.projected.map((value, at) => value - found.contribution[at]),
            },
            { name: "the layer", values: found.projected, strong: true },
          ]),
      ),
      legend(digits(-largest(products)), digits(largest(products)), "tint: size and sign", true),
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

  /** The values with the largest weights, and the rest together. */
  function heaviest() {
    const order = found.weights.map((_, at) => at).sort((a, b) => found.weights[b] - found.weights[a]);
    const shown = order.slice(0, 5).map((at) => ({
      name: `${found.weights[at].toFixed(2)} × v(${found.cols[at]})`,
      values: found.weighted[at],
    }));
    const rest = order.slice(5);
    if (!rest.length) return shown;
    const sum = found.output.map((_, dim) => rest.reduce((total, at) => total + found.weighted[at][dim], 0));
    return [...shown, { name: `${rest.length} others`, values: sum }];
  }

  function scene() {
    if (example()) return example().scene(inks());
    if (!found) return null;
    const { ink, muted } = inks();
    const items = [text(8, 20, `${found.rowName} → ${found.colName}`, { fill: ink, size: 14, weight: 600 })];
    found.cols.forEach((label, at) => {
      const y = 46 + at * 20;
      items.push(text(110, y, label, { fill: ink, size: 12, anchor: "end" }));
      items.push(text(180, y, digits(found.dots[at]), { fill: muted, size: 12, anchor: "end" }));
      items.push(text(250, y, digits(found.weights[at]), { fill: ink, size: 12, anchor: "end" }));
      items.push(rect(262, y - 9, 160 * found.weights[at], 10, "#4b8cbd"));
    });
    return { width: 440, height: 60 + 20 * found.cols.length, items };
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
