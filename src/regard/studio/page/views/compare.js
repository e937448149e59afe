// Compare: the same sentence through two models, their matrices side by side.

import { h, redraw, replace, segmented } from "../dom.js";
import { heading, inks, legend, stacked } from "../frame.js";
import { choice, chosenWeights, spec, suited } from "../labelled.js";
import { Matrix } from "../matrix.js";
import { fixed } from "../pieces.js";
import { total } from "../session.js";

export function compare(session) {
  const { store } = session;
  const panes = [0, 1].map((slot) => pane(slot));
  const controls = h("div", { class: "controls" });

  const view = {
    name: "compare",
    root: h("div", {}),
    caption: () => `The same sentence: ${store.state.text}`,
    update,
    legend: () => [["0", "1", "attention weight"]],
    scene: () => {
      const filled = panes.filter((each) => each.matrix.spec);
      return filled.length
        ? stacked(
            filled.map((each) => each.matrix.scene(inks())),
            filled.map((each) => each.name()),
          )
        : null;
    },
    table: () => {
      const filled = panes.filter((each) => each.matrix.spec);
      return filled.length ? filled.flatMap((each) => [[each.name()], ...each.matrix.table(), []]) : null;
    },
  };
  replace(
    view.root,
    heading(
      view,
      "Compare",
      "One sentence, two models. Point at a word of the source in one matrix and it lights up in the other.",
    ),
    controls,
    h(
      "div",
      { class: "panes" },
      panes.map((each) => each.element),
    ),
    legend("0", "1"),
  );

  function pane(slot) {
    const head = h("div", { class: "pane-head" });
    const output = h("p", { class: "pane-output", dir: "auto" });
    const note = h("p", { class: "muted small" });
    const matrix = new Matrix({
      label: `Alignment of model ${slot + 1}`,
      point: (row, col) => together(slot, row, col),
    });
    const element = h("section", { class: `pane pane-${slot}` }, head, output, note, matrix.element);
    return { slot, head, output, note, matrix, element, drawn: "", name: () => head.textContent };
  }

  function wantedAt(slot) {
    return session.wanted().find((each) => each.slot === slot);
  }

  function update() {
    if (!session.runs.length) return;
    drawControls();
    for (const each of panes) drawPane(each);
  }

  function drawControls() {
    const { state } = store;
    const key = [state.words, state.against, session.runs.length].join();
    if (controls.dataset.key === key) return;
    controls.dataset.key = key;
    const steps = session.runs.length > 1 ? [] : session.runs[0].checkpoints;
    redraw(
      controls,
      null,
      segmented(
        "Tokens",
        [
          [true, "Words"],
          [false, "Pieces"],
        ],
        state.words,
        (words) => store.set({ words }),
      ),
      steps.length > 0 &&
        segmented(
          "Against step",
          steps.map((step) => [step, step.toLocaleString("en")]),
          state.against || steps[0],
          (against) => store.set({ against }),
        ),
      session.runs.length < 2 &&
        h(
          "span",
          { class: "muted small" },
          "Name two runs, as in regard studio RUN RUN2, to compare two models.",
        ),
    );
  }

  async function drawPane(each) {
    const wanted = wantedAt(each.slot);
    each.element.hidden = !wanted;
    if (!wanted) return;
    const run = session.runs[wanted.run];
    const step = wanted.step ? `, step ${wanted.step.toLocaleString("en")}` : "";
    replace(each.head, h("strong", {}, run.name), h("span", { class: "muted" }, step));
    const result = session.results[each.slot];
    if (!result?.trace) {
      if (!result?.busy) {
        each.drawn = "";
        each.matrix.clear();
        replace(each.note);
      }
      replace(
        each.output,
        result?.problem
          ? h("span", { class: "problem" }, result.problem)
          : h("span", { class: "muted" }, result?.busy ? "…" : "Type a sentence to compare."),
      );
      return;
    }
    const { trace } = result;
    const usual = { layer: -1, head: -1, label: "auto", mass: 100, measure: "weights", specials: true };
    const state = suited({ ...store.state, ...usual, kind: "cross" }, trace);
    const key = [result.key, state.words, state.scale].join("|");
    if (each.drawn === key) return;
    each.drawn = key;
    replace(each.output, (result.said ?? trace.output.text) || "(nothing)");
    const chosen = choice(state, trace);
    const sure = trace.steps && `Log-probability per token: ${fixed(total(trace) / trace.steps.length)}. `;
    replace(
      each.note,
      sure,
      chosen.layers.length
        ? `Shown: ${chosen.title}.`
        : "This model has no attention to show.",
    );
    each.matrix.element.hidden = !chosen.layers.length;
    if (!chosen.layers.length) return;
    const weights = await chosenWeights(session, result, state, chosen);
    if (each.drawn === key) each.matrix.show({ ...spec(weights, state, trace), most: 40 });
  }

  /** The same source word in the other matrix, with the row that looks at it most. */
  function together(slot, row, col) {
    const other = panes[1 - slot].matrix;
    if (!other.spec) return;
    if (col < 0 || col >= other.spec.cols) {
      other.light(-1, -1);
      return;
    }
    const { rows, cols, data } = other.spec;
    let best = 0;
    for (let each = 1; each < rows; each += 1)
      if (data[each * cols + col] > data[best * cols + col]) best = each;
    other.light(best, col);
  }

  return view;
}
