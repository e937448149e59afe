// The page as a whole: which view is shown, and what the keys do.

import { button, h, replace } from "./dom.js";
import { save } from "./frame.js";
import { shownHead, suited } from "./labelled.js";
import { sentenceBar } from "./sentence.js";
import { Session } from "./session.js";
import { Store } from "./state.js";
import { tourCard } from "./tour.js";
import { VIEWS } from "./views.js";

const store = new Store();
const session = new Session(store);
const content = document.getElementById("content");
const made = new Map();

/** The views for this run; every run has the training view. */
function offered() {
  const names = session.run?.views;
  return names ? VIEWS.filter(([name]) => names.includes(name)) : VIEWS;
}

/** The current view; a view is made when it is first shown. */
function current() {
  const views = offered();
  const [name, , make] = views.find(([each]) => each === store.state.view) ?? views[0];
  if (!made.has(name)) made.set(name, make(session));
  return { name, view: made.get(name) };
}

/** The name of a view; only a translation has an alignment. */
function titleOf(view) {
  if (view === "alignment" && !session.translates) return "Attention";
  return VIEWS.find(([name]) => name === view)[1];
}

function show() {
  const { name, view } = current();
  const names = offered().map(([each]) => each);
  for (const tab of document.querySelectorAll("#tabs a")) {
    tab.hidden = !names.includes(tab.dataset.view);
    tab.textContent = titleOf(tab.dataset.view);
    if (tab.dataset.view !== name) tab.removeAttribute("aria-current");
    else {
      tab.setAttribute("aria-current", "page");
      // On a narrow screen the tabs can be moved sideways; the page stays where it is.
      const nav = tab.parentElement;
      nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2;
    }
  }
  document.title = `${titleOf(name)} · regard studio`;
  document.body.dataset.view = name;
  document.body.dataset.translates = String(session.translates);
  document.body.dataset.run = session.run?.name ?? "";
  if (content.firstElementChild !== view.root) content.replaceChildren(view.root);
  view.update();
}

function tabs() {
  const nav = document.getElementById("tabs");
  const links = VIEWS.map(([name, title]) =>
    h(
      "a",
      {
        href: `#view=${name}`,
        "data-view": name,
        on: {
          click: (event) => {
            event.preventDefault();
            store.set({ view: name });
          },
        },
      },
      title,
    ),
  );
  replace(nav, links);
}

// What one run was asked means nothing to another.
const OF_ANOTHER_RUN = {
  step: 0,
  ...{ prefix: [], typed: "", adopted: [], off: [] },
  ...{ sample: 0, about: "", hidden: [], word: -1, images: [], texts: "", row: -1, col: -1 },
  ...{ series: 0, end: -1, without: [], layer: -1, head: -1, box: "" },
};

function describeRuns() {
  const chips = session.runs.map((run, number) =>
    h(
      "button",
      {
        type: "button",
        class: `run run-${number}`,
        "aria-pressed": String(number === store.state.run),
        title: run.folder,
        on: { click: () => store.set({ ...OF_ANOTHER_RUN, run: number }) },
      },
      h("strong", {}, run.name),
      h("span", { class: "muted" }, summary(run)),
    ),
  );
  replace(document.getElementById("runs"), chips);
  const status = document.getElementById("status");
  replace(status, ...statusText());
  status.classList.toggle("long", status.textContent.length > 24);
}

function summary(run) {
  const sizes = run.model;
  const attends = sizes.attention && sizes.attention !== "none" ? " with attention" : "";
  const layers = sizes.encoder_layers ? `${sizes.encoder_layers}+${sizes.decoder_layers}` : `${sizes.num_layers} layers`;
  const model =
    run.kind === "transformer"
      ? `Transformer ${layers}, ${sizes.num_heads} heads`
      : (NAMES[run.kind] ?? `${(sizes.cell ?? run.kind).toUpperCase()}${attends}`);
  const shape = run.encoder ? `${NAMES[run.encoder] ?? run.encoder.toUpperCase()} and ${model}` : model;
  const bleu = run.validation?.bleu;
  return [
    run.languages?.join(" → "),
    shape,
    run.parameters && `${millions(run.parameters)} parameters`,
    bleu !== undefined && bleu !== null && `BLEU ${bleu.toFixed(1)}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

const NAMES = {
  bag: "bag of words",
  linear: "linear map",
  vit: "ViT",
  lite0: "EfficientNet-Lite0",
  "skip-gram": "skip-gram",
};

function millions(count) {
  if (count < 1e3) return String(count);
  return count >= 1e6 ? `${(count / 1e6).toFixed(1)} M` : `${Math.round(count / 1e3)} k`;
}

function statusText() {
  if (session.problem) return [h("span", { class: "dot bad" }), session.problem];
  const failed = session.runs.find((run) => run.status === "failed");
  if (failed) return [h("span", { class: "dot bad" }), failed.problem];
  if (session.runs.some((run) => run.status !== "ready")) {
    return [h("span", { class: "dot busy" }), "Loading the model …"];
  }
  const { run } = session;
  if (run?.training) return [h("span", { class: "dot busy" }), inTraining(run)];
  return [h("span", { class: "dot good" }), "Ready"];
}

/** How far a run in training has come, and which of its weights answer. */
function inTraining({ weights, training: { step, steps, seconds_left: left } }) {
  const of = steps ? ` of ${steps.toLocaleString("en")}` : "";
  return [
    weights.step && `Weights of step ${weights.step.toLocaleString("en")}`,
    `in training: step ${step.toLocaleString("en")}${of}`,
    left !== null && `about ${duration(left)} left`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function duration(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const KEYS = [
  ["[  ]", "previous view, next view"],
  ["/", "type a sentence"],
  ["← ↑ → ↓", "move in a matrix, a tree or a row of tokens"],
  ["Space, Esc", "hold a cell, release it"],
  ["Enter", "open: the numbers of a cell, the alternatives of a token"],
  ["j  k", "layer down, up"],
  ["h  l", "head left, right"],
  ["1 … 9", "switch a head of this layer off or on"],
  ["0", "all heads on"],
  ["w", "words or pieces"],
  ["f", "make a row of the alignment look elsewhere: Space chooses, Enter decodes again"],
  ["r", "label rows by the token predicted or read"],
  ["b", "show the beam"],
  ["e", "export this view as SVG"],
  ["?", "show these keys"],
];

function help() {
  const dialog = document.getElementById("keys");
  replace(
    dialog,
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "dl",
      {},
      KEYS.map(([key, meaning]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, meaning)]),
    ),
    button("Close", () => dialog.close(), { autofocus: true }),
  );
  dialog.showModal();
}

function turn(by) {
  const views = offered();
  const at = views.findIndex(([name]) => name === current().name);
  store.set({ view: views[(at + by + views.length) % views.length][0] });
}

/** Switch a head off or on, of the layer that is shown. */
function switchHead(number) {
  const { trace } = session.result;
  const { off } = store.state;
  if (number === 0) store.set({ off: [] });
  if (number === 0 || !trace) return;
  const state = suited(store.state, trace);
  const { kind } = state;
  if (!trace.heads[kind]?.length) return;
  const { layer } = shownHead(state, trace);
  if (number > trace.heads[kind][layer]) return;
  const name = `${kind}.${layer}.${number - 1}`;
  store.set({ off: off.includes(name) ? off.filter((each) => each !== name) : [...off, name] });
}

/** To a layer and a head beside those that are shown. */
function move(layers, heads) {
  const { trace } = session.result;
  if (!trace) return;
  const state = suited(store.state, trace);
  const counts = trace.heads[state.kind];
  if (!counts?.length) return;
  const clamp = (value, most) => Math.min(most - 1, Math.max(0, value));
  const at = shownHead(state, trace);
  const layer = clamp(at.layer + layers, counts.length);
  // From a mean, a head comes first.
  const head = store.state.head < 0 && store.state.layer !== -1 ? (heads ? 0 : -1) : at.head + heads;
  store.set({ layer, head: head < 0 && !heads ? head : clamp(head, counts[layer]) });
}

const ACTIONS = {
  "?": help,
  "[": () => turn(-1),
  "]": () => turn(1),
  "/": () => document.getElementById("source").focus(),
  b: () => store.set({ view: "beam" }),
  e: () => save(current().view, "SVG"),
  w: () => store.set({ words: !store.state.words }),
  r: () => store.set({ label: store.state.label === "read" ? "predicts" : "read" }),
  f: () => current().view.force?.(),
  j: () => move(1, 0),
  k: () => move(-1, 0),
  h: () => move(0, -1),
  l: () => move(0, 1),
};

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (
    event.target.closest("input:not([type=radio], [type=checkbox], [type=range]), textarea, select, dialog[open]")
  )
    return;
  const action = /^\d$/.test(event.key) ? () => switchHead(Number(event.key)) : ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function theme() {
  const root = document.documentElement;
  try {
    const kept = localStorage.getItem("theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // Without storage, the page follows the system's colours.
  }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = getComputedStyle(root).getPropertyValue("--is-dark").trim() === "1";
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // As above.
    }
    repaint();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

/** Canvases do not follow a change of colours by themselves. */
function repaint() {
  made.clear();
  show();
}

/** Start with a sentence of the run, so that there is something to look at. */
function firstSentence() {
  const { views = [], examples = [] } = session.run ?? {};
  const example = views.includes("translate") || views.includes("text") ? examples[0]?.source : "";
  if (!store.state.text && example) store.set({ text: example });
}

theme();
tabs();
// The hash of the address is the state of the page, so this link cannot be left to the browser.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
document.getElementById("help").addEventListener("click", help);
document.addEventListener("keydown", keys);
const tour = tourCard(session);
const bar = sentenceBar(session, document.getElementById("sentence"));
show();
store.listen((names) => {
  if (names.has("run")) describeRuns();
  bar.update();
  show();
  tour.update();
});
session.addEventListener("runs", () => {
  describeRuns();
  firstSentence();
  session.refresh();
  bar.update();
  show();
  tour.update();
});
for (const name of ["grow", "result"]) {
  session.addEventListener(name, () => {
    bar.update();
    current().view.update();
  });
}
session.watchRuns();
performance.mark("interactive");
