// A chart of curves over steps. All charts share one crosshair.

import { logTicks, shownNumber, smoothed, thinned, ticks } from "./curves.js";
import { h, replace, svg } from "./dom.js";
import { inks } from "./frame.js";
import * as scene from "./scene.js";

const HEIGHT = 190;
const PAD = { left: 50, right: 14, top: 10, bottom: 24 };
const POINTS = 1200;

export class Chart {
  /** `point(step)` hears the step under the pointer, null when it left. */
  constructor({ title, unit, point, pick }) {
    Object.assign(this, { title, unit, pick });
    this.readout = h("span", { class: "chart-value" });
    this.drawing = svg("svg", { class: "chart", height: HEIGHT, role: "img", "aria-label": title });
    this.element = h(
      "figure",
      { class: "chart-box" },
      h("figcaption", {}, h("span", {}, title), this.readout),
      this.drawing,
    );
    this.drawing.addEventListener("pointermove", (event) => {
      const box = this.drawing.getBoundingClientRect();
      if (this.x) point(this.x.step(event.clientX - box.left));
    });
    this.drawing.addEventListener("pointerleave", () => point(null));
    this.drawing.addEventListener("click", () => this.at !== null && pick(this.at));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** series: [{name, colour, points: [[step, value], …], smooth}]; marks: steps of checkpoints. */
  show(spec) {
    this.spec = spec;
    this.draw();
  }

  scales(width) {
    const points = this.spec.series.flatMap((each) => each.points);
    const log = this.spec.log && points.every(([, value]) => value > 0);
    let [low, high] = [Infinity, -Infinity];
    for (const [, value] of points) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (!log && low > 0 && low < 0.5 * high) low = 0;
    if (low === high) [low, high] = [low * 0.9, high * 1.1 || 1];
    const last = Math.max(this.spec.last, 1);
    const inner = width - PAD.left - PAD.right;
    const share = log
      ? (value) => (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))
      : (value) => (value - low) / (high - low);
    return {
      x: (step) => PAD.left + (inner * step) / last,
      y: (value) => HEIGHT - PAD.bottom - (HEIGHT - PAD.top - PAD.bottom) * share(value),
      step: (x) => Math.max(0, Math.min(last, ((x - PAD.left) / inner) * last)),
      across: ticks(0, last, Math.max(2, Math.floor(inner / 90))),
      up: log ? logTicks(low, high) : ticks(low, high, 4),
    };
  }

  draw() {
    const { width } = this.drawing.getBoundingClientRect();
    if (!this.spec || !width) return;
    this.x = this.scales(width);
    const { x, y, across, up } = this.x;
    const path = (points) =>
      points
        .map(([step, value], at) => `${at ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`)
        .join("");
    this.cross = svg("line", { class: "cross", y1: PAD.top, y2: HEIGHT - PAD.bottom, visibility: "hidden" });
    replace(
      this.drawing,
      up.map((value) => [
        svg("line", { class: "grid", x1: PAD.left, x2: width - PAD.right, y1: y(value), y2: y(value) }),
        svg(
          "text",
          { class: "tick", x: PAD.left - 8, y: y(value) + 4, "text-anchor": "end" },
          shownNumber(value),
        ),
      ]),
      across.map((step) =>
        svg("text", { class: "tick", x: x(step), y: HEIGHT - 7, "text-anchor": "middle" }, shownNumber(step)),
      ),
      this.spec.marks.map((step) =>
        svg("line", { class: "mark", x1: x(step), x2: x(step), y1: PAD.top, y2: HEIGHT - PAD.bottom }),
      ),
      this.spec.series.map((each) => this.curves(each, path)),
      this.cross,
    );
    this.point(this.at ?? null);
  }

  curves({ points, colour, smooth, dots }, path) {
    const curve = (line, extra) => svg("path", { class: "curve", d: path(line), stroke: colour, ...extra });
    if (dots)
      return [
        curve(points),
        points.map(([step, value]) =>
          svg("circle", { cx: this.x.x(step), cy: this.x.y(value), r: 3, fill: colour }),
        ),
      ];
    const raw = thinned(points, POINTS);
    if (!smooth) return [curve(raw)];
    return [curve(raw, { opacity: 0.28 }), curve(thinned(smoothedPoints(points, smooth), POINTS))];
  }

  /** Show the values nearest to a step, each with its own step, here and in every other chart. */
  point(step) {
    this.at = step;
    const found = (this.spec?.series ?? []).map((each) => [each, nearest(each.points, step)]);
    const several = found.length > 1;
    replace(
      this.readout,
      found.map(
        ([each, place]) =>
          place &&
          h(
            "span",
            { style: { color: each.colour } },
            `${several ? `${each.name} ` : ""}${shownNumber(place[1])}`,
            step !== null && h("span", { class: "muted" }, ` at ${place[0].toLocaleString("en")}`),
            " ",
          ),
      ),
    );
    if (!this.cross) return;
    const place = step === null ? null : found.find(([, each]) => each)?.[1];
    this.cross.setAttribute("visibility", place ? "visible" : "hidden");
    if (place) for (const name of ["x1", "x2"]) this.cross.setAttribute(name, this.x.x(place[0]));
  }

  scene() {
    const { ink, muted, line } = inks();
    const width = 560;
    const scales = this.scales(width);
    const items = scales.up.flatMap((value) => [
      scene.line(
        [
          [PAD.left, scales.y(value)],
          [width - PAD.right, scales.y(value)],
        ],
        line,
      ),
      scene.text(PAD.left - 8, scales.y(value) + 4, shownNumber(value), {
        fill: muted,
        size: 11,
        anchor: "end",
      }),
    ]);
    for (const step of scales.across) {
      items.push(
        scene.text(scales.x(step), HEIGHT - 7, shownNumber(step), {
          fill: muted,
          size: 11,
          anchor: "middle",
        }),
      );
    }
    const path = (points) => points.map(([step, value]) => [scales.x(step), scales.y(value)]);
    const named = this.spec.series.length > 1;
    this.spec.series.forEach(({ name, points, colour, smooth, dots }, at) => {
      const smoother = smooth > 0 && !dots;
      items.push(scene.line(path(thinned(points, POINTS)), colour, 1.5, smoother ? 0.28 : 1));
      if (smoother) items.push(scene.line(path(thinned(smoothedPoints(points, smooth), POINTS)), colour, 1.5));
      if (dots) for (const [x, y] of path(points)) items.push(scene.circle(x, y, 3, colour));
      if (named) {
        const place = [width - PAD.right, PAD.top + 12 + 15 * at];
        items.push(scene.text(...place, name, { fill: colour, size: 11, anchor: "end" }));
      }
    });
    return { width, height: HEIGHT, items, ink };
  }
}

function smoothedPoints(points, smooth) {
  const means = smoothed(
    points.map(([, value]) => value),
    smooth,
  );
  return points.map(([step], at) => [step, means[at]]);
}

/** The point nearest to a step; the last one without a step. */
export function nearest(points, step) {
  if (step === null) return points.at(-1);
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= step) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [points[low - 1], points[low]];
  if (!before || !after) return before ?? after;
  return step - before[0] <= after[0] - step ? before : after;
}
