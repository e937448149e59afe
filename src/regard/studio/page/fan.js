// A fan chart: the past of a series, what may follow, and what came. The end of the past is a handle
// that the pointer and the keyboard move.

import { shownNumber, ticks } from "./curves.js";
import { dateTicks } from "./dates.js";
import { h, replace, svg } from "./dom.js";
import { inks } from "./frame.js";
import * as scene from "./scene.js";

const HEIGHT = 330;
export const PAD = { left: 52, right: 16, top: 22, bottom: 26 };
const LEVELS = ["95", "80", "50"];
const SHADES = { 95: 0.16, 80: 0.22, 50: 0.3 };
const EACH_TICK = 84;

/** Steps to places, for everything that stands below the same axis. */
export function across(frame, width) {
  const inner = width - PAD.left - PAD.right;
  const steps = Math.max(1, frame.last - 1 - frame.first);
  return {
    x: (step) => PAD.left + (inner * (step - frame.first)) / steps,
    step: (x) => Math.round(frame.first + ((x - PAD.left) / inner) * steps),
  };
}

/** Runs of [step, value] without gaps, from values that may be null. */
export function runsOf(values, first) {
  const runs = [];
  let open = null;
  values.forEach((value, at) => {
    if (value === null) open = null;
    else if (open) open.push([first + at, value]);
    else runs.push((open = [[first + at, value]]));
  });
  return runs;
}

export class Fan {
  /** `move(end)` hears where the past shall end; `jump` is how far Page Up goes. */
  constructor({ move }) {
    this.readout = h("span", { class: "chart-value" });
    this.back = svg("g", {});
    this.cross = svg("line", { class: "cross", y1: PAD.top, y2: HEIGHT - PAD.bottom, visibility: "hidden" });
    this.handle = svg(
      "g",
      {
        class: "end-handle",
        role: "slider",
        tabindex: 0,
        "aria-label": "End of the past",
        on: {
          keydown: (event) => this.key(event, move),
          pointerdown: (event) => this.handle.setPointerCapture(event.pointerId),
          pointermove: (event) => {
            if (this.handle.hasPointerCapture(event.pointerId)) move(this.within(this.stepAt(event)));
          },
        },
      },
      svg("rect", { class: "grip-area", x: -14, y: 0, width: 28, height: HEIGHT - PAD.bottom }),
      svg("line", { y1: 16, y2: HEIGHT - PAD.bottom }),
      svg("path", { class: "grip", d: "M-9 1h18v10l-9 8-9-8z" }),
    );
    this.drawing = svg("svg", { class: "chart fan", height: HEIGHT, role: "group" }, this.back, this.cross, this.handle);
    this.drawing.addEventListener("pointermove", (event) => this.point(this.stepAt(event)));
    this.drawing.addEventListener("pointerleave", () => this.point(null));
    this.element = h("div", { class: "fan-box" }, this.drawing);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  stepAt(event) {
    return this.scale?.step(event.clientX - this.drawing.getBoundingClientRect().left) ?? 0;
  }

  within(step) {
    const [least, most] = this.spec.ends;
    return Math.min(most, Math.max(least, step));
  }

  key(event, move) {
    if (!this.spec) return;
    const { end, jump, ends } = this.spec;
    const steps = {
      ...{ ArrowLeft: end - 1, ArrowDown: end - 1, ArrowRight: end + 1, ArrowUp: end + 1 },
      ...{ PageUp: end + jump, PageDown: end - jump, Home: ends[0], End: ends[1] },
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    event.stopPropagation();
    move(this.within(steps[event.key]));
  }

  /** spec: {found, frame, ends, end, jump, label}; `end` may be ahead of the answer that is found. */
  show(spec) {
    this.spec = spec;
    this.drawing.setAttribute("aria-label", spec.label);
    this.draw();
  }

  /** Place the handle at once; the forecast follows. */
  place(end) {
    this.spec = { ...this.spec, end };
    if (!this.scale) return;
    this.handle.setAttribute("transform", `translate(${this.scale.x(end - 0.5).toFixed(1)} 0)`);
    const [least, most] = this.spec.ends;
    const { first, times } = this.spec.found;
    const now = { valuemin: least, valuemax: most, valuenow: end, valuetext: times[end - first] ?? `step ${end}` };
    for (const [name, value] of Object.entries(now)) this.handle.setAttribute(`aria-${name}`, value);
  }

  scales(width) {
    const { found, frame } = this.spec;
    const wide = found.intervals["95"];
    const known = [...found.values, ...wide[0], ...wide[1], ...found.naive].filter((each) => each !== null);
    let [low, high] = [Math.min(...known), Math.max(...known)];
    if (low === high) [low, high] = [low - 1, high + 1];
    const room = 0.04 * (high - low);
    const inner = HEIGHT - PAD.top - PAD.bottom;
    const y = (value) => HEIGHT - PAD.bottom - (inner * (value - low + room)) / (high - low + 2 * room);
    const most = Math.max(2, Math.floor((width - PAD.left - PAD.right) / EACH_TICK));
    const dates = dateTicks(found.times, most).map(([at, name]) => [found.first + at, name]);
    return { ...across(frame, width), y, up: ticks(low, high, 5), dates };
  }

  /** What is drawn, as lines and areas in the units of the page: for the page and for files. */
  shapes({ x, y }) {
    const { found } = this.spec;
    const { first, end, values, median, naive, usual } = found;
    const line = (name, points) => ({ name, points: points.map(([step, value]) => [x(step), y(value)]) });
    const bands = LEVELS.map((level) => {
      const [low, high] = found.intervals[level];
      const edge = (side) => side.map((value, at) => [x(end + at), y(value)]);
      return { name: `interval-${level}`, level, points: [...edge(high), ...edge(low).reverse()] };
    });
    const part = (name, from, to) => runsOf(values.slice(from - first, to - first), from).map((run) => line(name, run));
    return {
      bands,
      lines: [
        ...runsOf(naive, end).map((run) => line("naive", run)),
        ...(usual ? runsOf(usual.median, end).map((run) => line("usual", run)) : []),
        ...runsOf(median, end).map((run) => line("median", run)),
        ...part("past", first, end),
        ...part("came", end, first + values.length),
      ],
    };
  }

  draw() {
    const { width } = this.element.getBoundingClientRect();
    if (!this.spec?.found || !width) return;
    this.drawing.setAttribute("width", width);
    this.scale = this.scales(width);
    const { x, y, up, dates } = this.scale;
    const { began } = this.spec;
    const { bands, lines } = this.shapes(this.scale);
    const path = (points) => points.map(([a, b], at) => `${at ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    const { first, last } = this.spec.frame;
    const edge = began === null ? null : Math.min(last - 1, Math.max(first, began));
    const bottom = HEIGHT - PAD.bottom;
    replace(
      this.back,
      edge > first &&
        svg("rect", { class: "learned", x: x(first), y: PAD.top, width: x(edge) - x(first), height: bottom - PAD.top }),
      up.map((value) => [
        svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: PAD.left - 8, y: y(value) + 4, "text-anchor": "end" }, shownNumber(value)),
      ]),
      dates.map(([step, name]) => [
        svg("line", { class: "grid", x1: x(step), x2: x(step), y1: bottom, y2: bottom + 4 }),
        svg("text", { class: "tick", x: x(step), y: HEIGHT - 7, "text-anchor": "middle" }, name),
      ]),
      bands.map(({ name, points }) => svg("path", { class: `interval ${name}`, d: `${path(points)}Z` })),
      lines.map(({ name, points }) =>
        points.length > 1
          ? svg("path", { class: `curve ${name}`, d: path(points) })
          : svg("circle", { class: `dot ${name}`, cx: points[0][0], cy: points[0][1], r: 2 }),
      ),
    );
    this.place(this.spec.end);
  }

  /** The numbers at a step. */
  point(step) {
    const found = this.spec?.found;
    const at = found && step !== null ? step - found.first : -1;
    const inside = at >= 0 && at < (found?.times.length ?? 0);
    this.cross.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) {
      replace(this.readout);
      return;
    }
    for (const name of ["x1", "x2"]) this.cross.setAttribute(name, this.scale.x(step));
    const value = found.values[at] ?? null;
    const ahead = step - found.end;
    const forecast = ahead >= 0 && ahead < found.median.length;
    const [low, high] = found.intervals["80"];
    replace(
      this.readout,
      h("span", { class: "muted" }, `${found.times[at]} `),
      value !== null && `${shownNumber(value)} `,
      forecast &&
        h(
          "span",
          { class: "of-model" },
          `median ${shownNumber(found.median[ahead])}, 80 % from ${shownNumber(low[ahead])} to ${shownNumber(high[ahead])}`,
        ),
    );
  }

  scene(colours) {
    const { muted, line, ink } = inks();
    const width = 760;
    const scales = this.scales(width);
    const { bands, lines } = this.shapes(scales);
    const items = scales.up.flatMap((value) => [
      scene.line([[PAD.left, scales.y(value)], [width - PAD.right, scales.y(value)]], line),
      scene.text(PAD.left - 8, scales.y(value) + 4, shownNumber(value), { fill: muted, size: 11, anchor: "end" }),
    ]);
    for (const [step, name] of scales.dates) {
      items.push(scene.text(scales.x(step), HEIGHT - 7, name, { fill: muted, size: 11, anchor: "middle" }));
    }
    const inkOf = { past: ink, came: ink, naive: muted, usual: colours.second, median: colours.model };
    items.push(
      ...bands.map(({ level, points }) => scene.area(points, colours.model, SHADES[level])),
      ...lines.map(({ name, points }) => scene.line(points, inkOf[name], name === "naive" ? 0.8 : 1.4)),
      scene.line([[scales.x(this.spec.end - 0.5), PAD.top], [scales.x(this.spec.end - 0.5), HEIGHT - PAD.bottom]], muted),
    );
    return { width, height: HEIGHT, items };
  }
}
