// Series: what follows a series from any point of its past, what the forecast owes to each known
// column, and which parts of the past it comes from.

import * as api from "../api.js";
import { shownNumber } from "../curves.js";
import { button, h, redraw, replace, select, toggle } from "../dom.js";
import { Fan } from "../fan.js";
import { heading, inks, stacked } from "../frame.js";
import { PastMap } from "../pastmap.js";
import { SeriesScores, legendOf } from "../seriesscores.js";
import { Overview, SeriesSearch } from "../seriessource.js";

const COMMIT_MS = 300;
// Up to this many horizons of the past are shown whole; of a longer past, its end.
const LONG = 8;
const NEAR = 5;

export function series(session) {
  const { store } = session;
  let about = null; // what all series of the run share
  let overview = null; // of the series that is shown
  let found = null; // the forecast that is shown
  let past = null; // where it comes from
  let frame = null; // the steps of the chart
  let moving = null; // where the end of the past is while it is moved
  let problem = "";
  let [asked, busy, of, timer] = ["", false, "", 0];

  const head = h("div", {});
  const verdict = h("p", { class: "warning", role: "status" });
  const said = h("div", { "aria-live": "polite" });
  const columns = h("fieldset", { class: "columns-known" });
  const zoom = h("div", {});
  const keys = h("p", { class: "keys-of" });
  const note = h("p", { class: "series-note", "aria-live": "polite" });
  const effect = h("p", { class: "series-effect", "aria-live": "polite" });
  const layers = h("div", { class: "controls" });
  const model = () => ({ run: store.state.run, step: store.state.step });
  const fail = (sentence) => {
    problem = sentence;
    draw();
  };
  const search = new SeriesSearch({ model, fail, choose: (number) => store.set({ series: number, end: -1 }) });
  const fan = new Fan({ move });
  const far = new Overview({ move });
  const map = new PastMap();
  const scores = new SeriesScores({ model, colours: () => [ink("--accent"), ink("--muted")] });

  const view = {
    name: "series",
    root: h("div", {}),
    caption: () => `${found?.name ?? ""}: ${found?.ahead.length ?? 0} steps from ${found?.ahead[0] ?? ""}`,
    update,
    scene: () => {
      if (!found || !past) return null;
      const drawn = fan.scene({ model: ink("--accent"), second: ink("--second") });
      const parts = map.scene(drawn.width, { muted: inks().muted, second: ink("--second") });
      return stacked([drawn, parts], [found.name, "Which parts of the past the forecast comes from"]);
    },
    table: () => found && rows(),
  };
  replace(
    view.root,
    head,
    verdict,
    said,
    h(
      "div",
      { class: "series-body" },
      h("div", { class: "controls" }, search.element, zoom, columns),
      h("figure", { class: "chart-box" }, h("figcaption", {}, keys, fan.readout), fan.element, far.element),
      note,
      effect,
      h("h3", {}, "Which parts of the past it comes from"),
      layers,
      h("figure", { class: "chart-box" }, map.element),
      scores.element,
    ),
  );

  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("series")) return;
    if (of !== session.run.folder) {
      of = session.run.folder;
      [about, overview, found, past, frame, asked, problem] = [null, null, null, null, null, "", ""];
      replace(head, heading(view, session.run.title, session.run.explanation));
    }
    if (session.run.status !== "ready") {
      replace(said, h("p", { class: "muted" }, "Loading the model …"));
      return;
    }
    scores.offer(`${of} ${state.step}`);
    await ask();
  }

  function move(end) {
    if (!overview || end === shownEnd()) return;
    moving = end;
    fitFrame();
    if (found) fan.show(spec());
    far.show({ overview, frame, end, time: timeOf(end) });
    ask();
    // The address changes when the hand rests: browsers refuse hundreds of changes.
    clearTimeout(timer);
    timer = setTimeout(() => store.set({ end }), COMMIT_MS);
  }

  function shownEnd() {
    const { end } = store.state;
    const wanted = moving ?? (end < 0 ? overview.end : end);
    return Math.min(overview.ends[1], Math.max(overview.ends[0], wanted));
  }

  const timeOf = (end) => found?.times[end - found.first] ?? `step ${end}`;

  const isLong = () => about.context > LONG * about.horizon;

  /** Keep the steps of the chart while the forecast is among them, so that dragging moves one thing. */
  function fitFrame(fresh = false) {
    const end = shownEnd();
    const { context, horizon } = about;
    const shown = isLong() && !store.state.whole ? NEAR * horizon : context;
    const fits = frame && !fresh && end + horizon <= frame.last && (end - frame.first >= shown / 2 || !frame.first);
    if (fits) return;
    const slack = Math.min(horizon, shown);
    const first = Math.max(0, end - shown - slack);
    const last = Math.min(overview.length + horizon, Math.max(first + shown, end) + horizon + slack);
    frame = { first, last: Math.max(last, end + horizon) };
  }

  /** One question at a time; whatever was wanted meanwhile is asked next. */
  async function ask() {
    if (busy) return;
    busy = true;
    try {
      for (let key = wanted(); key !== asked; key = wanted()) {
        asked = key;
        try {
          await answer(key);
          problem = "";
        } catch (error) {
          problem = error.message;
        }
        draw();
      }
    } finally {
      busy = false;
    }
  }

  function wanted() {
    const { run, step, series: number, end, without, whole, layer, head: chosen } = store.state;
    return JSON.stringify([of, run, step, number, moving ?? end, without, whole, layer, chosen]);
  }

  async function answer(key) {
    const { series: number, without, whole, layer, head: chosen } = store.state;
    about ??= await api.ask("series_names", model());
    if (overview?.key !== `${of} ${number}`) {
      [overview, moving, past] = [null, null, null];
      overview = { key: `${of} ${number}`, ...(await api.ask("series_overview", { ...model(), series: number })) };
      frame = null;
    }
    if (frame?.whole !== whole) frame = null;
    fitFrame();
    frame.whole = whole;
    const off = without.filter((each) => each < about.columns.length);
    const question = { ...model(), series: number, end: shownEnd(), off, ...{ first: frame.first, last: frame.last } };
    found = await api.ask("series_forecast", question);
    if (moving === store.state.end) moving = null;
    if (key !== wanted()) return; // the hand has moved on: the map can wait
    draw();
    const looked = { layer: Math.max(-1, layer), head: layer < 0 ? -1 : Math.max(-1, chosen) };
    past = await api.ask("series_past", { ...question, ...looked });
  }

  const spec = () => ({
    ...{ found, frame, ends: overview.ends, end: shownEnd(), began: overview.began },
    jump: about.season > 1 ? about.season : about.horizon,
    label: `${found.name}: the past, and a forecast of ${found.ahead.length} steps from ${found.ahead[0]}`,
  });

  function draw() {
    replace(said, problem && h("p", { class: "problem" }, problem));
    view.root.classList.toggle("waiting", !found || !overview);
    if (!about) return;
    replace(verdict, about.verdict);
    drawColumns();
    if (!found || !overview) return;
    search.show(store.state.series, overview.name, about.count);
    fan.show(spec());
    far.show({ overview, frame, end: shownEnd(), time: timeOf(shownEnd()) });
    drawKeys();
    drawNote();
    drawEffect();
    drawLayers();
    if (past && past.end === found.end) map.show(past, frame);
  }

  function drawColumns() {
    const { without, whole } = store.state;
    const flip = (at, on) => (on ? without.filter((each) => each !== at) : [...without, at].sort((a, b) => a - b));
    redraw(
      columns,
      `${of} ${without}`,
      about.columns.length > 0 && h("legend", {}, "Known in advance"),
      about.columns.map((name, at) =>
        toggle(
          name,
          !without.includes(at),
          (on) => store.set({ without: flip(at, on) }),
          `Without it, the model reads its mean instead of ${name}`,
        ),
      ),
      without.length > 0 && button("All on", () => store.set({ without: [] }), { class: "quiet" }),
    );
    redraw(
      zoom,
      `${of} ${whole}`,
      isLong() && toggle("show all that the model reads", whole, (on) => store.set({ whole: on })),
    );
  }

  function drawKeys() {
    replace(
      keys,
      legendOf("of-past", about.target || "past"),
      legendOf("of-model", "median, and intervals of 50, 80 and 95 %"),
      found.usual && legendOf("of-usual", "median with everything known"),
      found.error && legendOf("of-came", "what came"),
      legendOf("of-naive", "seasonal naive"),
      overview.began > frame.first && legendOf("of-learned", "learned from"),
    );
  }

  function drawNote() {
    const { error } = found;
    const place = about.zone ? ` Times are those of ${about.zone}.` : "";
    const errors = error
      ? `The median is ${shownNumber(error.model)} away from what came on average, seasonal naive ${shownNumber(error["seasonal naive"])}.`
      : "What comes is not known yet.";
    const learned =
      overview.began !== null && shownEnd() < overview.began
        ? " The model learned from the shaded part, so its forecasts look better there than they are."
        : "";
    const part = about.whole ? "" : " Only the end of each series is here.";
    replace(note, errors, learned, part, place);
  }

  function drawEffect() {
    const { moved } = found;
    const names = store.state.without.map((at) => about.columns[at]).filter(Boolean);
    replace(
      effect,
      moved &&
        `Without ${names.join(" and ")}, the median moves by ${shownNumber(moved.mean)} on average, and most at ` +
          `${moved.time}: ${moved.furthest < 0 ? "−" : "+"}${shownNumber(Math.abs(moved.furthest))}.`,
    );
  }

  function drawLayers() {
    const heads = past?.heads ?? [];
    const layer = Math.min(Math.max(-1, store.state.layer), heads.length - 1);
    redraw(
      layers,
      `${heads} ${layer}`,
      heads.length > 0 &&
        select(
          "Layer",
          [[-1, "mean of all"], ...heads.map((_, at) => [at, String(at + 1)])],
          layer,
          (next) => store.set({ layer: next, head: -1 }),
        ),
      layer >= 0 &&
        select(
          "Head",
          [[-1, "mean"], ...Array.from({ length: heads[layer] }, (_, at) => [at, String(at + 1)])],
          Math.max(-1, store.state.head),
          (next) => store.set({ head: next }),
        ),
      h("span", { class: "muted small" }, EXPLAINED[heads.length ? "attends" : "hides"]),
    );
  }

  function rows() {
    const levels = Object.keys(found.intervals);
    const ends = levels.flatMap((level) => [`low_${level}`, `high_${level}`]);
    const forecast = (at) => {
      const ahead = found.first + at - found.end;
      if (ahead < 0 || ahead >= found.median.length) return ["", ...ends.map(() => ""), ""];
      const sides = levels.flatMap((level) => found.intervals[level].map((side) => side[ahead]));
      return [found.median[ahead], ...sides, found.naive[ahead] ?? ""];
    };
    return [
      ["time", "value", "median", ...ends, "seasonal naive"],
      ...found.times.map((time, at) => [time, found.values[at] ?? "", ...forecast(at)]),
    ];
  }

  return view;
}

const EXPLAINED = {
  attends:
    "Each row is a patch of the future, with its first step at the left; each column is a patch of the past. The bars test what attention says: how far does the median move if that patch is hidden?",
  hides: "This model has no attention. The bars show how far the median moves if a part of the past is hidden.",
};
