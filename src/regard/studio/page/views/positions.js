// Positions: how a Transformer knows the order of words, and what it writes without it.

import { saidOf } from "../answers.js";
import { ask, translate } from "../api.js";
import { RUN_COLOURS, isDark } from "../colour.js";
import { button, h, replace, slider, svg } from "../dom.js";
import { sinusoid } from "../formula.js";
import { heading, inks, legend, stacked } from "../frame.js";
import { Matrix } from "../matrix.js";

const WAVE = { width: 560, height: 130 };
const KINDS = {
  sinusoidal:
    "Sine and cosine waves, added to the embeddings: fast ones on the left, slow ones on the right.",
  learned: "A vector for each position, learned like an embedding and added to it.",
  rotary: "Cosine and sine of the angles by which queries and keys are turned: only distances matter.",
};

export function positions(session) {
  const { store } = session;
  let length = 48;
  let drawn = "";
  let found = null;
  let tried = "";
  let dimension = 0;
  const controls = h("div", { class: "controls" });
  const said = h("p", { class: "muted small" });
  const formula = h("div", { class: "formula", "aria-live": "polite" });
  const wave = h("div", { class: "wave" });
  const trial = h("div", { class: "trial" });
  const table = new Matrix({ label: "Encoding of each position, one column per dimension", point: explain });
  const scaleOf = h("div", {});
  const dots = new Matrix({ label: "Dot products of positions", point: explainDot });

  const view = {
    name: "positions",
    root: h("div", {}),
    caption: () => `${found?.kind} positions`,
    update,
    ofText: false,
    legend: () => found && [[legendOf(-largest(found.table)), legendOf(largest(found.table)), "encoding", true]],
    scene: () => found && stacked([table.scene(inks()), dots.scene(inks())], ["Encoding", "Dot products"]),
    table: () => found && table.table(),
  };
  replace(
    view.root,
    heading(
      view,
      "Positions",
      "Attention by itself does not know the order of words. This table adds it: one row per position, one column per dimension. Both count from 0, as in the formula.",
    ),
    trial,
    controls,
    said,
    table.element,
    scaleOf,
    h("div", { class: "two wave-and-formula" }, formula, wave),
    h("h3", { class: "spaced" }, "How alike two positions are"),
    h(
      "p",
      { class: "muted small" },
      "The dot product of row i and row j. With sinusoids and rotations it depends only on the distance, hence the stripes along the diagonal.",
    ),
    dots.element,
  );

  async function update() {
    tryWithout();
    const { run, step } = store.state;
    if (!session.run || session.run.status !== "ready") return;
    const key = `${run}|${step}|${length}|${session.run.weights.written}`;
    if (key === drawn) return;
    drawn = key;
    try {
      const answer = await ask("positions", { run, step, length });
      if (key !== drawn) return;
      found = answer;
      draw();
    } catch (error) {
      replace(said, h("span", { class: "problem" }, error.message));
    }
  }

  function draw() {
    const width = found.table[0].length;
    if (!controls.children.length) {
      replace(
        controls,
        slider("Positions", {
          min: 8,
          max: 128,
          step: 8,
          value: length,
          shown: String,
          change: (value) => {
            length = value;
            update();
          },
        }),
      );
    }
    replace(said, KINDS[found.kind]);
    // A label at every eighth is enough.
    const labels = (count) => Array.from({ length: count }, (_, at) => (at % 8 ? "" : String(at)));
    const most = largest(found.table);
    table.show({
      rows: length,
      cols: width,
      data: Float32Array.from(found.table.flat()),
      rowLabels: labels(length),
      colLabels: labels(width),
      scales: new Float32Array(length).fill(most),
      signed: true,
      most: 14,
      least: 2,
    });
    replace(scaleOf, legend(legendOf(-most), legendOf(most), "colours of the encoding", true));
    const high = largest(found.dots);
    dots.show({
      rows: length,
      cols: length,
      data: Float32Array.from(found.dots.flat()),
      rowLabels: labels(length),
      colLabels: labels(length),
      scales: new Float32Array(length).fill(high),
      signed: true,
      most: 11,
      least: 2,
    });
    explain(-1, -1);
  }

  function explain(row, col) {
    if (!found) return;
    if (row < 0) {
      replace(
        formula,
        h(
          "p",
          { class: "muted" },
          "Point at the table to see the formula with its numbers and the wave of that dimension.",
        ),
      );
      drawWave(dimension, -1);
      return;
    }
    dimension = col;
    const value = found.table[row][col];
    replace(
      formula,
      found.kind === "sinusoidal"
        ? sinusoid(row, col, found.table[0].length, value)
        : h("p", {}, `Position ${row}, dimension ${col}: ${value.toFixed(4)}`),
    );
    drawWave(col, row);
  }

  function explainDot(row, col) {
    if (row < 0 || !found) return;
    replace(
      formula,
      h(
        "p",
        {},
        `Positions ${row} and ${col}, ${Math.abs(row - col)} apart: dot product ${found.dots[row][col].toFixed(3)}`,
      ),
    );
  }

  function drawWave(dim, at) {
    const { width, height } = WAVE;
    const x = (place) => 8 + ((width - 16) * place) / (length - 1);
    const high = Math.max(1e-9, ...found.table.map((line) => Math.abs(line[dim])));
    const y = (value) => height / 2 - ((height - 24) / 2) * (value / high);
    const path = found.table
      .map((line, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(line[dim]).toFixed(1)}`)
      .join("");
    replace(
      wave,
      svg(
        "svg",
        { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Dimension ${dim} over positions` },
        svg("line", { class: "grid", x1: 8, x2: width - 8, y1: height / 2, y2: height / 2 }),
        svg("path", { class: "curve", d: path, stroke: RUN_COLOURS[isDark() ? "dark" : "light"][0] }),
        at >= 0 && svg("circle", { cx: x(at), cy: y(found.table[at][dim]), r: 4.5, class: "spot" }),
      ),
      h("p", { class: "muted small" }, `Dimension ${dim} over ${length} positions`),
    );
  }

  /** The sentence in order and shuffled, with positions and without. */
  async function tryWithout() {
    const { text, run, step, shuffle } = store.state;
    const ready = session.run?.status === "ready";
    const key = JSON.stringify([text, run, step, shuffle, session.run?.weights.written]);
    if (!ready || key === tried) return;
    tried = key;
    if (!text.trim()) {
      replace(trial);
      return;
    }
    if (!session.translates) {
      answersInOrder(key, text.trim(), shuffle);
      return;
    }
    if (!session.run.model.positions) {
      replace(
        trial,
        h(
          "p",
          { class: "muted" },
          "A recurrent model reads one word after the other: the order is in its state, not in a table.",
        ),
      );
      return;
    }
    const mixed = shuffled(text.trim().split(/\s+/), shuffle).join(" ");
    const texts = [text.trim(), mixed];
    const cells = texts.map(() =>
      ["with positions", "without"].map((name) =>
        h("td", { class: "muted", dir: "auto", "data-name": name }, "…"),
      ),
    );
    replace(
      trial,
      h(
        "table",
        { class: "said" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "sentence"),
            h("th", { scope: "col" }, "with positions"),
            h("th", { scope: "col" }, "positions removed"),
          ),
        ),
        h(
          "tbody",
          {},
          texts.map((each, at) => h("tr", {}, h("th", { scope: "row", dir: "auto" }, each), cells[at])),
        ),
      ),
      h(
        "p",
        { class: "muted small" },
        "Without positions the encoder sees a bag of words, so the order of the words changes nothing.",
      ),
      button("Shuffle the words again", () => store.set({ shuffle: shuffle + 1 })),
    );
    for (const [at, each] of texts.entries()) {
      for (const [place, with_] of [true, false].entries()) {
        const answer = await translate({ run, step, text: each, positions: with_ }, () => {}).catch(
          (error) => ({ problem: error.message }),
        );
        if (key !== tried) return;
        replace(cells[at][place], answer.problem ?? (answer.outputs[0]?.text || "(nothing)"));
        cells[at][place].classList.remove("muted");
      }
    }
  }

  /** What a model that does not translate says of a text in order, and shuffled. */
  async function answersInOrder(key, text, shuffle) {
    const { run, step } = store.state;
    const texts = [text, shuffled(text.split(/\s+/), shuffle).join(" ")];
    const cells = texts.map(() => h("td", { class: "muted", dir: "auto", "data-name": "answer" }, "…"));
    const titles = ["text", "answer"].map((title) => h("th", { scope: "col" }, title));
    const lines = texts.map((each, at) => h("tr", {}, h("th", { scope: "row", dir: "auto" }, each), cells[at]));
    replace(
      trial,
      h("table", { class: "said" }, h("thead", {}, h("tr", {}, titles)), h("tbody", {}, lines)),
      button("Shuffle the words again", () => store.set({ shuffle: shuffle + 1 })),
    );
    for (const [at, each] of texts.entries()) {
      const said = await ask("text", { run, step, text: each }).then(saidOf, (error) => error.message);
      if (key !== tried) return;
      replace(cells[at], said);
      cells[at].classList.remove("muted");
    }
  }

  return view;
}

const legendOf = (value) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(2);

function largest(rows) {
  return rows.reduce((most, row) => row.reduce((high, value) => Math.max(high, Math.abs(value)), most), 1e-9);
}

/** The words in another order, the same for the same seed. */
export function shuffled(words, seed) {
  let state = (seed * 2654435761) >>> 0;
  const draw = (most) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 374761393) >>> 0;
    return state % most;
  };
  const order = [...words];
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = draw(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}
