// What every view has around it: title, one line of explanation, export, a legend.

import { css, isDark, table as colours } from "./colour.js";
import { button, h } from "./dom.js";
import { download, rect, text, toCsv, toPng, toSvg, wrapped } from "./scene.js";
import { parse } from "./state.js";

export function inks() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), muted: read("--muted"), line: read("--line"), paper: read("--paper") };
}

/** A view's heading. `view` has scene() and table(), which may return null, and may have legend(): what
 * the colours of its picture mean. `explanation` is a sentence, or an element that the view fills.
 */
export function heading(view, title, explanation) {
  return h(
    "div",
    { class: "view-head" },
    h("div", {}, h("h2", {}, title), h("p", { class: "explain" }, explanation)),
    h(
      "div",
      { class: "exports", role: "group", "aria-label": "Export" },
      ["SVG", "PNG", "CSV"].map((kind) =>
        button(kind, () => save(view, kind), { class: "quiet", title: `Save this view as ${kind}` }),
      ),
      button("Link", (event) => copyLink(event.currentTarget), {
        class: "quiet",
        title: "Copy a link that restores this view",
      }),
    ),
  );
}

async function copyLink(where) {
  try {
    await navigator.clipboard.writeText(location.href);
    where.textContent = "Copied";
  } catch {
    where.textContent = "The link is in the address bar";
  }
  setTimeout(() => (where.textContent = "Link"), 1600);
}

/** What a file of a view is called: the view, the run, and the words that it shows. */
export function fileName(view) {
  const words = view.ofText === false ? "" : parse(location.hash).text;
  const parts = ["regard", view.name, document.body.dataset.run, words].map((part) =>
    String(part ?? "").toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu)?.join("-"),
  );
  return cut(parts.filter(Boolean).join("-"), 72);
}

const cut = (name, most) => (name.length <= most ? name : name.slice(0, most).replace(/-[^-]*$/, ""));

export async function save(view, kind) {
  const name = fileName(view);
  if (kind === "CSV") {
    const rows = view.table();
    if (rows) download(`${name}.csv`, toCsv(rows), "text/csv;charset=utf-8");
    return;
  }
  const found = view.scene();
  if (!found) return;
  const picture = captioned(found, view);
  if (kind === "SVG") download(`${name}.svg`, toSvg(picture), "image/svg+xml");
  else download(`${name}.png`, await toPng(picture));
}

/** The picture with its colour scale and its title below, so that it explains itself. */
function captioned(picture, view) {
  const { ink, muted, paper } = inks();
  const width = Math.max(picture.width, 360);
  const items = [...picture.items];
  let height = picture.height;
  for (const [low, high, note, signed] of view.legend?.() ?? []) {
    items.push(...scale(8, height + 10, { low, high, note, signed, ink: muted }));
    height += 22;
  }
  for (const line of wrapped(view.caption(), width - 16, 11)) {
    items.push(text(8, height + 18, line, { fill: ink, size: 11 }));
    height += 15;
  }
  return { ...picture, background: paper, width, height: height + 14, items };
}

/** The colour scale as a part of a picture. */
function scale(x, y, { low, high, note, signed = false, ink }) {
  const [wide, parts] = [120, 40];
  const from = x + 8 + wrapped.width(low, 11);
  const ramp = colours(isDark(), signed);
  const style = { fill: ink, size: 11 };
  return [
    text(x, y + 9, low, style),
    ...Array.from({ length: parts }, (_, at) =>
      rect(from + (at * wide) / parts, y, wide / parts + 0.3, 10, css(ramp[Math.round((255 * at) / (parts - 1))])),
    ),
    text(from + wide + 8, y + 9, [high, note].filter(Boolean).join("  ·  "), style),
  ];
}

/** The colour scale, from `low` to `high`. */
export function legend(low, high, note, signed = false) {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    css(colours(isDark(), signed)[Math.round(255 * share)]),
  );
  return h(
    "div",
    { class: "legend" },
    h("span", {}, low),
    h("span", { class: "ramp", style: { background: `linear-gradient(to right, ${stops.join(", ")})` } }),
    h("span", {}, high),
    note && h("span", { class: "muted" }, note),
  );
}

/** Several pictures below one another in one file. */
export function stacked(pictures, titles) {
  const { ink } = inks();
  let height = 0;
  let width = 0;
  const items = [];
  pictures.forEach((picture, at) => {
    items.push(text(8, height + 18, titles[at], { fill: ink, size: 13, weight: 600 }));
    height += 28;
    items.push(...picture.items.map((item) => moved(item, 0, height)));
    height += picture.height + 12;
    width = Math.max(width, picture.width);
  });
  return { width, height, items };
}

export function moved(item, right, down) {
  if (item.points) return { ...item, points: item.points.map(([x, y]) => [x + right, y + down]) };
  return { ...item, x: item.x + right, y: item.y + down };
}
