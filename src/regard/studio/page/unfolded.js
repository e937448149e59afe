// A box of the model, unfolded: its stages one below the other, and where a number comes from.

import * as api from "./api.js";
import { button, h, replace, segmented, select } from "./dom.js";
import { legend } from "./frame.js";
import { readable } from "./pieces.js";
import { Sheet } from "./sheet.js";
import { digits, vectors } from "./strips.js";

const MANY_HEADS = 8;

export function unfolded({ session, element, close }) {
  const { store } = session;
  let shown = "";
  let found = null;
  let sheets = [];

  async function show(want) {
    if (!want) {
      shown = "";
      found = null;
      replace(element, h("p", { class: "muted hint" }, "Open a box to see how its numbers are computed."));
      return;
    }
    const key = JSON.stringify(want);
    if (key === shown) return;
    shown = key;
    try {
      const answer = await api.ask("model_box", want);
      if (key !== shown) return;
      found = answer;
      draw(want, answer);
    } catch (error) {
      if (key === shown) replace(element, h("p", { class: "problem" }, error.message));
    }
  }

  function draw(want, { box, stages }) {
    sheets = [];
    const title = box.layer === null ? box.title : `Layer ${box.layer + 1}: ${box.title}`;
    const keep = element.contains(document.activeElement) && document.activeElement.dataset.keep;
    replace(
      element,
      h(
        "div",
        { class: "detail-head" },
        h("div", {}, h("h3", {}, title), h("p", { class: "muted small" }, box.shape)),
        button("×", close, { class: "quiet", "aria-label": "Close the box" }),
      ),
      h("div", { class: "controls" }, headChoice(box, want.head), deeper(box, want)),
      h("ol", { class: "stages" }, stages.map((stage, at) => stageOf(want, box, stage, at))),
    );
    if (keep) element.querySelector("[data-keep] select, [data-keep] input:checked")?.focus();
  }

  function headChoice(box, chosen) {
    if (box.heads < 2) return null;
    const name = box.part ? "Head" : "Direction";
    const names = box.part ? (at) => String(at + 1) : (at) => ["from the left", "from the right"][at];
    const options = Array.from({ length: box.heads }, (_, at) => [at, names(at)]);
    const at = Math.min(chosen, box.heads - 1);
    const choose = (head) => store.set({ head });
    return box.heads > MANY_HEADS ? select(name, options, at, choose) : segmented(name, options, at, choose);
  }

  /** The same attention in the other views. */
  function deeper(box, want) {
    if (!box.part || !session.run.views.includes("numbers")) return null;
    const layer = box.layer ?? 0;
    const state = { kind: box.part, layer, head: Math.min(want.head, Math.max(0, box.heads - 1)) };
    const row = box.part === "encoder" ? want.col : want.row;
    return [
      button("One weight in Numbers", () => store.set({ view: "numbers", ...state, row, col: -1, worked: "" }), {
        class: "link",
      }),
      button("All weights in Heads", () => store.set({ view: "heads", ...state }), { class: "link" }),
    ];
  }

  function stageOf(want, box, stage, at) {
    const place = h("div", { class: "stage-sheet" }, h("p", { class: "muted small" }, "…"));
    const behind = h("div", { class: "behind", "aria-live": "polite" });
    const item = h(
      "li",
      { class: "stage" },
      h(
        "div",
        { class: "stage-head" },
        h("h4", {}, stage.name),
        h("span", { class: "muted small" }, stage.size.join("×")),
      ),
      h("p", { class: "muted small" }, stage.says),
      place,
      behind,
    );
    whenSeen(item, () => fill(want, box, stage, at, place, behind));
    return item;
  }

  async function fill(want, box, stage, at, place, behind) {
    try {
      const { data } = await api.layer({ ...want, stage: at }, undefined, "model_stage");
      const [rows, cols] = stage.size;
      const signed = stage.least < 0;
      const most = Math.max(Math.abs(stage.least), Math.abs(stage.most), 1e-9);
      const chosen = stage.rows.length > 1 && stage.side ? Math.min(rowOf(stage, want), rows - 1) : -1;
      const sheet = new Sheet({
        spec: {
          label: stage.name,
          ...{ rows, cols, data, most, signed },
          rowLabels: stage.rows.map(readable),
          colLabels: stage.columns.map(readable),
        },
        chosen,
        open: (row, col) => explain({ ...want, stage: at, at: [row, col] }, stage, behind),
      });
      sheets[at] = { stage, data };
      replace(place, sheet.element, legend(digits(signed ? -most : 0), digits(most), "", signed));
    } catch (error) {
      replace(place, h("p", { class: "problem" }, error.message));
    }
  }

  async function explain(asked, stage, behind) {
    try {
      const cell = await api.ask("model_cell", asked);
      const [row, col] = asked.at;
      const name = `${readable(stage.rows[row] ?? `row ${row + 1}`)} · ${readable(stage.columns[col] ?? `d${col + 1}`)}`;
      replace(
        behind,
        h(
          "div",
          { class: "detail-head" },
          h("h5", {}, `Where ${digits(number(cell.value))} comes from (${name})`),
          button("×", () => replace(behind), { class: "quiet", "aria-label": "Close the explanation" }),
        ),
        cell.names.length > 0 &&
          vectors(
            cell.names.map((each, at) => ({ name: each, values: cell.lists[at].map(number) })),
            { labels: cell.labels.map(readable) },
          ),
        h(
          "dl",
          { class: "chain" },
          cell.steps.map(([each, value]) =>
            h("div", {}, h("dt", {}, each), h("dd", { "data-value": value }, digits(number(value)))),
          ),
        ),
      );
    } catch (error) {
      replace(behind, h("p", { class: "problem" }, error.message));
    }
  }

  function table() {
    if (!found) return null;
    return found.stages.flatMap((stage, at) => {
      const [rows, cols] = stage.size;
      const own = sheets[at];
      if (!own) return [];
      const head = Array.from({ length: cols }, (_, col) => stage.columns[col] ?? `d${col + 1}`);
      const lines = Array.from({ length: rows }, (_, row) => [
        stage.rows[row] ?? row + 1,
        ...own.data.slice(row * cols, (row + 1) * cols),
      ]);
      return [[stage.name, ...head], ...lines, []];
    });
  }

  return { show, table };
}

function rowOf(stage, want) {
  return stage.side === "source" ? want.col : want.row;
}

/** The server writes −∞ as null. */
const number = (value) => (value === null ? -Infinity : value);

/** Call once, as soon as an element comes near the window. */
function whenSeen(element, call) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      call();
    },
    { rootMargin: "300px" },
  );
  observer.observe(element);
}
