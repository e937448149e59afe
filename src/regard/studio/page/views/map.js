// Map: the words of a run as points, near each other where their vectors are alike.

import { ask } from "../api.js";
import { RUN_COLOURS, isDark } from "../colour.js";
import { button, h, replace, slider, svg } from "../dom.js";
import { heading, inks } from "../frame.js";
import { fitting, labels, nearest, placed } from "../wordplace.js";
import * as scene from "../scene.js";

const HEIGHT = 560;
const PAUSE_MS = 250;
const REACH = 14; // pixels from a point at which the pointer means it
const CLOSEST = 60;

export function map(session) {
  const { store } = session;
  let found = null; // the words and their places
  let drawn = "";
  let pointed = ""; // the word under the pointer
  let around = null; // the word that is asked about, and its neighbours
  let view_ = null; // which part of the map is seen: {scale, x, y}
  let timer = 0;
  let frame = 0;
  const kept = new Map(); // neighbours by word

  const box = h("input", {
    type: "search",
    class: "word-search",
    placeholder: "Search a word …",
    spellcheck: "false",
    "aria-label": "Search a word",
    on: {
      input: () => {
        clearTimeout(timer);
        timer = setTimeout(() => choose(box.value.trim()), PAUSE_MS);
      },
      keydown: (event) => {
        if (event.key === "Enter") choose(box.value.trim());
        else if (event.key === "Escape") choose("");
      },
    },
  });
  const controls = h("div", { class: "controls" });
  const said = h("p", { class: "muted small" });
  const drawing = svg("svg", {
    class: "word-map",
    height: HEIGHT,
    role: "img",
    "aria-label": "Map of words",
    on: {
      pointermove: point,
      pointerleave: () => point(null),
      pointerdown: drag,
      wheel: (event) => {
        event.preventDefault();
        zoom(event.deltaY < 0 ? 1.25 : 0.8, [event.offsetX, event.offsetY]);
      },
    },
  });
  const panel = h("div", { class: "word-panel", "aria-live": "polite" });

  const view = {
    name: "map",
    root: h("div", {}),
    caption: () => `${session.run.name}: ${found.words.length} of ${found.total} words, two principal components`,
    update,
    scene: () => found && picture(),
    table: () => found && [["word", "x", "y"], ...found.words.map((word, at) => [word, ...found.points[at]])],
  };
  replace(
    view.root,
    heading(
      view,
      "Map",
      "Each point is a word, seen from where the vectors differ most: the two principal components. Neighbours are found with all numbers of the vectors, so they need not be near on the map.",
    ),
    controls,
    h("div", { class: "word-view" }, h("div", {}, drawing, said), panel),
  );
  new ResizeObserver(() => draw()).observe(drawing);

  async function update() {
    const { run, step, shown, near: word } = store.state;
    if (!session.run || session.run.status !== "ready") return;
    if (!controls.children.length) drawControls();
    const key = `${run}|${step}|${shown}`;
    if (key !== drawn) {
      drawn = key;
      kept.clear();
      try {
        const answer = await ask("word_map", { run, step, count: shown });
        if (key !== drawn) return;
        found = answer;
        view_ = null;
        const seen = `${found.words.length.toLocaleString("en")} of ${found.total.toLocaleString("en")}`;
        replace(said, `${seen} words, the most frequent ones; the map shows ${(100 * found.share).toFixed(0)} % of how they differ.`);
        draw();
      } catch (error) {
        drawn = "";
        found = null;
        replace(said, h("span", { class: "problem" }, error.message));
        return;
      }
    }
    if (document.activeElement !== box) box.value = word;
    await look(pointed || word);
  }

  function drawControls() {
    replace(
      controls,
      box,
      slider("Words", {
        min: 100,
        max: 3000,
        step: 100,
        value: store.state.shown,
        shown: String,
        change: (shown) => {
          clearTimeout(timer);
          timer = setTimeout(() => store.set({ shown }), PAUSE_MS);
        },
      }),
      h(
        "div",
        { class: "exports", role: "group", "aria-label": "Zoom" },
        button("+", () => zoom(1.6), { title: "Nearer", "aria-label": "Nearer" }),
        button("−", () => zoom(1 / 1.6), { title: "Farther", "aria-label": "Farther" }),
        button("Whole map", () => {
          view_ = null;
          draw();
        }),
      ),
    );
  }

  function choose(word) {
    clearTimeout(timer);
    if (word !== store.state.near) store.set({ near: word });
  }

  /** Fetch and show the neighbours of a word; "" shows none. */
  async function look(word) {
    if (!found) return;
    if (!word) {
      around = null;
      replace(
        panel,
        h("p", { class: "muted" }, "Point at a word, or search for one, to see which words are most similar to it."),
      );
      draw();
      return;
    }
    const { run, step, shown } = store.state;
    try {
      if (!kept.has(word)) kept.set(word, await ask("near", { run, step, count: shown, word }));
      if ((pointed || store.state.near) !== word) return;
      around = kept.get(word).words;
      listNeighbours();
    } catch (error) {
      if ((pointed || store.state.near) !== word) return;
      around = null;
      replace(panel, h("p", { class: "problem" }, error.message));
    }
    draw();
  }

  function listNeighbours() {
    const [own, ...others] = around;
    replace(
      panel,
      h("h3", { dir: "auto" }, own.word),
      h(
        "ol",
        { class: "candidates near-words" },
        others.map(({ word, similarity }) =>
          h(
            "li",
            {},
            h(
              "button",
              { type: "button", title: "Show the neighbours of this word", on: { click: () => choose(word) } },
              h("span", { class: "piece", dir: "auto" }, word),
              h("span", { class: "bar" }, h("span", { style: { width: `${100 * Math.max(0, similarity)}%` } })),
              h("span", { class: "share", "data-value": similarity }, similarity.toFixed(2)),
            ),
          ),
        ),
      ),
    );
  }

  /** What is drawn at this size: points, lines to neighbours, and labels that do not overlap. */
  function layout(width, height) {
    view_ ??= fitting(found.points, width, height);
    const at = (point) => placed(point, view_);
    const all = found.words.map((word, place) => ({ word, at: at(found.points[place]) }));
    const lit = (around ?? []).map(({ word, point }) => ({ word, at: at(point), lit: true }));
    const names = new Set(lit.map(({ word }) => word));
    const rest = all.filter(({ word }) => !names.has(word));
    const inside = ({ at: [x, y] }) => x > -20 && y > -20 && x < width + 20 && y < height + 20;
    return {
      points: rest.filter(inside),
      lit,
      labels: labels([...lit, ...rest].filter(inside), width, height),
    };
  }

  function draw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  }

  function paint() {
    const { width } = drawing.getBoundingClientRect();
    if (!found || !width) return;
    const { points, lit, labels: named } = layout(width, HEIGHT);
    const accent = RUN_COLOURS[isDark() ? "dark" : "light"][Math.min(1, store.state.run)];
    const [own, ...others] = lit;
    replace(
      drawing,
      points.map(({ word, at }) =>
        svg("circle", { class: "dot", cx: at[0], cy: at[1], r: 2.2, "data-word": word }),
      ),
      others.map(({ at }) =>
        svg("line", { class: "tie", x1: own.at[0], y1: own.at[1], x2: at[0], y2: at[1], stroke: accent }),
      ),
      lit.map(({ word, at }, place) =>
        svg("circle", { cx: at[0], cy: at[1], r: place ? 3.5 : 5, fill: accent, "data-word": word }),
      ),
      named.map(({ word, x, y, lit: isLit }) =>
        svg("text", { class: isLit ? "word lit" : "word", x, y }, word),
      ),
    );
  }

  function point(event) {
    const place = event && [event.offsetX, event.offsetY];
    const word = (event && found && view_ && nearest(found, view_, place, REACH)) || "";
    drawing.style.cursor = word ? "pointer" : "grab";
    if (word === pointed) return;
    pointed = word;
    look(pointed || store.state.near);
  }

  /** Move the map; a press that does not move chooses the word under it. */
  function drag(event) {
    const begin = { x: event.clientX, y: event.clientY, ...view_ };
    let moved = false;
    drawing.setPointerCapture(event.pointerId);
    const move = (next) => {
      const [right, down] = [next.clientX - begin.x, next.clientY - begin.y];
      moved ||= Math.hypot(right, down) > 4;
      if (!moved) return;
      view_ = { ...view_, left: begin.left + right, top: begin.top + down };
      draw();
    };
    const end = () => {
      drawing.removeEventListener("pointermove", move);
      if (!moved) choose(pointed);
    };
    drawing.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) drawing.addEventListener(name, end, { once: true });
  }

  function zoom(by, place) {
    if (!view_) return;
    const [x, y] = place ?? [drawing.getBoundingClientRect().width / 2, HEIGHT / 2];
    const scale = Math.min(view_.least * CLOSEST, Math.max(view_.least, view_.scale * by));
    const share = scale / view_.scale;
    view_ = { ...view_, scale, left: x - (x - view_.left) * share, top: y - (y - view_.top) * share };
    draw();
  }

  function picture() {
    const { ink, muted, line } = inks();
    const width = Math.max(480, drawing.getBoundingClientRect().width);
    const { points, lit, labels: named } = layout(width, HEIGHT);
    const accent = RUN_COLOURS[isDark() ? "dark" : "light"][Math.min(1, store.state.run)];
    const [own, ...others] = lit;
    return {
      width,
      height: HEIGHT,
      items: [
        ...points.map(({ at }) => scene.circle(at[0], at[1], 2.2, line)),
        ...others.map(({ at }) => scene.line([own.at, at], accent, 1, 0.5)),
        ...lit.map(({ at }) => scene.circle(at[0], at[1], 3.5, accent)),
        ...named.map(({ word, x, y, lit: isLit }) =>
          scene.text(x, y, word, { fill: isLit ? ink : muted, size: 12, anchor: "middle", weight: isLit ? 600 : 400 }),
        ),
      ],
    };
  }

  return view;
}
