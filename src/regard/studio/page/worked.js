// A small example to work by hand: numbers to type, results that stay hidden until asked for.

import { button, h, replace, toggle } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { text } from "./scene.js";
import { digits } from "./strips.js";

const NEAR = 0.005;

export function latex(name, matrix) {
  const cell = (value) => (value === -Infinity ? "-\\infty" : String(+value.toFixed(4)));
  const body = matrix.map((line) => line.map(cell).join(" & ")).join(" \\\\ ");
  return `${name} = \\begin{pmatrix} ${body} \\end{pmatrix}`;
}

/** "W^K" and "h_{t-1}" as they are written by hand. */
function written(name) {
  const [, base, mark, index] = name.match(/^([^_^]+)([_^]?)\{?([^}]*)\}?$/);
  if (!mark) return base;
  return [base, h(mark === "^" ? "sup" : "sub", {}, index.replace("-", "−"))];
}

export function workedExample(name) {
  const example = EXAMPLES[name];
  const given = structuredClone(example.given);
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
      `${example.about} Change any number, work a result out on paper, then check it or show it.`,
    ),
    example.formula(),
    inputs,
    results,
  );
  const steps = () => example.steps(given, causal);

  function drawInputs() {
    replace(
      inputs,
      Object.entries(given).map(([name, matrix]) =>
        h(
          "div",
          { class: "small-matrix" },
          h("h3", {}, written(name)),
          grid(matrix, (value, row, col) => entry(name, row, col, value)),
        ),
      ),
      h(
        "div",
        { class: "worked-buttons" },
        example.masked &&
          toggle(
            "causal mask",
            causal,
            (on) => {
              causal = on;
              drawResults();
            },
            "No token may look at later ones",
          ),
        button("Reset the numbers", () => {
          Object.assign(given, structuredClone(example.given));
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
    replace(
      results,
      steps().map(([step, title, hint, matrix]) =>
        h(
          "div",
          { class: "small-matrix" },
          h("h3", {}, title),
          h("p", { class: "muted small" }, hint),
          grid(matrix, (value, row, col) =>
            open.has(step)
              ? h("span", { class: "number", "data-value": value }, digits(value))
              : check(title, row, col, value),
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
  function check(title, row, col, value) {
    const box = h("input", {
      type: "text",
      inputmode: "decimal",
      placeholder: "?",
      "aria-label": `Your ${title}, row ${row + 1}, column ${col + 1}`,
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
    const lines = [
      ...Object.entries(given).map(([name, matrix]) => latex(name, matrix)),
      ...steps().map(([name, , , matrix]) => latex(name, matrix)),
    ];
    try {
      await navigator.clipboard.writeText(lines.join("\n"));
      where.textContent = "Copied";
    } catch {
      where.textContent = "This browser does not allow copying";
    }
    setTimeout(() => (where.textContent = "Copy as LaTeX"), 1600);
  }

  /** All matrices, given and found, with their names. */
  function all() {
    return [...Object.entries(given), ...steps().map(([, title, , matrix]) => [title, matrix])];
  }

  function table() {
    const cell = (value) => (value === -Infinity ? "-inf" : value);
    return all().flatMap(([name, matrix]) => [[name], ...matrix.map((line) => line.map(cell)), []]);
  }

  function scene({ ink, muted }) {
    const items = [];
    let y = 8;
    for (const [name, matrix] of all()) {
      items.push(text(12, (y += 20), name, { fill: ink, size: 13, weight: 600 }));
      for (const line of matrix) {
        y += 18;
        line.forEach((value, at) =>
          items.push(text(70 + 70 * at, y, digits(value), { fill: muted, size: 12, anchor: "end" })),
        );
      }
      y += 10;
    }
    return { width: 320, height: y + 8, items };
  }

  drawInputs();
  drawResults();
  return { element, table, scene };
}

function grid(matrix, cell) {
  const line = (values, row) =>
    h(
      "tr",
      {},
      values.map((value, col) => h("td", {}, cell(value, row, col))),
    );
  return h("table", {}, h("tbody", {}, matrix.map(line)));
}
