// Translate: each token with its probability and its alternatives; other outputs.

import { alternativesOf, outputList } from "../choices.js";
import { button, h, replace } from "../dom.js";
import { heading, inks } from "../frame.js";
import { END, labelOf, percent, readable } from "../pieces.js";
import { rect, text } from "../scene.js";
import { total } from "../session.js";

export function translate(session) {
  const { store } = session;
  let chosen = -1;
  let drawn = null;
  const tokens = h("ol", { class: "tokens", "aria-label": "Output tokens" });
  const details = h("div", { class: "alternatives" });
  const others = h("div", { class: "others" });

  const view = {
    name: "translate",
    root: h("div", {}),
    caption: () => `${store.state.text} → ${session.result.trace?.output.text ?? ""}`,
    update,
    scene: () => scene(session),
    table: () => table(session),
  };
  replace(
    view.root,
    heading(
      view,
      "Translate",
      "The bar under a token is the probability the model gave it; a dot before a piece says that it continues a word. Open a token to see the alternatives and continue from there.",
    ),
    tokens,
    details,
    others,
  );

  function update() {
    const { result } = session;
    if (result.trace && result.trace !== drawn) {
      drawn = result.trace;
      const inside = details.contains(document.activeElement);
      chosen = Math.min(chosen, result.trace.steps.length - 1);
      drawTokens(result);
      drawDetails(result);
      drawOthers(result);
      if (inside) tokens.querySelector(`[data-at="${chosen}"]`)?.focus();
    } else if (!result.trace && !result.busy) {
      drawn = null;
      replace(tokens);
      replace(details);
      replace(others);
    }
    tokens.classList.toggle("busy", result.busy);
  }

  function drawTokens({ trace, translation }) {
    const { pieces, word_of: wordOf } = trace.output;
    const labels = pieces.map((piece, at) => labelOf(piece, wordOf[at] >= 0 && wordOf[at] === wordOf[at - 1]));
    replace(
      tokens,
      trace.steps.map((step, at) => {
        const share = Math.exp(step.log_probability);
        return h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: `token ${at < translation.prefix ? "forced" : ""} ${at === pieces.length ? "special" : ""}`,
              "aria-expanded": String(at === chosen),
              "data-at": at,
              title: at < translation.prefix ? "You chose this token" : "Show alternatives to this token",
              on: { click: () => choose(at), keydown: (event) => walk(event, at) },
            },
            h("span", { class: "piece", dir: "auto" }, labels[at] ?? END),
            h("span", { class: "bar" }, h("span", { style: { width: `${100 * share}%` } })),
            h("span", { class: "share" }, percent(step.log_probability)),
          ),
        );
      }),
    );
  }

  function choose(at) {
    chosen = chosen === at ? -1 : at;
    for (const each of tokens.querySelectorAll("button")) {
      each.setAttribute("aria-expanded", String(Number(each.dataset.at) === chosen));
    }
    drawDetails(session.result);
  }

  function walk(event, at) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    tokens.querySelector(`[data-at="${at + by}"]`)?.focus();
  }

  function drawDetails({ trace }) {
    const step = trace?.steps[chosen];
    if (!step) {
      replace(details);
      return;
    }
    const before = trace.output.ids.slice(0, chosen);
    replace(
      details,
      alternativesOf(
        { step, before: trace.output.pieces.slice(0, chosen), end: trace.end },
        (token) => store.set({ prefix: [...before, token], typed: "", adopted: [] }),
        (typed) => store.set({ prefix: before, typed, adopted: [] }),
      ),
      button(
        "Where it looked",
        () => store.set({ view: "alignment", kind: "cross", words: false, row: chosen, col: 0 }),
        { class: "link" },
      ),
    );
  }

  function drawOthers({ translation, trace }) {
    replace(
      others,
      h("h3", {}, "What the beam found"),
      h(
        "p",
        { class: "muted small" },
        "Score: the sum of log-probabilities divided by length to the power of the length penalty.",
      ),
      outputList(
        translation.outputs,
        trace.output.ids,
        (adopted) => store.set({ adopted }),
        "Show this output in every view",
      ),
      h(
        "p",
        { class: "links" },
        button("Where did it look? Alignment", () => store.set({ view: "alignment" }), { class: "link" }),
      ),
    );
  }

  return view;
}

function scene({ result }) {
  if (!result.trace) return null;
  const { ink, muted, line } = inks();
  const items = [];
  const wide = 260;
  [...result.trace.output.pieces, END].forEach((piece, at) => {
    const step = result.trace.steps[at];
    const y = 20 + at * 24;
    items.push(text(130, y, at < result.trace.output.pieces.length ? readable(piece) : END, { fill: ink, size: 13, anchor: "end" }));
    items.push(rect(140, y - 10, wide, 11, line));
    items.push(rect(140, y - 10, wide * Math.exp(step.log_probability), 11, "#4b8cbd"));
    items.push(text(148 + wide, y, percent(step.log_probability), { fill: muted, size: 12 }));
  });
  return { width: 480, height: 30 + 24 * result.trace.steps.length, items };
}

function table({ result }) {
  if (!result.trace) return null;
  const pieces = [...result.trace.output.pieces, "</s>"];
  const head = ["token", "log_probability", "rank", "entropy_bits"];
  for (let at = 1; at <= 8; at += 1) head.push(`candidate_${at}`, `probability_${at}`);
  return [
    head,
    ...result.trace.steps.map((step, at) => [
      pieces[at],
      step.log_probability,
      step.rank + 1,
      step.entropy,
      ...step.choices.flatMap((each) => [each.piece, each.probability]),
    ]),
    ["sum", total(result.trace)],
  ];
}
