// The tour: a card that sets the page, asks for one action or number, and checks it.

import * as api from "./api.js";
import { button, h, replace } from "./dom.js";
import { DEFAULTS, parse } from "./state.js";

// What a step leaves as it is, unless its link says otherwise.
const KEPT = ["text", "run", "step", "tour"];

/** Numbers of the run and the sentence, for questions that every run answers with its own. */
export const FACTS = {
  pieces: ({ result }) => result.trace?.source.pieces.length,
  "output pieces": ({ result }) => result.trace?.output.pieces.length,
  layers: ({ run }) => run.model.num_layers ?? run.model.encoder_layers + run.model.decoder_layers,
  heads: ({ result }) => {
    const counts = Object.values(result.trace?.heads ?? {}).flat();
    return counts.length ? counts.reduce((sum, each) => sum + each, 0) : undefined;
  },
  width: ({ run }) => run.model.d_model,
  "head width": ({ run }) => run.model.d_model / run.model.num_heads,
  "beam size": ({ run, state }) => state.beam || run.beam_size,
};

/** The steps that this run has a view, a model and an answer for. */
export function stepsFor(tour, run) {
  return tour.steps.filter((step) => {
    const { view } = parse(step.link);
    const shown = !step.link.includes("view=") || run.views.includes(view);
    const known = [run.kind, run.model.positions];
    return shown && (!step.only.length || step.only.some((each) => known.includes(each)));
  });
}

/** Whether an answer to a question is right; undefined while that cannot be known. */
export function isRight(ask, given, session) {
  if (ask.options) return given === ask.right;
  const wanted = ask.fact ? FACTS[ask.fact](session) : ask.number;
  if (wanted === undefined || Number.isNaN(wanted)) return undefined;
  return Math.abs(given - wanted) <= ask.within;
}

/** Whether the state is what an action was to make of it. */
export function isDone(ask, state, before) {
  return Object.entries(ask.state).every(([name, wanted]) =>
    wanted === "*" ? String(state[name]) !== String(before[name]) : String(state[name]) === wanted,
  );
}

export function tourCard(session) {
  const { store } = session;
  const card = document.getElementById("tour-card");
  const opener = document.getElementById("tour");
  let tour = null;
  let steps = [];
  let shown = 0;
  let before = store.state;
  let done = false;
  let asked = "";

  opener.addEventListener("click", () => go(store.state.tour ? 0 : 1));

  async function load() {
    try {
      tour = await api.get("api/tour");
    } catch (error) {
      opener.title = error.message;
      tour = { title: "Tour", steps: [] };
    }
    update();
  }

  function update() {
    const run = session.run;
    if (!run) return;
    if (!tour) {
      if (!asked) load();
      asked = "yes";
      return;
    }
    steps = stepsFor(tour, run);
    opener.hidden = steps.length === 0;
    const number = Math.min(store.state.tour, steps.length);
    opener.setAttribute("aria-pressed", String(number > 0));
    if (number !== shown) draw(number);
    else if (number && !done) watch();
  }

  /** Show a step, and set the page as its link says. */
  function go(number) {
    if (!number) return store.set({ tour: 0 });
    const given = new URLSearchParams(steps[number - 1].link);
    const wanted = parse(steps[number - 1].link);
    const next = { ...DEFAULTS };
    for (const name of KEPT) next[name] = store.state[name];
    for (const name of given.keys()) if (name in DEFAULTS) next[name] = wanted[name];
    store.set({ ...next, tour: number });
  }

  function draw(number) {
    shown = number;
    card.hidden = number === 0;
    document.body.classList.toggle("toured", number > 0);
    if (!number) return replace(card);
    const step = steps[number - 1];
    before = { ...store.state };
    done = false;
    const heading = h("h2", { tabindex: -1 }, step.title);
    replace(
      card,
      h(
        "div",
        { class: "tour-head" },
        h("p", { class: "muted small" }, `${tour.title} · ${number} of ${steps.length}`),
        button("×", () => go(0), { class: "quiet", "aria-label": "End the tour" }),
      ),
      heading,
      h("p", {}, step.text),
      step.ask && question(step),
      h("p", { class: "tour-said", role: "status" }),
      h(
        "div",
        { class: "tour-foot" },
        button("Back", () => go(number - 1), { disabled: number === 1 }),
        h(
          "div",
          { class: "tour-dots", "aria-hidden": "true" },
          steps.map((_, at) => h("span", { class: at + 1 === number ? "now" : "" })),
        ),
        number < steps.length
          ? button("Next", () => go(number + 1), { class: "next" })
          : button("End", () => go(0), { class: "next" }),
      ),
    );
    heading.focus({ preventScroll: true });
  }

  function question({ ask }) {
    if (ask.options) {
      const answers = ask.options.map((option, at) =>
        button(option, (event) => answer(at, event.currentTarget), { class: "tour-option" }),
      );
      return h("div", { class: "tour-ask", role: "group", "aria-label": ask.question }, h("p", {}, ask.question), answers);
    }
    if (ask.state) return h("div", { class: "tour-ask" }, h("p", {}, ask.question));
    const box = h("input", { type: "text", inputmode: "decimal", "aria-label": ask.question, size: 8 });
    const form = h(
      "form",
      { class: "tour-ask" },
      h("p", {}, ask.question),
      h("div", { class: "tour-number" }, box, h("button", { type: "submit" }, "Check")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const given = Number(box.value.trim().replace(",", ".").replace("−", "-"));
      if (box.value.trim() === "" || Number.isNaN(given)) return say("Type a number.", "");
      answer(given, box);
    });
    return form;
  }

  function answer(given) {
    const right = isRight(steps[shown - 1].ask, given, session);
    if (right === undefined) return say("One moment: the page does not know it yet.", "");
    if (!right) return say("Not yet: look again.", "wrong");
    finish();
  }

  /** An action is done when the page's state shows it. */
  function watch() {
    const { ask } = steps[shown - 1];
    if (ask?.state && isDone(ask, store.state, before)) finish();
  }

  function finish() {
    done = true;
    const { after } = steps[shown - 1];
    say(`Right. ${after}`.trim(), "right");
    card.querySelector(".next")?.classList.add("ready");
  }

  function say(sentence, kind) {
    const place = card.querySelector(".tour-said");
    place.className = `tour-said ${kind}`;
    place.textContent = sentence;
  }

  return { update };
}
