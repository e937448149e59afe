// Everything the user has chosen, as one flat object that fits into the address of the page.

export const DEFAULTS = Object.freeze({
  view: "translate",
  text: "",
  run: 0,
  step: 0, // of a checkpoint; 0 is the run's own weights
  prefix: [], // pieces the output was made to begin with
  typed: "", // and words after them
  adopted: [], // pieces of an output chosen instead of the search's best
  beam: 0, // 0 is the run's own
  penalty: -1, // likewise
  kind: "cross",
  layer: -1, // -1 is the head that aligns best, -2 the mean of all, -3 the rollout
  head: -1, // -1 is the mean of the layer
  words: true,
  label: "auto", // of rows: "predicts", "read", or as suits the head
  scale: "fixed",
  specials: true,
  mass: 100,
  measure: "weights", // or "norm", their contributions
  off: [], // heads, "cross.0.3"
  by: "zero",
  look: [], // source pieces that one position has to look at
  held: [], // the pieces of the output before that position
  lookers: "cross", // the heads that have to
  row: -1,
  col: -1,
  sample: 0, // a validation image; -1 is one of the visitor's own
  about: "", // the label that maps of an image are about; "" is the likeliest
  map: "", // over an image; "" is the one about the label
  hidden: [], // patches of an image
  word: -1, // of a caption or a text; -1 is all of them
  images: [], // validation images that are compared; none for the first few
  texts: "", // that they are compared with, one on each line
  ways: "similarity", // or the probabilities "of texts" or "of images"
  series: 0, // the number of a series
  end: -1, // the step at which its past ends; -1 leaves room for one horizon
  without: [], // known columns that are off, by their place
  whole: false, // whether all is shown that the model reads, where that is long
  worked: "", // the example that is worked by hand
  smooth: 0.6,
  log: false,
  against: 0, // the checkpoint a single run is compared with
  near: "", // a word that a map of words shows the neighbours of
  shown: 600, // words on the map
  box: "", // of the model, which is open
  block: "collapse", // the experiment, and its controls in their order
  knobs: [],
  tour: 0, // the step of the tour; 0 is none
  shuffle: 1, // which of the orders of the words is tried
});

// The values that a name may have, where there are few; a link may say anything.
const CHOICES = {
  kind: ["encoder", "decoder", "cross"],
  label: ["auto", "predicts", "read"],
  scale: ["fixed", "row"],
  measure: ["weights", "norm"],
  by: ["zero", "uniform", "mean"],
};
// The least and the most that a number may be; others are whole numbers of any size.
const RANGES = {
  beam: [0, 32],
  penalty: [-1, 10],
  run: [0, 99],
  step: [0, 1e12],
  mass: [0, 100],
  smooth: [0, 0.999],
  layer: [-3, 999],
  head: [-1, 999],
};
const WITH_FRACTION = ["penalty", "smooth"];

// Forcing belongs to one output: a change of any of these ends it.
const OF_ONE_OUTPUT = ["text", "run", "prefix", "typed", "adopted"];
export const LET_GO = Object.freeze({ look: [], held: [], lookers: "cross" });

/** The state in a hash; missing or invalid values get their defaults. */
export function parse(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...DEFAULTS };
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (!given.has(name)) continue;
    const value = read(given.get(name), usual);
    if (value !== undefined && allowed(name, value, usual)) state[name] = value;
  }
  return state;
}

function allowed(name, value, usual) {
  if (Object.hasOwn(CHOICES, name)) return CHOICES[name].includes(value);
  if (typeof usual !== "number") return true;
  const [least, most] = RANGES[name] ?? [-1, 1e12];
  return value >= least && value <= most && (Number.isInteger(value) || WITH_FRACTION.includes(name));
}

function read(text, usual) {
  if (Array.isArray(usual)) {
    const parts = text === "" ? [] : text.split(",");
    return parts.every((part) => /^\d+$/.test(part)) ? parts.map(Number) : parts;
  }
  if (typeof usual === "boolean") return text === "1";
  if (typeof usual === "number") {
    const value = Number(text);
    return Number.isFinite(value) ? value : undefined;
  }
  return text;
}

/** The hash of a state: only what differs from the defaults. */
export function format(state) {
  const given = new URLSearchParams();
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    const value = state[name];
    if (String(value) === String(usual)) continue;
    given.set(name, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  const text = given.toString();
  return text ? `#${text}` : "";
}

/** The one state of the page. Listeners hear the names that changed. */
export class Store {
  constructor() {
    this.state = parse(location.hash);
    this.listeners = [];
    addEventListener("popstate", () => this.adopt());
    addEventListener("hashchange", () => this.adopt());
  }

  adopt() {
    this.change(parse(location.hash));
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  /** Change some of it. A change of view is a step back in the browser's history. */
  set(patch) {
    const changes = (name) => name in patch && String(patch[name]) !== String(this.state[name]);
    const moved = changes("view");
    const next = { ...this.state, ...(OF_ONE_OUTPUT.some(changes) ? LET_GO : {}), ...patch };
    const address = location.pathname + format(next);
    if (moved) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.change(next);
  }

  change(next) {
    const before = this.state;
    this.state = next;
    const names = Object.keys(DEFAULTS).filter((name) => String(before[name]) !== String(next[name]));
    if (names.length) for (const listener of this.listeners) listener(new Set(names));
  }
}
