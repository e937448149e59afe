// Training: curves of a run, during training or afterwards, and its sample outputs.

import * as api from "../api.js";
import { Chart } from "../chart.js";
import { RUN_COLOURS, isDark } from "../colour.js";
import { button, h, replace, slider, toggle } from "../dom.js";
import { heading, inks, stacked } from "../frame.js";

const EVERY_MS = 2000;
// Measured at validation only.
const JUDGED = ["perplexity", "bleu", "mase", "wql", "coverage_80"];
const CHARTS = [
  ["loss", "Loss", (event) => event.loss],
  ["perplexity", "Perplexity (validation)", (event) => event.perplexity],
  ["bleu", "BLEU (validation)", (event) => event.bleu],
  ["mase", "MASE (validation)", (event) => event.mase, (event) => event.naive_mase],
  ["wql", "WQL (validation)", (event) => event.wql, (event) => event.naive_wql],
  ["coverage_80", "Values within 80 % intervals (validation), %", (event) => event.coverage_80],
  ["learning_rate", "Learning rate", (event) => event.learning_rate],
  ["grad_norm", "Gradient norm", (event) => event.grad_norm],
  ["speed", "Tokens or examples per second", (event) => (event.seconds > 0 ? event.tokens / event.seconds : null)],
];

export function training(session) {
  const { store } = session;
  const runs = new Map(); // number → {cursor, steps, validations}
  let chosen = -1; // which validation's samples; -1 is the last
  let timer = 0;
  const controls = h("div", { class: "controls" });
  const charts = CHARTS.map(([name, title]) => new Chart({ title, name, point, pick }));
  const grid = h(
    "div",
    { class: "charts" },
    charts.map((chart) => chart.element),
  );
  const marks = h("div", { class: "checkpoints" });
  const samples = h("div", { class: "sample-outputs" });

  const view = {
    name: "training",
    ofText: false,
    root: h("div", {}),
    caption: () => `Training of ${session.runs.map((run) => run.name).join(" and ")}`,
    update,
    scene: () => {
      const filled = charts.filter((chart) => chart.spec?.series.length);
      return filled.length
        ? stacked(
            filled.map((chart) => chart.scene()),
            filled.map((chart) => chart.title),
          )
        : null;
    },
    table,
  };
  replace(
    view.root,
    heading(
      view,
      "Training",
      "Faint: every update that was logged; strong: smoothed; dots: validation. The charts share one crosshair, which names the nearest value of each and its step.",
    ),
    controls,
    grid,
    marks,
    samples,
  );

  function update() {
    if (!controls.children.length) drawControls();
    if (!timer && session.runs.length) poll();
    drawMarks();
    draw();
  }

  function drawControls() {
    replace(
      controls,
      slider("Smoothing", {
        min: 0,
        max: 0.98,
        step: 0.02,
        value: store.state.smooth,
        shown: (value) => value.toFixed(2),
        change: (smooth) => store.set({ smooth }),
      }),
      toggle("logarithmic", store.state.log, (log) => store.set({ log })),
    );
  }

  /** Read the new part of each log; again soon if the run is still in training. */
  async function poll() {
    timer = -1;
    let soon = false;
    let fresh = false;
    for (const number of session.runs.keys()) {
      const known = runs.get(number) ?? { cursor: 0, steps: [], validations: [] };
      runs.set(number, known);
      try {
        const found = await api.get(`api/metrics?run=${number}&after=${known.cursor}`);
        if (found.anew) Object.assign(known, { steps: [], validations: [] });
        known.cursor = found.cursor;
        for (const event of found.events) {
          if (event.event === "step") known.steps.push(event);
          else if (event.event === "validation") known.validations.push(event);
        }
        fresh ||= found.events.length > 0 || found.anew;
        soon ||= found.more;
      } catch (error) {
        if (!(error instanceof api.Problem)) throw error;
      }
    }
    if (fresh) draw();
    timer = setTimeout(() => (view.root.isConnected ? poll() : (timer = 0)), soon ? 0 : EVERY_MS);
  }

  function shownRuns() {
    return session.runs.map((run, number) => [run, runs.get(number), number]).filter(([, known]) => known);
  }

  function draw() {
    const colours = RUN_COLOURS[isDark() ? "dark" : "light"];
    const { smooth, log, run } = store.state;
    const found = shownRuns();
    const last = Math.max(
      1,
      ...found.flatMap(([, { steps, validations }]) => [
        steps.at(-1)?.step ?? 0,
        validations.at(-1)?.step ?? 0,
      ]),
    );
    CHARTS.forEach(([name, , value, naive], at) => {
      const points = (events, of = value) =>
        events.map((event) => [event.step, of(event)]).filter(([, each]) => Number.isFinite(each));
      const series = found.flatMap(([each, known, number]) => {
        const title = found.length > 1 ? each.name : "";
        const colour = colours[number % 2];
        const plain = { name: title || "updates", colour, points: points(known.steps), smooth };
        const judged = {
          name: `${title} validation`.trim(),
          colour: name === "loss" && found.length < 2 ? colours[1] : colour,
          points: points(known.validations),
          dots: true,
        };
        if (name === "loss") return [plain, judged];
        const beside = naive && {
          ...{ name: `${title} seasonal naive`.trim(), colour: inks().muted },
          points: points(known.validations, naive),
        };
        return JUDGED.includes(name)
          ? [{ ...judged, name: title || "validation" }, ...(beside ? [beside] : [])]
          : [{ ...plain, smooth: name === "learning_rate" ? 0 : smooth }];
      });
      const filled = series.filter((each) => each.points.length);
      charts[at].element.hidden = !filled.length;
      charts[at].show({
        series: filled,
        last,
        log: log && name !== "bleu" && name !== "coverage_80",
        marks: session.runs[run]?.checkpoints ?? [],
      });
    });
    drawSamples();
  }

  function point(step) {
    for (const chart of charts) chart.point(step);
  }

  /** A click goes to the validation nearest to the step. */
  function pick(step) {
    const validations = runs.get(store.state.run)?.validations ?? [];
    const far = (event) => Math.abs(event.step - step);
    const best = validations.reduce(
      (found, event, at) => (found < 0 || far(event) < far(validations[found]) ? at : found),
      -1,
    );
    chosen = best;
    drawSamples();
  }

  function drawMarks() {
    const steps = session.run?.checkpoints ?? [];
    const key = `${steps}|${store.state.step}`;
    if (marks.dataset.key === key) return;
    marks.dataset.key = key;
    replace(
      marks,
      h("h3", {}, "Weights"),
      h(
        "p",
        { class: "muted small" },
        "Choose the weights of a checkpoint, and every view shows the model as it was then.",
      ),
      h(
        "div",
        { class: "choices" },
        [0, ...steps].map((step) =>
          button(step ? `step ${step.toLocaleString("en")}` : "the run’s best", () => store.set({ step }), {
            "aria-pressed": String(store.state.step === step),
          }),
        ),
      ),
    );
  }

  function drawSamples() {
    const validations = runs.get(store.state.run)?.validations ?? [];
    const at = chosen < 0 ? validations.length - 1 : Math.min(chosen, validations.length - 1);
    const event = validations[at];
    const key = `${store.state.run}|${at}|${validations.length}`;
    if (samples.dataset.key === key) return;
    samples.dataset.key = key;
    if (!event) {
      replace(samples, h("p", { class: "muted" }, "No validation yet."));
      return;
    }
    replace(
      samples,
      h("h3", {}, "Sample outputs"),
      validations.length > 1 &&
        slider("Validation", {
          min: 0,
          max: validations.length - 1,
          step: 1,
          value: at,
          shown: (each) => `step ${validations[each].step.toLocaleString("en")}`,
          change: (each) => {
            chosen = each;
            fillSamples(validations[each]);
          },
        }),
      h(
        "table",
        { class: "said" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["source", "output", "reference"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h("tbody", {}),
      ),
    );
    fillSamples(event);
  }

  function fillSamples(event) {
    const body = samples.querySelector("tbody");
    replace(
      body,
      (event.samples ?? []).map((each) =>
        h(
          "tr",
          { class: each.output === each.reference ? "same" : "" },
          h(
            "td",
            { dir: "auto" },
            session.run.views.includes("translate")
              ? button(
                  each.source,
                  () => store.set({ view: "translate", text: each.source, prefix: [], typed: "", adopted: [] }),
                  { class: "plain", title: "Translate this sentence" },
                )
              : each.source,
          ),
          h("td", { dir: "auto", "data-name": "output" }, each.output),
          h("td", { dir: "auto", "data-name": "reference" }, each.reference),
        ),
      ),
    );
  }

  function table() {
    const head = [
      "run",
      "event",
      "step",
      "loss",
      "perplexity",
      "bleu",
      "mase",
      "wql",
      "coverage_80",
      "learning_rate",
      "grad_norm",
      "tokens_per_second",
    ];
    const value = (each) => (Number.isFinite(each) ? each : "");
    const rows = shownRuns().flatMap(([run, known]) =>
      [...known.steps, ...known.validations].map((event) => [
        run.name,
        event.event,
        event.step,
        ...head.slice(3, -1).map((name) => value(event[name])),
        value(event.tokens / event.seconds),
      ]),
    );
    return rows.length ? [head, ...rows] : null;
  }

  return view;
}
