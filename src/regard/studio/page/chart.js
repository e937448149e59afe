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
    const means = smoothed(
      points.map(([, value]) => value),
      smooth,
    );
    const line = points.map(([step], at) => [step, means[at]]);
    return [curve(raw, { opacity: 0.28 }), curve(thinned(line, POINTS))];
  }

  /** Show the values at a step, here and in every other chart. */
  point(step) {
    this.at = step;
    const found = (this.spec?.series ?? []).map((each) => [each, nearest(each.points, step)]);
    const several = found.length > 1;
    replace(
      this.readout,
      found.map(
        ([each, value]) =>
          value &&
          h(
            "span",
            { style: { color: each.colour } },
            `${several ? `${each.name} ` : ""}${shownNumber(value[1])} `,
          ),
      ),
      step !== null && found[0]?.[1] && h("span", { class: "muted" }, `at ${shownNumber(Math.round(step))}`),
    );
    if (!this.cross) return;
    this.cross.setAttribute("visibility", step === null ? "hidden" : "visible");
    if (step !== null) for (const name of ["x1", "x2"]) this.cross.setAttribute(name, this.x.x(step));
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
    for (const { points, colour } of this.spec.series) {
      items.push(
        scene.line(
          thinned(points, POINTS).map(([step, value]) => [scales.x(step), scales.y(value)]),
          colour,
          1.5,
        ),
      );
    }
    return { width, height: HEIGHT, items, ink };
  }
}

/** The last point at or before a step; the very last without one. */
function nearest(points, step) {
  if (step === null) return points.at(-1);
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= step) low = middle + 1;
    else high = middle;
  }
  return points[low - 1];
}
