// What every view has around it: title, one line of explanation, export, a legend.

import { css, isDark, table as colours } from "./colour.js";
import { button, h } from "./dom.js";
import { download, text, toCsv, toPng, toSvg } from "./scene.js";

export function inks() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return { ink: read("--ink"), muted: read("--muted"), line: read("--line"), paper: read("--paper") };
}

/** A view's heading. `view` has scene() and table(), which may return null. */
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

export async function save(view, kind) {
  const name = `regard-${view.name}`;
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

/** The picture with its title below, so that it explains itself. */
function captioned(picture, view) {
  const { muted, paper } = inks();
  const caption = text(8, picture.height + 18, view.caption(), { fill: muted, size: 11 });
  return {
    ...picture,
    background: paper,
    width: Math.max(picture.width, 320),
    height: picture.height + 28,
    items: [...picture.items, caption],
  };
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
