// How good a forecaster is beside seasonal naive: counted when someone asks, with its progress.

import * as api from "./api.js";
import { Chart } from "./chart.js";
import { shownNumber } from "./curves.js";
import { button, h, replace } from "./dom.js";

const EVERY_MS = 300;
const TITLES = { mae: "mean absolute error", mase: "MASE", wql: "WQL" };
const MODEL = "model";
const NAIVE = "seasonal naive";

export class SeriesScores {
  /** `model()` is {run, step}; `colours()` are those of the model and of the naive forecast. */
  constructor({ model, colours }) {
    Object.assign(this, { model, colours, of: "", busy: false });
    this.body = h("div", { class: "series-scores" });
    this.charts = ["Mean absolute error by step ahead", "Mean absolute error by hour of the day"].map((title) => {
      const chart = new Chart({ title, point: (step) => chart.point(step === null ? null : Math.round(step)), pick: () => {} });
      return chart;
    });
    this.element = h("section", { "aria-label": "How good the forecasts are" }, h("h3", {}, "How good it is"), this.body);
  }

  /** Forget what was measured if it belongs to other weights. */
  offer(key) {
    if (this.of === key) return;
    [this.of, this.busy, this.found] = [key, false, null];
    this.draw();
  }

  draw(problem = "") {
    replace(
      this.body,
      h("p", { class: "muted small" }, "Forecasts of the last part of each series, which the run did not learn from, beside those that repeat the last season."),
      problem && h("p", { class: "problem" }, problem),
      button("Measure it", () => this.measure()),
    );
  }

  async measure() {
    const key = this.of;
    const bar = h("progress", { "aria-label": "Windows that are done" });
    const note = h("span", { class: "muted small", role: "status" }, "Looking for the windows …");
    replace(this.body, h("p", { class: "measuring" }, bar, " ", note));
    try {
      for (;;) {
        const { done, total, found } = await api.ask("series_scores", this.model());
        if (key !== this.of) return;
        if (found) {
          this.found = found;
          this.write();
          return;
        }
        if (total) {
          Object.assign(bar, { max: total, value: done });
          replace(note, `${done.toLocaleString("en")} of ${total.toLocaleString("en")} windows`);
        }
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      }
    } catch (error) {
      if (key === this.of) this.draw(error.message);
    }
  }

  write() {
    const { found } = this;
    const many = `${found.windows.toLocaleString("en")} windows of ${found.series.toLocaleString("en")} series`;
    const verdict = found.verdict || `On ${many}, this model is better than ${NAIVE}.`;
    replace(
      this.body,
      h("p", { class: found.verdict ? "warning" : "", role: "status" }, verdict),
      h(
        "div",
        { class: "score-tables" },
        grid(`Scores on ${many}; lower is better`, ["", MODEL, NAIVE], scoreRows(found)),
        Object.keys(found.coverage).length > 0
          ? grid(
              "Values within the intervals, on the later half of the windows; calibrated on the earlier half",
              ["interval", "calibrated", "before calibration", NAIVE],
              coverageRows(found),
            )
          : h("p", { class: "muted small" }, "There are too few windows to test calibrated intervals on others."),
      ),
      h("p", { class: "keys-of" }, legendOf("of-model", MODEL), legendOf("of-naive", NAIVE)),
      h("div", { class: "charts" }, this.charts[0].element, Object.keys(found.by_hour).length > 0 && this.charts[1].element),
    );
    const [model, naive] = this.colours();
    const curves = (values, first) =>
      [MODEL, NAIVE]
        .filter((name) => values[name])
        .map((name) => ({
          ...{ name, colour: name === MODEL ? model : naive },
          points: values[name].map((value, at) => [at + first, value]).filter(([, value]) => value !== null),
        }));
    this.charts[0].show({ series: curves(found.by_step, 1), last: found.by_step[MODEL].length, marks: [] });
    this.charts[1].show({ series: curves(found.by_hour, 0), last: 23, marks: [] });
  }
}

const number = (value) => (value === null ? "–" : shownNumber(value));
const share = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(1)} %`);

function scoreRows({ scores }) {
  return Object.entries(TITLES).map(([name, title]) => [title, number(scores[name][MODEL]), number(scores[name][NAIVE])]);
}

function coverageRows({ coverage }) {
  return Object.keys(coverage[MODEL]).map((level) => [
    `${level} %`,
    ...[MODEL, "before calibration", NAIVE].map((name) => share(coverage[name][level])),
  ]);
}

function grid(caption, head, rows) {
  return h(
    "table",
    { class: "numbers-of" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, head.map((name) => (name ? h("th", { scope: "col" }, name) : h("td", {}))))),
    h("tbody", {}, rows.map(([name, ...rest]) => h("tr", {}, h("th", { scope: "row" }, name), rest.map((each) => h("td", {}, each))))),
  );
}

export function legendOf(kind, text) {
  return h("span", { class: `key-of ${kind}` }, h("i", { "aria-hidden": "true" }), text);
}
