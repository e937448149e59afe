// The server's answers about the sentence in the state, for each run.

import { saidOf } from "./answers.js";
import * as api from "./api.js";

const ASKED_ANEW = [
  "text",
  "prefix",
  "typed",
  "adopted",
  "beam",
  "penalty",
  "step",
  "run",
  "view",
  "against",
];
// Views that ask what a run says of a text that it does not translate; others ask for themselves.
const OF_TEXTS = ["alignment", "heads", "numbers", "positions", "compare"];
const CHANGES = ["off", "by", "look", "held", "lookers"];

/** Events: "runs" when their description changed, "grow" during a search, "result" at its end. */
export class Session extends EventTarget {
  constructor(store) {
    super();
    this.store = store;
    this.runs = [];
    this.results = [];
    this.problem = "";
    store.listen((names) => {
      if ([...ASKED_ANEW, ...CHANGES].some((name) => names.has(name))) this.refresh();
    });
  }

  get state() {
    return this.store.state;
  }

  get run() {
    return this.runs[this.state.run] ?? this.runs[0];
  }

  get translates() {
    return this.run?.views.includes("translate") ?? true;
  }

  /** What is known of the sentence in the current run. */
  get result() {
    return this.results[Math.min(this.state.run, this.runs.length - 1)] ?? EMPTY;
  }

  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  /** Ask what runs there are, again and again: models load, a run in training gets new weights, and a
   * server that was stopped does not answer.
   */
  async watchRuns() {
    for (;;) {
      try {
        const { runs } = await api.get("api/runs?begin");
        const changed = this.problem !== "" || JSON.stringify(runs) !== JSON.stringify(this.runs);
        this.problem = "";
        this.runs = runs;
        if (changed) this.tell("runs");
      } catch (error) {
        this.fail(error);
      }
      const quick = this.runs.some((run) => run.status === "loading" || run.status === "waiting");
      await new Promise((resolve) => setTimeout(resolve, quick && !this.problem ? 300 : 5000));
    }
  }

  /** The server does not answer: say so until it does. */
  fail(error) {
    if (this.problem === error.message) return;
    this.problem = error.message;
    this.tell("runs");
  }

  /** Which models the sentence goes through: the chosen one, or two where they are compared. A
   * single run is compared with itself at an earlier step.
   */
  wanted() {
    const { run, step, view, against } = this.state;
    const own = { slot: Math.min(run, this.runs.length - 1), run: Math.min(run, this.runs.length - 1), step };
    if (view !== "compare") return [own];
    if (this.runs.length > 1) return [own, { slot: 1 - own.slot, run: 1 - own.slot, step: 0 }];
    const earlier = against || this.runs[0].checkpoints[0];
    return earlier ? [own, { slot: 1, run: 0, step: earlier }] : [own];
  }

  refresh() {
    if (!this.run) return;
    for (const { slot, run, step } of this.wanted()) {
      const { views } = this.runs[run];
      const ofText = views.includes("text") && OF_TEXTS.includes(this.state.view);
      if (!views.includes("translate") && !ofText) continue;
      const question = this.question(slot, run, step);
      const key = JSON.stringify(question);
      if (this.results[slot]?.key !== key) this.ask(slot, question, key);
    }
  }

  /** Everything an answer depends on. Changes to one model do not apply to the other. */
  question(slot, run, step) {
    const { text, prefix, typed, adopted, beam, penalty } = this.state;
    const { beam_size, length_penalty } = this.runs[run];
    const own = slot === Math.min(this.state.run, this.runs.length - 1);
    // A run in training replaces its weights: the same question then has another answer.
    const weights = step ? 0 : this.runs[run].weights.written;
    const changes = own ? this.changes() : {};
    const usual = {
      text,
      prefix: own ? prefix : [],
      typed: own ? typed : "",
      beam_size: beam || beam_size,
      length_penalty: penalty < 0 ? length_penalty : penalty,
    };
    return {
      model: { run, step },
      ofText: !this.runs[run].views.includes("translate"),
      weights,
      changes,
      usual,
      // The output before a forced position stays as it was.
      sentence: changes.forced ? { ...usual, prefix: this.state.held, typed: "" } : usual,
      adopted: own ? adopted : [],
    };
  }

  changes() {
    const { off, by, look, held, lookers } = this.state;
    return {
      ...(off.length ? { off, by } : {}),
      ...(look.length ? { forced: { heads: lookers, position: held.length, pieces: look } } : {}),
    };
  }

  async ask(slot, question, key) {
    this.results[slot]?.stop.abort();
    const stop = new AbortController();
    const last = this.results[slot];
    const before = last?.busy ? last.before : last;
    const result = { key, question, stop, busy: true, problem: "", growing: [], before, layers: new Map() };
    this.results[slot] = result;
    this.tell("grow");
    try {
      const fill = question.ofText ? this.read : this.fill;
      if (question.sentence.text.trim()) await fill.call(this, result, question, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!(error instanceof api.Problem)) console.error(error);
      if (error instanceof api.NoAnswer) this.fail(error);
      result.problem = error.message;
    }
    result.busy = false;
    result.before = null;
    this.tell("result");
  }

  async fill(result, { model, changes, usual, sentence, adopted }, signal) {
    const grow = (pieces) => {
      result.growing = pieces;
      this.tell("grow");
    };
    result.translation = await api.translate({ ...model, ...changes, ...sentence }, grow, signal);
    const { source, outputs } = result.translation;
    const best = outputs[0]?.ids ?? [];
    const chosen = adopted.length && !changes.forced;
    result.pair = { ...model, ...changes, source: source.ids, output: chosen ? adopted : best };
    result.trace = await api.ask("trace", result.pair, signal);
    result.usual = null;
    if (Object.keys(changes).length) {
      // The output before the model was changed, and its probability now.
      const said = await api.translate({ ...model, ...usual }, () => {}, signal);
      const output = changes.forced && adopted.length ? adopted : said.outputs[0].ids;
      const now = await api.ask("trace", { ...result.pair, output }, signal);
      const then = await api.ask("trace", { ...model, source: source.ids, output }, signal);
      result.usual = { output: then.output, now: total(now), then: total(then), trace: then };
    }
  }

  /** The same for a run that does not translate: what it says of the text, and its heads. */
  async read(result, { model, changes: { off, by }, usual: { text, prefix } }, signal) {
    const changes = off ? { off, by: by === "mean" ? "zero" : by } : {};
    result.pair = { ...model, ...changes, text, prefix };
    result.trace = await api.ask("text_trace", result.pair, signal);
    try {
      result.answer = await api.ask("text", result.pair, signal);
      result.said = saidOf(result.answer);
      result.usual = off ? { answer: await api.ask("text", { ...model, text, prefix }, signal) } : null;
    } catch (error) {
      if (!(error instanceof api.Problem)) throw error;
      result.said = error.message; // its pieces attend to one another all the same
    }
  }

  /** Every number behind one weight of a result. */
  weight(result, place) {
    return api.ask(result.question.ofText ? "text_weight" : "weight", { ...result.pair, ...place });
  }

  /** The weights of a layer for a result, or what they carry, fetched once. */
  layer(result, kind, layer, measure) {
    const key = `${kind}.${layer}.${measure}`;
    if (!result.layers.has(key)) {
      const question = result.question.ofText ? "text_layer" : "layer";
      const found = api.layer({ ...result.pair, kind, layer, measure }, result.stop.signal, question);
      found.catch(() => result.layers.delete(key));
      result.layers.set(key, found);
    }
    return result.layers.get(key);
  }
}

export function total(trace) {
  return trace.steps.reduce((sum, step) => sum + step.log_probability, 0);
}

const EMPTY = { busy: false, problem: "", growing: [], layers: new Map() };
