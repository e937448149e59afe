// Tables of numbers, tinted by their size and sign; a copy of a cell has all digits.

import { css, ink, isDark, shade, table as colourTable } from "./colour.js";
import { button, h, replace } from "./dom.js";
import { legend } from "./frame.js";
import { rect, text } from "./scene.js";

export function digits(value) {
  if (value === -Infinity) return "−∞";
  const size = Math.abs(value);
  const text =
    size !== 0 && size < 0.0005 ? size.toExponential(1) : size >= 1000 ? size.toFixed(0) : size.toFixed(4);
  return (value < 0 ? "−" : "") + text;
}

export function number(value, most, { signed = true, strong = false } = {}) {
  const properties = {
    class: strong ? "number strong" : "number",
    "data-value": value,
    title: String(value),
  };
  if (!most) return h("td", properties, digits(value));
  const colour = colourTable(isDark(), signed)[shade(value, most, signed)];
  return h("td", { ...properties, style: { background: css(colour), color: ink(colour) } }, digits(value));
}

export function largest(...lists) {
  return Math.max(1e-9, ...lists.flat().map(Math.abs));
}

/** Rows of long vectors, the first numbers of each until all are asked for. Below them the scale of
 * their colours, which is theirs alone.
 */
export function vectors(rows, { first = 8, dims = "d", labels = [] } = {}) {
  const box = h("div", { class: "vectors" });
  const width = Math.max(...rows.map(({ values }) => values.length));
  let all = width <= first;
  const most = largest(...rows.filter((each) => !each.plain).map(({ values }) => values));
  function draw() {
    const shown = all ? width : first;
    replace(
      box,
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers" },
        h(
          "table",
          { class: "numbers" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("td", {}),
              Array.from({ length: shown }, (_, at) => h("th", { scope: "col" }, labels[at] ?? `${dims}${at + 1}`)),
              h("td", {}),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map(({ name, values, sum, strong }) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, name),
                values.slice(0, shown).map((value) => number(value, most, { strong })),
                h("td", { class: "sum" }, sum ?? (all ? "" : "…")),
              ),
            ),
          ),
        ),
      ),
      width > first &&
        button(
          all ? "fewer" : `all ${width} numbers`,
          () => {
            all = !all;
            draw();
          },
          { class: "quiet" },
        ),
      legend(digits(-most), digits(most), "the colours of these rows", true),
    );
  }
  draw();
  return box;
}

/** The same rows as a picture: the first numbers of each, tinted by the same scale. */
export function vectorsScene(rows, { first = 8, inks }) {
  const [wide, high, left] = [62, 20, 150];
  const most = largest(...rows.map(({ values }) => values));
  const shown = Math.min(first, Math.max(...rows.map(({ values }) => values.length)));
  const style = { size: 11, anchor: "end" };
  const items = rows.flatMap(({ name, values, sum }, row) => {
    const y = row * high;
    const rest = sum ?? (values.length > shown ? `… ${values.length} numbers` : "");
    return [
      text(left - 8, y + 14, name, { ...style, fill: inks.ink }),
      ...values.slice(0, shown).flatMap((value, at) => {
        const colour = colourTable(isDark(), true)[shade(value, most, true)];
        const x = left + at * wide;
        return [
          rect(x, y, wide - 1, high - 1, css(colour)),
          text(x + wide - 6, y + 14, digits(value), { ...style, fill: ink(colour) }),
        ];
      }),
      text(left + shown * wide + 8, y + 14, rest, { size: 11, fill: inks.muted }),
    ];
  });
  const note = `colours from ${digits(-most)} to ${digits(most)}`;
  items.push(text(left, rows.length * high + 14, note, { size: 10.5, fill: inks.muted }));
  return { width: left + shown * wide + 130, height: rows.length * high + 24, items };
}
