// Beam: everything the search considered, what it kept and what it dropped.

import { ask } from "../api.js";
import { css, ink as inkOn, isDark, shade, table as colourTable } from "../colour.js";
import { button, h, redraw, replace, slider, svg, toggle } from "../dom.js";
import { heading, inks, legend } from "../frame.js";
import { END, fixed, percent, plain, readable } from "../pieces.js";
import * as pictures from "../scene.js";
import { neighbour, pathTo, placed, reranked } from "../treeplace.js";

const PAUSE_MS = 300;
const [WIDE, HIGH, BOX, TALL] = [104, 36, 78, 26];

export function beam(session) {
  const { store } = session;
  let drawn = "";
  let tree = null;
  let place = null;
  let pruned = true;
  let chosen = null;
  let penalty = 1;
  let timer = 0;
  const controls = h("div", { class: "controls" });
  const drawing = svg("svg", {
    class: "tree",
    role: "group",
    "aria-label": "Search tree; arrow keys move, Enter chooses",
  });
  const box = h("div", { class: "tree-box" }, drawing);
  const about = h("div", { class: "about", "aria-live": "polite" });
  const ranking = h("div", {});

  const view = {
    name: "beam",
    root: h("div", {}),
    caption: () => `Beam search of ${store.state.text}`,
    update,
    scene,
    legend: () => [["0", "1", "probability of the token; thick line: the best output"]],
    table: () =>
      tree && [
        ["id", "parent", "step", "token", "log_probability", "total", "rank", "fate"],
        ...tree.nodes.map((node) => [
          node.id,
          node.parent,
          node.step,
          tree.pieces[node.id],
          node.log_probability,
          node.total,
          node.rank + 1,
          node.fate,
        ]),
      ],
  };
  replace(
    view.root,
    heading(
      view,
      "Beam",
      "Each column is a step; higher is better. Filled boxes were continued, faint ones dropped. Choose a node to continue from there.",
    ),
    controls,
    h(
      "div",
      { class: "legend-row" },
      legend("0", "1", "probability of the token"),
      h("span", { class: "key muted" }, "thick line: the best output"),
    ),
    box,
    h("div", { class: "two" }, about, ranking),
  );

  async function update() {
    const { result } = session;
    if (!result.translation?.outputs.length) {
      if (result.busy) return;
      [drawn, tree, place, chosen] = ["", null, null, null];
      for (const part of [controls, drawing, ranking]) replace(part);
      replace(about, h("p", { class: "muted" }, "Type a sentence to see the search for its translation."));
      drawing.setAttribute("height", 0);
      return;
    }
    const { model, changes, sentence } = result.question;
    const body = { ...model, ...changes, ...sentence };
    const key = JSON.stringify(body);
    if (key === drawn) return drawRanking();
    drawn = key;
    penalty = sentence.length_penalty;
    try {
      const found = await ask("tree", body);
      if (key !== drawn) return;
      tree = found;
      chosen = null;
      drawControls(sentence);
      draw();
    } catch (error) {
      replace(about, h("p", { class: "problem" }, error.message));
    }
  }

  function drawControls(sentence) {
    redraw(
      controls,
      "beam",
      slider("Beam size", {
        min: 1,
        max: 10,
        step: 1,
        value: sentence.beam_size,
        shown: String,
        change: (size) => store.set({ beam: size, adopted: [] }),
      }),
      slider("Length penalty", {
        min: 0,
        max: 3,
        step: 0.1,
        value: penalty,
        shown: (value) => value.toFixed(1),
        change: (value) => {
          penalty = value;
          drawRanking(); // at once; then the search is run with it
          clearTimeout(timer);
          timer = setTimeout(() => store.set({ penalty: value, adopted: [] }), PAUSE_MS);
        },
      }),
      toggle("dropped branches", pruned, (on) => {
        pruned = on;
        draw();
      }),
    );
  }

  function bestPath() {
    const [best] = reranked(tree.nodes, penalty);
    return best ? new Set(pathTo(place.byId, best.id).map((node) => node.id)) : new Set();
  }

  function draw() {
    const inside = drawing.contains(document.activeElement);
    place = placed(tree, { pruned });
    chosen = place.byId.get(chosen?.id) ?? null;
    const onBest = bestPath();
    drawing.setAttribute("width", place.columns * WIDE + 8);
    drawing.setAttribute("height", place.rows * HIGH + 30);
    replace(
      drawing,
      Array.from({ length: place.columns }, (_, at) =>
        svg("text", { class: "tick", x: at * WIDE + BOX / 2 + 2, y: 14, "text-anchor": "middle" }, at + 1),
      ),
      place.nodes.map((node) => edge(node, onBest)),
      place.nodes.map((node) => boxOf(node, onBest)),
    );
    drawAbout();
    drawRanking();
    if (inside) drawing.querySelector('.node[tabindex="0"]')?.focus();
  }

  const corner = (node) => [node.x * WIDE + 2, node.y * HIGH + 24];

  function edge(node, onBest) {
    const parent = place.byId.get(node.parent);
    if (!parent) return null;
    const [[x1, y1], [x2, y2]] = [corner(parent), corner(node)];
    const [from, to] = [x1 + BOX, y1 + TALL / 2];
    const middle = (from + x2) / 2;
    const best = onBest.has(node.id);
    return svg("path", {
      class: `edge ${node.fate} ${best ? "best" : ""}`,
      "data-id": node.id,
      d: `M${from} ${to}C${middle} ${to} ${middle} ${y2 + TALL / 2} ${x2} ${y2 + TALL / 2}`,
    });
  }

  function boxOf(node, onBest) {
    const [x, y] = corner(node);
    const share = Math.exp(node.log_probability);
    const colour = colourTable(isDark())[shade(share, 1)];
    const label = node.token === tree.end ? END : readable(node.piece);
    const faded = node.fate === "pruned";
    const first = node.id === (chosen ?? place.first)?.id;
    return svg(
      "g",
      {
        class: `node ${node.fate} ${onBest.has(node.id) ? "best" : ""} ${chosen?.id === node.id ? "chosen" : ""}`,
        tabindex: first ? 0 : -1,
        role: "button",
        "aria-label": `Step ${node.x + 1}, ${label}, ${percent(node.log_probability)}, ${node.fate}`,
        "data-id": node.id,
        on: {
          click: () => select(node),
          focus: () => chosen !== node && select(node),
          keydown: (event) => key(event, node),
        },
      },
      svg("rect", { x, y, width: BOX, height: TALL, rx: 6, fill: faded ? "none" : css(colour) }),
      svg(
        "text",
        { x: x + BOX / 2, y: y + 17.5, "text-anchor": "middle", fill: faded ? null : inkOn(colour) },
        label.length > 10 ? `${label.slice(0, 9)}…` : label,
      ),
    );
  }

  function select(node) {
    chosen = node;
    for (const each of drawing.querySelectorAll(".node")) {
      const on = Number(each.dataset.id) === node.id;
      each.classList.toggle("chosen", on);
      each.setAttribute("tabindex", on ? 0 : -1);
    }
    drawAbout();
  }

  function key(event, node) {
    if (event.key === "Enter" || event.key === " ") take(node);
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(place, node, event.key);
      if (next) drawing.querySelector(`.node[data-id="${next.id}"]`).focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** A finished output is shown in all views; from any other node, decoding continues. */
  function take(node) {
    const ids = pathTo(place.byId, node.id)
      .map((each) => each.token)
      .filter((token) => token !== tree.end);
    if (node.fate === "finished") store.set({ adopted: ids });
    else store.set({ prefix: ids, typed: "", adopted: [] });
  }

  function drawAbout() {
    if (!chosen) {
      replace(about, h("p", { class: "muted" }, "Choose a node to see whether it was kept, and why."));
      return;
    }
    const path = pathTo(place.byId, chosen.id);
    const text = plain(path.filter((node) => node.token !== tree.end).map((node) => node.piece));
    replace(
      about,
      h("p", { class: "big", dir: "auto" }, text || "(nothing)", chosen.token === tree.end ? " ∎" : " …"),
      h(
        "dl",
        { class: "facts" },
        h("dt", {}, "probability of this token"),
        h("dd", {}, percent(chosen.log_probability)),
        h("dt", {}, "log-probability so far"),
        h("dd", {}, fixed(chosen.total)),
        h("dt", {}, "rank at its step"),
        h("dd", {}, chosen.rank + 1),
        h("dt", {}, chosen.fate),
        h("dd", {}, chosen.why),
      ),
      button(
        chosen.fate === "finished" ? "Show this output in every view" : "Continue from here",
        () => take(chosen),
        {},
      ),
    );
  }

  function drawRanking() {
    if (!tree || !place) return;
    const now = String(session.result.trace?.output.ids);
    const onBest = bestPath();
    for (const each of drawing.querySelectorAll(".node, .edge")) {
      each.classList.toggle("best", onBest.has(Number(each.dataset.id)));
    }
    replace(
      ranking,
      h("h3", {}, `Outputs, length penalty ${penalty.toFixed(1)}`),
      h(
        "ol",
        { class: "outputs" },
        reranked(tree.nodes, penalty).map((node) => {
          const path = pathTo(place.byId, node.id).filter((each) => each.token !== tree.end);
          const ids = path.map((each) => each.token);
          return h(
            "li",
            { class: String(ids) === now ? "taken" : "" },
            h("span", { class: "score" }, fixed(node.score)),
            button(plain(path.map((each) => each.piece)) || "(nothing)", () => store.set({ adopted: ids }), {
              class: "plain",
              dir: "auto",
            }),
          );
        }),
      ),
      h(
        "p",
        { class: "muted small" },
        "Score: log-probability ÷ length to the power of the penalty. At 0 short outputs have an advantage.",
      ),
    );
  }

  function scene() {
    if (!place) return null;
    const { ink, line } = inks();
    const onBest = bestPath();
    const items = [];
    for (const node of place.nodes) {
      const parent = place.byId.get(node.parent);
      if (!parent) continue;
      const [[x1, y1], [x2, y2]] = [corner(parent), corner(node)];
      const best = onBest.has(node.id);
      items.push(
        pictures.line(
          [
            [x1 + BOX, y1 + TALL / 2],
            [x2, y2 + TALL / 2],
          ],
          best ? ink : line,
          best ? 2.5 : 1,
        ),
      );
    }
    for (const node of place.nodes) {
      const [x, y] = corner(node);
      const colour = colourTable(isDark())[shade(Math.exp(node.log_probability), 1)];
      const faded = node.fate === "pruned";
      if (!faded) items.push(pictures.rect(x, y, BOX, TALL, css(colour)));
      items.push(
        pictures.text(x + BOX / 2, y + 17, node.token === tree.end ? END : readable(node.piece), {
          fill: faded ? inks().muted : inkOn(colour),
          size: 12,
          anchor: "middle",
        }),
      );
    }
    return { width: place.columns * WIDE + 8, height: place.rows * HIGH + 34, items };
  }

  return view;
}
