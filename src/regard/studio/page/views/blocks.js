// Blocks: what a Transformer is built from, as small experiments that need no run.

import { activations } from "../blocks/activations.js";
import { collapse } from "../blocks/collapse.js";
import { depth } from "../blocks/depth.js";
import { kernel } from "../blocks/kernel.js";
import { root } from "../blocks/root.js";
import { unrolled } from "../blocks/unrolled.js";
import { button, h, redraw, replace, segmented, select, slider, svg } from "../dom.js";
import { heading, inks } from "../frame.js";
import { line, text } from "../scene.js";
import { digits, vectors } from "../strips.js";
import { isRight } from "../tour.js";

export const BLOCKS = { collapse, activations, depth, unrolled, root, kernel };

const SIZE = { width: 640, height: 280, left: 56, right: 12, top: 12, bottom: 34 };
const LEAST = 1e-40;

export function blocks(session) {
  const { store } = session;
  let drawn = "";
  let found = null;
  let seed = 1;
  const choice = h("div", { class: "controls" });
  const explained = h("div", {});
  const controls = h("div", { class: "controls" });
  const result = h("div", { class: "block-result" });
  const asked = h("div", {});

  const view = {
    name: "blocks",
    root: h("div", {}),
    caption: () => current().title,
    update,
    scene,
    table,
  };
  replace(
    view.root,
    heading(
      view,
      "Blocks",
      "What a Transformer is built from, as experiments that are computed here, on this page, with random numbers of the same seed.",
    ),
    choice,
    h("section", { class: "block" }, explained, controls, result, asked),
  );

  function name() {
    return Object.hasOwn(BLOCKS, store.state.block) ? store.state.block : "collapse";
  }

  function current() {
    return BLOCKS[name()];
  }

  /** The values of the controls: numbers, and names of options. They are in the link, in order. */
  function settings() {
    const given = store.state.knobs;
    return Object.fromEntries(
      current().controls.map((each, at) => {
        const own = given[at] === undefined ? NaN : Number(given[at]);
        if (each.options) return [each.name, each.options[own] ?? each.options[0]];
        const usual = Number.isFinite(own) ? own : each.value;
        return [each.name, Math.min(each.max, Math.max(each.min, usual))];
      }),
    );
  }

  function set(at, value) {
    const { controls: all } = current();
    const now = settings();
    const knobs = all.map((each, place) => {
      if (place === at) return value;
      return each.options ? each.options.indexOf(now[each.name]) : now[each.name];
    });
    store.set({ knobs });
  }

  function update() {
    if (drawn !== name()) {
      drawn = name();
      const names = Object.entries(BLOCKS).map(([each, { title }]) => [each, title]);
      redraw(
        choice,
        null,
        select("Experiment", names, drawn, (block) => store.set({ block, knobs: [] })),
      );
      replace(explained, h("h3", {}, current().title), h("p", { class: "muted" }, current().text));
      drawControls();
      drawQuestion();
    }
    found = current().run(settings(), seed);
    replace(result, found.lines ? chart() : vectors(found.rows, { dims: "" }));
  }

  function drawControls() {
    const values = settings();
    replace(
      controls,
      current().controls.map((each, at) =>
        each.options
          ? segmented(
              each.label,
              each.options.map((option, number) => [number, option]),
              each.options.indexOf(values[each.name]),
              (number) => set(at, number),
            )
          : slider(each.label, {
              ...each,
              value: values[each.name],
              shown: (value) => String(Math.round(value * 100) / 100),
              change: (value) => set(at, value),
            }),
      ),
      button("Other random numbers", () => {
        seed += 1;
        update();
      }),
    );
  }

  function drawQuestion() {
    const { ask, after } = current();
    const said = h("p", { class: "tour-said", role: "status" });
    const say = (given) => {
      const right = isRight(ask, given, session);
      said.className = `tour-said ${right ? "right" : "wrong"}`;
      said.textContent = right ? `Right. ${after}` : "Not yet: try it out.";
    };
    const box = h("input", { type: "text", inputmode: "decimal", size: 8, "aria-label": ask.question });
    const form = h(
      "form",
      { class: "tour-ask" },
      h("p", {}, ask.question),
      ask.options
        ? ask.options.map((option, at) => button(option, () => say(at), { class: "tour-option" }))
        : h("div", { class: "tour-number" }, box, h("button", { type: "submit" }, "Check")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (box.value.trim()) say(Number(box.value.trim().replace(",", ".")));
    });
    replace(asked, form, said);
  }

  /** The lines as points of the picture: {paths, ticks}. */
  function placed() {
    const { lines, log, points = [] } = found;
    const of = (value) => (log ? Math.log10(Math.max(LEAST, value)) : value);
    const all = [...lines.flatMap((each) => each.values), ...points.map(([, y]) => y)].map(of);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const span = high - low || 1;
    const inner = SIZE.width - SIZE.left - SIZE.right;
    const tall = SIZE.height - SIZE.top - SIZE.bottom;
    const x = (share) => SIZE.left + share * inner;
    const y = (value) => SIZE.top + (1 - (of(value) - low) / span) * tall;
    const paths = lines.map((each) =>
      each.values.map((value, at) => [x(at / Math.max(1, each.values.length - 1)), y(value)]),
    );
    const values = [low, low + span / 2, high].map((value) => (log ? 10 ** value : value));
    const ticks = values.map((value) => ({ y: y(value), text: log ? value.toExponential(1) : digits(value) }));
    return { paths, ticks, dots: points.map(([share, value]) => [x(share), y(value)]) };
  }

  function chart() {
    const { paths, ticks, dots } = placed();
    const { lines, across } = found;
    const said = lines.map((each) => `${each.name} ends at ${ends(each)}`).join(", ");
    return [
      svg(
        "svg",
        { class: "block-chart", viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": said },
        ticks.map((tick) => [
          svg("line", { class: "tick", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: tick.y, y2: tick.y }),
          svg("text", { x: SIZE.left - 6, y: tick.y + 4, "text-anchor": "end" }, tick.text),
        ]),
        paths.map((path, at) =>
          svg("polyline", { class: `line-${at}`, points: path.map((each) => each.join(",")).join(" ") }),
        ),
        dots.map(([cx, cy]) => svg("circle", { class: "dot-of-block", cx, cy, r: 5 })),
        svg("text", { x: SIZE.width / 2, y: SIZE.height - 8, "text-anchor": "middle" }, across),
      ),
      h(
        "p",
        { class: "block-legend" },
        lines.map((each, at) => h("span", { class: `key-${at}` }, `${each.name}: ends at ${ends(each)}`)),
      ),
    ];
  }

  function ends({ values }) {
    const last = values.at(-1);
    return Math.abs(last) < 1e-3 && last !== 0 ? last.toExponential(2) : digits(last);
  }

  function scene() {
    const { ink, muted } = inks();
    if (!found?.lines) {
      const items = found.rows.map((each, at) =>
        text(8, 24 + 22 * at, `${each.name}: ${each.values.map(digits).join("  ")}`, { fill: ink, size: 12 }),
      );
      return { width: 640, height: 30 + 22 * items.length, items };
    }
    const { paths, ticks } = placed();
    const colours = ["#4b8cbd", "#a54d0b"];
    return {
      width: SIZE.width,
      height: SIZE.height,
      items: [
        ...ticks.map((tick) => text(SIZE.left - 6, tick.y + 4, tick.text, { fill: muted, size: 11, anchor: "end" })),
        ...paths.map((path, at) => line(path, colours[at], 2)),
      ],
    };
  }

  function table() {
    return (found?.lines ?? found?.rows ?? []).map((each) => [each.name, ...each.values]);
  }

  return view;
}
