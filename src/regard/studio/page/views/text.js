// Text: what a model writes, fills in or labels, and what its tokens attend to.

import * as api from "../api.js";
import { button, h, redraw, replace, segmented, select } from "../dom.js";
import { heading, inks, legend } from "../frame.js";
import { MEASURES, verb } from "../labelled.js";
import { Matrix } from "../matrix.js";
import { percent, readable } from "../pieces.js";
import { headOf } from "../weights.js";

const PAUSE_MS = 400;

export function text(session) {
  const { store } = session;
  let task = "";
  let drawn = "";
  let found = null;
  let asked = null;
  let chosen = -1;
  let timer = 0;
  const box = h("textarea", {
    class: "text-box",
    rows: 3,
    dir: "auto",
    "aria-label": "Text",
    placeholder: "Type a text …",
    on: {
      input: () => {
        clearTimeout(timer);
        timer = setTimeout(() => store.set({ text: box.value, prefix: [] }), PAUSE_MS);
      },
    },
  });
  const head = h("div", {});
  const below = h("div", { class: "below" });
  const said = h("div", { class: "said-of-text", "aria-live": "polite" });
  const details = h("div", { class: "alternatives" });
  const controls = h("div", { class: "controls" });
  const note = h("p", { class: "muted small" });
  const attended = h("section", { class: "attended", hidden: true });
  const matrix = new Matrix({ label: "Self-attention", point: explain });

  const view = {
    name: "text",
    root: h("div", {}),
    caption: () => `${session.run.title}: ${store.state.text}`,
    update,
    scene: () => (matrix.spec ? matrix.scene(inks()) : null),
    table: () => (found ? rows(found) : null),
  };
  replace(attended, h("h3", {}, "Self-attention"), controls, note, matrix.element, legend("0", "1"));
  replace(view.root, head, box, below, said, details, attended);

  /** Held-out texts, and what is switched off. */
  function drawExamples() {
    const { off } = store.state;
    const found = session.run.examples.slice(0, 3);
    const shown = JSON.stringify([found, off]);
    if (below.dataset.shown === shown) return;
    below.dataset.shown = shown;
    replace(
      below,
      h(
        "div",
        { class: "examples" },
        found.length > 0 && h("span", { class: "muted" }, "Held-out texts:"),
        found.map(({ source, reference }) =>
          button(source, () => store.set({ text: source, prefix: [] }), {
            class: "example",
            title: reference && `Expected: ${reference}`,
          }),
        ),
      ),
      off.length > 0 &&
        button(`${off.length} ${off.length === 1 ? "head" : "heads"} off: switch all on`, () => store.set({ off: [] })),
    );
  }

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("text")) return;
    if (session.run.task !== task) {
      task = session.run.task;
      replace(head, heading(view, session.run.title, session.run.explanation));
    }
    if (document.activeElement !== box) box.value = state.text;
    if (session.run?.status !== "ready") {
      replace(said, h("p", { class: "muted" }, "Loading the model …"));
      return;
    }
    const off = state.off.length ? { off: state.off, by: state.by === "mean" ? "zero" : state.by } : {};
    const body = { run: state.run, step: state.step, text: state.text, prefix: state.prefix, ...off };
    const key = JSON.stringify([body, session.run.weights.written]);
    drawExamples();
    if (key !== drawn) {
      drawn = key;
      try {
        const answer = await api.ask("text", body);
        if (key !== drawn) return;
        [found, asked] = [answer, body];
        chosen = -1;
        drawAnswer();
      } catch (error) {
        found = null;
        replace(said, h("p", { class: "muted" }, error.message));
      }
    }
    drawAttention();
  }

  function drawAnswer() {
    replace(details);
    if (found.steps) replace(said, writtenTokens());
    else if (found.filled)
      replace(said, h("p", { class: "big" }, found.filled.text), found.filled.candidates.map(candidates));
    else if (found.labels)
      replace(
        said,
        candidates(
          Object.entries(found.labels).map(([label, probability]) => ({ text: label, probability })),
        ),
      );
    else if (found.tags) replace(said, h("ol", { class: "tokens" }, found.tags.map(tag)));
  }

  function candidates(list) {
    return h(
      "ol",
      { class: "candidates plain-bars" },
      list.map((each) =>
        h(
          "li",
          {},
          h("span", { class: "piece", dir: "auto" }, each.text),
          bar(each.probability),
          h("span", { class: "share" }, percent(Math.log(each.probability))),
        ),
      ),
    );
  }

  function tag({ word, label, probability }) {
    return h(
      "li",
      { class: "token tagged" },
      h("span", { class: "piece", dir: "auto" }, word),
      h("span", { class: "tag" }, label),
      bar(probability),
      h("span", { class: "share" }, percent(Math.log(probability))),
    );
  }

  function writtenTokens() {
    return h(
      "ol",
      { class: "tokens" },
      found.steps.map((step, at) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: `token ${at < found.given ? "given" : ""}`,
              "aria-expanded": String(at === chosen),
              on: { click: () => open(at) },
            },
            h("span", { class: "piece", dir: "auto" }, shown(step.piece)),
            bar(Math.exp(step.log_probability)),
            h("span", { class: "share" }, percent(step.log_probability)),
          ),
        ),
      ),
    );
  }

  function open(at) {
    chosen = chosen === at ? -1 : at;
    drawAnswer();
    const step = found.steps[chosen];
    if (!step) return;
    const own = found.given - store.state.prefix.length;
    replace(
      details,
      h(
        "div",
        { class: "alternatives-head" },
        h("h3", {}, "Alternatives at this place"),
        h("span", { class: "muted" }, `Entropy ${step.entropy.toFixed(2)} bits`),
      ),
      h(
        "ol",
        { class: "candidates" },
        step.choices.map((each) =>
          h(
            "li",
            { class: each.token === step.token ? "taken" : "" },
            h(
              "button",
              {
                type: "button",
                disabled: chosen < own || each.token === step.token,
                title: chosen < own ? "This token is part of your text: change it there" : "Continue with this token",
                on: { click: () => store.set({ prefix: [...found.ids.slice(own, chosen), each.token] }) },
              },
              h("span", { class: "piece", dir: "auto" }, shown(each.piece)),
              bar(each.probability),
              h("span", { class: "share" }, percent(Math.log(each.probability))),
            ),
          ),
        ),
      ),
      store.state.prefix.length > 0 && button("Back to the model’s own text", () => store.set({ prefix: [] })),
    );
  }

  async function drawAttention() {
    attended.hidden = !found?.heads.length;
    if (!found?.heads.length) return;
    const { state } = store;
    const layer = Math.min(Math.max(0, state.layer), found.heads.length - 1);
    const head = Math.min(state.head, found.heads[layer] - 1);
    redraw(
      controls,
      String(found.heads),
      select(
        "Layer",
        found.heads.map((_, at) => [at, String(at + 1)]),
        layer,
        (next) => store.set({ layer: next }),
      ),
      select(
        "Head",
        [[-1, "mean"], ...Array.from({ length: found.heads[layer] }, (_, at) => [at, String(at + 1)])],
        head,
        (next) => store.set({ head: next }),
      ),
      segmented("Show", MEASURES, state.measure, (measure) => store.set({ measure })),
    );
    const key = drawn;
    const { measure } = state;
    const weights = headOf(await api.layer({ ...asked, layer, measure }, undefined, "text_layer"), head);
    if (key !== drawn) return;
    const labels = found.pieces.map(shown);
    matrix.show({
      ...weights,
      rowLabels: labels,
      colLabels: labels,
      scales: new Float32Array(weights.rows).fill(1),
      masked: found.steps ? (row, col) => col > row : null, // what is written looks back only
      most: 34,
    });
    explain(-1, -1);
  }

  function explain(row, col) {
    const { spec } = matrix;
    if (row < 0 || !spec || row >= spec.rows)
      replace(note, "Each row is a token; its weights say which tokens its new vector is a mean of.");
    else if (matrix.isMasked(row, col)) replace(note, "masked: it lies ahead");
    else
      replace(
        note,
        `“${spec.rowLabels[row]}” ${verb(store.state)} “${spec.colLabels[col]}”: ${spec.data[row * spec.cols + col].toFixed(4)}`,
      );
  }

  return view;
}

const shown = (piece) => readable(piece.replaceAll("Ġ", "▁").replaceAll("Ċ", "⏎").replaceAll("\n", "⏎"));

function bar(share) {
  return h("span", { class: "bar" }, h("span", { style: { width: `${100 * share}%` } }));
}

function rows(found) {
  if (found.steps)
    return [
      ["token", "log_probability", "rank", "entropy_bits"],
      ...found.steps.map((step) => [step.piece, step.log_probability, step.rank + 1, step.entropy]),
    ];
  if (found.filled)
    return [
      ["mask", "candidate", "probability"],
      ...found.filled.candidates.flatMap((list, at) =>
        list.map((each) => [at + 1, each.text, each.probability]),
      ),
    ];
  if (found.labels) return [["label", "probability"], ...Object.entries(found.labels)];
  return [
    ["word", "label", "probability"],
    ...found.tags.map((each) => [each.word, each.label, each.probability]),
  ];
}
