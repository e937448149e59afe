// Heads: all of them as small maps; switch some off and see how the translation changes.

import { answerChanged } from "../answers.js";
import { ask } from "../api.js";
import { Chart } from "../chart.js";
import { RUN_COLOURS, css, ink, isDark, shade, table as colours } from "../colour.js";
import { button, h, more, redraw, replace, segmented } from "../dom.js";
import { whatChanged } from "../effect.js";
import { heading, legend, moved, stacked } from "../frame.js";
import { KINDS, MEASURES, shownHead, spec, suited } from "../labelled.js";
import { Matrix } from "../matrix.js";
import { smallScene, thumbnail } from "../thumbnail.js";
import { headOf, summary } from "../weights.js";

const WAYS = [
  ["zero", "gives zeros", "Its output is zero"],
  ["uniform", "looks everywhere alike", "Its weights are all the same"],
  ["mean", "gives its average", "Its output is the mean of what it gives for held-out sentences"],
];

export function heads(session) {
  const { store } = session;
  let drawn = "";
  let layers = [];
  let worth = null;
  let asked = "";
  let previewed = null;
  const controls = h("div", { class: "controls" });
  const grid = h("div", { class: "head-grid" });
  const title = h("h3", {});
  const facts = h("p", { class: "muted small" });
  const effect = h("div", { class: "effect", "aria-live": "polite" });
  const curve = h("div", {});
  const measured = h("p", { class: "muted small" });
  const matrix = new Matrix({ label: "Weights of one head", open: openNumbers });

  const view = {
    name: "heads",
    root: h("div", {}),
    caption: () =>
      `${suitedState().kind} attention, all heads${store.state.measure === "norm" ? ", contributions" : ""}`,
    update,
    scene,
    table,
    legend: () => [["0", "1", store.state.measure === "norm" ? "contribution" : "attention weight"]],
  };
  replace(
    view.root,
    heading(
      view,
      "Heads",
      "Each small map is one head. Point at one to enlarge it, click to keep it, and untick it to switch it off in the model.",
    ),
    controls,
    h(
      "div",
      { class: "heads-layout" },
      h("div", { class: "head-grid-box" }, grid, legend("0", "1"), measured),
      h("div", { class: "head-detail" }, effect, title, facts, matrix.element, curve),
    ),
  );

  /** The state, with a kind of attention that the model has. */
  const suitedState = () => suited(store.state, session.result.trace);

  async function update() {
    const { result } = session;
    if (!result.trace) {
      if (result.busy) return;
      [drawn, layers] = ["", []];
      matrix.clear();
      for (const part of [controls, title, facts, effect]) replace(part);
      replace(grid, h("p", { class: "muted" }, "Type a sentence to see its heads."));
      return;
    }
    const state = suitedState();
    const counts = result.trace.heads[state.kind];
    if (!counts?.length) {
      drawControls(result.trace);
      replace(grid, h("p", { class: "muted" }, "This model has no such attention."));
      return;
    }
    askWorth();
    const key = [
      result.key,
      state.kind,
      state.layer,
      state.head,
      state.words,
      state.label,
      state.measure,
      state.by,
      state.row,
    ].join("|");
    if (key === drawn) return;
    drawn = key;
    drawControls(result.trace);
    drawEffect(result);
    const found = await Promise.all(
      counts.map((_, layer) => session.layer(result, state.kind, layer, state.measure)),
    );
    if (key !== drawn) return;
    layers = found;
    drawGrid(result);
    preview(...chosen());
  }

  function chosen() {
    const { layer, head } = shownHead(suitedState(), session.result.trace);
    return [layer, head];
  }

  /** How much each head matters, where it was measured. */
  async function askWorth() {
    const { run, step } = store.state;
    if (asked === `${run}|${step}`) return;
    asked = `${run}|${step}`;
    worth = step ? null : (await ask("importance", { run })).found;
    if (!view.root.isConnected) return;
    drawGrid(session.result);
    drawCurve();
  }

  function drawControls(trace) {
    const state = suitedState();
    const ways = session.translates ? WAYS : WAYS.filter(([way]) => way !== "mean");
    const kinds = KINDS.filter(([kind]) => trace.heads[kind]?.length);
    redraw(
      controls,
      null,
      kinds.length > 1 &&
        segmented("Attention", kinds, state.kind, (kind) =>
          store.set({ kind, layer: 0, head: 0, row: -1, col: -1 }),
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
      button("All on", () => store.set({ off: [] }), { disabled: !state.off.length }),
      more(
        segmented("Show", MEASURES, state.measure, (measure) => store.set({ measure })),
        segmented("A head that is off", ways, state.by, (by) => store.set({ by })),
      ),
    );
  }

  function drawGrid({ trace }) {
    if (!layers.length || !trace) return;
    const state = suitedState();
    const most = Math.max(...layers.map((layer) => layer.heads));
    grid.style.setProperty("--columns", most);
    const [at, head] = chosen();
    redraw(
      grid,
      null,
      layers.map((layer, number) => [
        h("div", { class: "head-layer muted" }, `Layer ${number + 1}`),
        Array.from({ length: most }, (_, each) =>
          each < layer.heads
            ? cell(layer, number, each, number === at && each === head, state, trace)
            : h("div"),
        ),
      ]),
    );
  }

  function cell(layer, number, head, isChosen, state, trace) {
    const name = `${state.kind}.${number}.${head}`;
    const off = state.off.includes(name);
    const value = worth?.heads.find(
      (each) => each.part === state.kind && each.layer === number && each.head === head,
    );
    const box = h("input", {
      type: "checkbox",
      checked: !off,
      "aria-label": `Head ${head + 1} of layer ${number + 1} on`,
      on: { change: () => flip(name) },
    });
    return h(
      "div",
      { class: `head ${off ? "off" : ""} ${isChosen ? "chosen" : ""}` },
      h(
        "button",
        {
          type: "button",
          class: "thumb",
          "aria-pressed": String(isChosen),
          "aria-label": `Show head ${head + 1} of layer ${number + 1}`,
          on: {
            click: () => store.set({ layer: number, head }),
            dblclick: () => keepOnly(number, head),
            pointerenter: () => preview(number, head),
            pointerleave: () => preview(...chosen()),
            focus: () => preview(number, head),
          },
        },
        thumbnail(spec(headOf(layer, head), { ...state, mass: 100, specials: true, scale: "fixed" }, trace)),
      ),
      h(
        "label",
        { class: "head-name" },
        box,
        ` Head ${head + 1}`,
        value && worthOf(value),
      ),
    );
  }

  /** The largest loss without any head, of all kinds of attention: the strongest colour. */
  const mostLost = () => Math.max(0.1, ...worth.heads.map((each) => worth.bleu - each.bleu));

  /** What is lost without a head, coloured by how much that is compared with all others. */
  function worthOf(value) {
    const most = mostLost();
    const colour = colours(isDark())[shade(worth.bleu - value.bleu, most)];
    return h(
      "span",
      {
        class: "worth",
        title: `BLEU without it: ${value.bleu.toFixed(1)}`,
        style: { background: css(colour), color: ink(colour) },
      },
      loss(value.bleu - worth.bleu),
    );
  }

  function flip(name) {
    const { off } = store.state;
    store.set({ off: off.includes(name) ? off.filter((each) => each !== name) : [...off, name] });
  }

  /** Switch off the other heads of its layer; if they are off already, switch all on. */
  function keepOnly(layer, head) {
    const { off } = store.state;
    const { kind } = suitedState();
    const others = Array.from(
      { length: layers[layer].heads },
      (_, each) => `${kind}.${layer}.${each}`,
    ).filter((_, each) => each !== head);
    const alone = others.every((name) => off.includes(name));
    const rest = off.filter((name) => !name.startsWith(`${kind}.${layer}.`));
    store.set({ layer, head, off: alone ? rest : [...rest, ...others] });
  }

  function preview(layer, head) {
    const { result } = session;
    if (!layers[layer] || !result.trace || head >= layers[layer].heads) return;
    if (previewed === `${drawn}|${layer}.${head}`) return;
    previewed = `${drawn}|${layer}.${head}`;
    const weights = headOf(layers[layer], head);
    const state = suitedState();
    const shown = spec(weights, { ...state, mass: 100, specials: true, scale: "fixed" }, result.trace);
    matrix.show({ ...shown, most: 34 });
    const { entropy, sunk } = summary(shown, shown.faintCols);
    const name = `${state.kind}.${layer}.${head}`;
    replace(
      title,
      `Layer ${layer + 1}, head ${head + 1}`,
      state.off.includes(name) && " (off)",
      h("span", { class: "muted code" }, ` ${name} on the command line, which counts from 0`),
    );
    const alone =
      layers[layer].heads > 1 &&
      button("Keep only this head of its layer", () => keepOnly(layer, head), { class: "link" });
    replace(
      facts,
      `A row spreads over ${(2 ** entropy).toFixed(1)} ${state.words ? "words" : "pieces"} on average; ${(100 * sunk).toFixed(0)} % of its weight is on the marks of start and end. `,
      alone,
    );
  }

  function drawEffect(result) {
    const again = session.translates ? "translates" : "answers";
    const on = `All heads are on. Untick one: the model ${again} again without it.`;
    const changed = result.answer ? answerChanged : whatChanged;
    replace(effect, result.usual ? changed(result) : h("p", { class: "muted" }, on));
  }

  function drawCurve() {
    measured.textContent = worth
      ? `The number at each head is the change in BLEU without it, on ${worth.sentences} validation sentences. One scale of colours for all kinds of attention: the strongest is a loss of ${mostLost().toFixed(1)}.`
      : "";
    replace(curve);
    if (!worth?.curve?.length) return;
    const points = worth.curve.map((each) => [each.kept, each.bleu]).sort((a, b) => a[0] - b[0]);
    const chart = new Chart({
      title: "BLEU against heads kept",
      point: (at) => chart.point(at),
      pick: () => {},
    });
    replace(curve, chart.element);
    chart.show({
      series: [{ name: "BLEU", colour: RUN_COLOURS[isDark() ? "dark" : "light"][0], points, dots: true }],
      last: points.at(-1)[0],
      marks: [],
    });
  }

  function openNumbers(row, col) {
    if (row < 0 || !matrix.spec) return;
    const [layer, head] = chosen();
    store.set({
      view: "numbers",
      layer,
      head,
      row: matrix.spec.rowPiece[row],
      col: matrix.spec.colPiece[col],
    });
  }

  function scene() {
    const { trace } = session.result;
    if (!layers.length || !trace) return null;
    const size = 120;
    const rows = layers.map((layer) => {
      const items = [];
      for (let head = 0; head < layer.heads; head += 1) {
        const shown = spec(
          headOf(layer, head),
          { ...suitedState(), mass: 100, specials: true, scale: "fixed" },
          trace,
        );
        items.push(...smallScene(shown, size).map((item) => moved(item, 8 + head * (size + 12), 0)));
      }
      return { width: 8 + layer.heads * (size + 12), height: size, items };
    });
    return stacked(
      rows,
      layers.map((_, at) => `Layer ${at + 1}`),
    );
  }

  function table() {
    const { trace } = session.result;
    if (!layers.length || !trace) return null;
    const value = store.state.measure === "norm" ? "carried" : "weight";
    const rows = [["kind", "layer", "head", "row", "column", value]];
    layers.forEach((layer, number) => {
      for (let head = 0; head < layer.heads; head += 1) {
        const shown = spec(headOf(layer, head), { ...suitedState(), mass: 100, specials: true }, trace);
        shown.rowLabels.forEach((row, at) =>
          shown.colLabels.forEach((col, to) =>
            rows.push([suitedState().kind, number + 1, head + 1, row, col, shown.data[at * shown.cols + to]]),
          ),
        );
      }
    });
    return rows;
  }

  return view;
}

function loss(change) {
  const size = Math.abs(change).toFixed(1);
  return size === "0.0" ? size : `${change > 0 ? "+" : "−"}${size}`;
}
