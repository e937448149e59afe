// A small attention to work by hand: numbers to type, results that stay hidden until asked for.

import { button, h, replace, toggle } from "./dom.js";
import { scaledDotProduct } from "./formula.js";
import { digits } from "./strips.js";
import { softmax } from "./weights.js";

const START = {
  Q: [
    [1, 0, 1, 0],
    [0, 2, 0, 1],
    [1, 1, 0, 0],
  ],
  K: [
    [1, 1, 0, 0],
    [0, 1, 1, 0],
    [1, 0, 1, 1],
  ],
  V: [
    [1, 0, 2, 0],
    [0, 3, 0, 1],
    [2, 1, 0, 1],
  ],
};
const STEPS = [
  ["scores", "S = QKᵀ", "Row i, column j: the dot product of query i and key j."],
  ["scaled", "S / √d", "Divided by the square root of the width, here √4 = 2."],
  ["weights", "A = softmax by row", "e to each number, divided by the sum of its row."],
  ["output", "A V", "Each row is a mean of the rows of V, by the weights."],
];
const NEAR = 0.005;

/** All of the attention of small matrices: {scores, scaled, weights, output}. */
export function attention({ Q, K, V }, causal) {
  const scores = Q.map((q) => K.map((k) => q.reduce((sum, value, at) => sum + value * k[at], 0)));
  const scaled = scores.map((line, i) =>
    line.map((value, j) => (causal && j > i ? -Infinity : value / Math.sqrt(K[0].length))),
  );
  const weights = scaled.map(softmax);
  const output = weights.map((line) =>
    V[0].map((_, dim) => line.reduce((sum, weight, at) => sum + weight * V[at][dim], 0)),
  );
  return { scores, scaled, weights, output };
}

export function latex(name, matrix) {
  const cell = (value) => (value === -Infinity ? "-\\infty" : String(+value.toFixed(4)));
  const body = matrix.map((line) => line.map(cell).join(" & ")).join(" \\\\ ");
  return `${name} = \\begin{pmatrix} ${body} \\end{pmatrix}`;
}

export function workedExample() {
  const given = structuredClone(START);
  const open = new Set();
  let causal = false;
  const results = h("div", { class: "worked-results" });
  const inputs = h("div", { class: "worked-inputs" });
  const element = h(
    "div",
    { class: "worked" },
    h(
      "p",
      { class: "muted" },
      "Three tokens, vectors of four numbers. Change any number, work a result out on paper, then check it or show it.",
    ),
    scaledDotProduct(),
    inputs,
    results,
  );

  function drawInputs() {
    replace(
      inputs,
      Object.entries(given).map(([name, matrix]) =>
        h(
          "div",
          { class: "small-matrix" },
          h("h3", {}, name),
          h(
            "table",
            {},
            h(
              "tbody",
              {},
              matrix.map((line, row) =>
                h(
                  "tr",
                  {},
                  line.map((value, col) => h("td", {}, entry(name, row, col, value))),
                ),
              ),
            ),
          ),
        ),
      ),
      h(
        "div",
        { class: "worked-buttons" },
        toggle(
          "causal mask",
          causal,
          (on) => {
            causal = on;
            drawResults();
          },
          "Nothing may look at what comes after it",
        ),
        button("First numbers again", () => {
          Object.assign(given, structuredClone(START));
          drawInputs();
          drawResults();
        }),
        button("Copy as LaTeX", (event) => copy(event.currentTarget)),
      ),
    );
  }

  function entry(name, row, col, value) {
    const box = h("input", {
      type: "number",
      step: "any",
      "aria-label": `${name}, row ${row + 1}, column ${col + 1}`,
      on: {
        input: () => {
          const typed = Number(box.value);
          if (box.value !== "" && Number.isFinite(typed)) {
            given[name][row][col] = typed;
            drawResults();
          }
        },
      },
    });
    box.value = String(value);
    return box;
  }

  function drawResults() {
    const found = attention(given, causal);
    replace(
      results,
      STEPS.map(([step, title, hint]) =>
        h(
          "div",
          { class: "small-matrix" },
          h("h3", {}, title),
          h("p", { class: "muted small" }, hint),
          h(
            "table",
            {},
            h(
              "tbody",
              {},
              found[step].map((line, row) =>
                h(
                  "tr",
                  {},
                  line.map((value, col) =>
                    h(
                      "td",
                      {},
                      open.has(step)
                        ? h("span", { class: "number", "data-value": value }, digits(value))
                        : check(step, row, col, value),
                    ),
                  ),
                ),
              ),
            ),
          ),
          button(
            open.has(step) ? "Hide" : "Show",
            () => {
              if (!open.delete(step)) open.add(step);
              drawResults();
            },
            { class: "quiet", "aria-label": `${open.has(step) ? "Hide" : "Show"} ${title}` },
          ),
        ),
      ),
    );
  }

  /** A field that says whether what was typed is right, to two digits. */
  function check(step, row, col, value) {
    const box = h("input", {
      type: "text",
      inputmode: "decimal",
      placeholder: "?",
      "aria-label": `Your ${step}, row ${row + 1}, column ${col + 1}`,
      on: {
        input: () => {
          const typed = Number(box.value.replace("−", "-").replace(",", "."));
          const right =
            value === -Infinity
              ? /^[-−](∞|inf)/.test(box.value)
              : box.value !== "" && Math.abs(typed - value) <= NEAR + 1e-9;
          box.className = box.value === "" ? "" : right ? "right" : "wrong";
          box.setAttribute("aria-invalid", String(box.value !== "" && !right));
        },
      },
    });
    return box;
  }

  async function copy(where) {
    const found = attention(given, causal);
    const lines = [
      ...Object.entries(given).map(([name, matrix]) => latex(name, matrix)),
      latex("A", found.weights),
      latex("AV", found.output),
    ];
    try {
      await navigator.clipboard.writeText(lines.join("\n"));
      where.textContent = "Copied";
    } catch {
      where.textContent = "This browser does not let a page copy";
    }
    setTimeout(() => (where.textContent = "Copy as LaTeX"), 1600);
  }

  function table() {
    const found = attention(given, causal);
    const rows = [];
    for (const [name, matrix] of [...Object.entries(given), ...Object.entries(found)]) {
      rows.push(
        [name],
        ...matrix.map((line) => line.map((value) => (value === -Infinity ? "-inf" : value))),
        [],
      );
    }
    return rows;
  }

  drawInputs();
  drawResults();
  return { element, table };
}
