// The sentence above all views: what goes in, what comes out, what was changed.

import { button, h, replace } from "./dom.js";
import { plain } from "./pieces.js";
import { LET_GO } from "./state.js";

const PAUSE_MS = 350;

export function sentenceBar(session, root) {
  const { store } = session;
  let timer = 0;
  const source = h("textarea", {
    id: "source",
    rows: 2,
    spellcheck: "false",
    dir: "auto",
    "aria-label": "Source sentence",
    placeholder: "Type a sentence …",
    on: {
      input: () => {
        clearTimeout(timer);
        timer = setTimeout(take, PAUSE_MS);
      },
      keydown: (event) => {
        if (event.key === "Enter" && !event.shiftKey) {
          event.preventDefault();
          take();
        } else if (event.key === "Escape") source.blur();
      },
    },
  });
  const output = h("div", { class: "output", id: "output", "aria-live": "polite", dir: "auto" });
  const notes = h("div", { class: "notes" });
  const examples = h("div", { class: "examples" });

  function take() {
    clearTimeout(timer);
    const text = source.value;
    if (text === store.state.text) return;
    store.set({ text, prefix: [], typed: "", adopted: [], row: -1, col: -1 });
  }

  function update() {
    const { text } = store.state;
    if (document.activeElement !== source || !timer) source.value = text;
    if (source.value === text) timer = 0;
    source.placeholder = session.translates ? "Type a sentence …" : "Type a text …";
    showOutput(session, output);
    replace(notes, ...chips(session));
    showExamples();
  }

  function showExamples() {
    const found = (session.run?.examples ?? []).slice(0, 3);
    const shown = JSON.stringify(found);
    if (examples.dataset.shown === shown) return;
    examples.dataset.shown = shown;
    replace(
      examples,
      found.length ? h("span", { class: "muted" }, "Held-out sentences:") : null,
      found.map((each) =>
        button(
          each.source,
          () => {
            store.set({ text: each.source, prefix: [], typed: "", adopted: [], row: -1, col: -1 });
          },
          { class: "example", title: `Reference: ${each.reference}` },
        ),
      ),
    );
  }

  replace(
    root,
    h("div", { class: "sides" }, h("div", { class: "side" }, source), h("div", { class: "side" }, output)),
    h("div", { class: "below" }, examples, notes),
  );
  return { update };
}

function showOutput(session, output) {
  const { result, run, state } = session;
  output.classList.toggle("busy", result.busy);
  if (result.problem) {
    replace(output, h("span", { class: "problem" }, result.problem));
  } else if (result.busy) {
    const growing = result.growing.length ? plain(result.growing) : "";
    const before = result.before?.said ?? result.before?.trace?.output.text ?? "";
    const waiting = run?.status === "loading" ? "Loading the model …" : before || "…";
    replace(output, growing ? `${growing} …` : h("span", { class: "muted" }, waiting));
  } else if (result.trace) {
    replace(output, (result.said ?? result.trace.output.text) || h("span", { class: "muted" }, "(nothing)"));
  } else {
    const empty = state.text.trim() === "";
    const waiting = session.translates ? "The translation appears here." : "The answer appears here.";
    const hint = session.translates || result.question ? "…" : "";
    replace(output, h("span", { class: "muted" }, empty ? waiting : hint));
  }
}

/** What the user has changed, each with a button to undo it. */
function chips(session) {
  const { store, state, result } = session;
  const found = [];
  const chip = (text, patch) =>
    found.push(
      h(
        "span",
        { class: "chip" },
        text,
        button("×", () => store.set(patch), { class: "quiet", "aria-label": `Undo: ${text}` }),
      ),
    );
  if (state.prefix.length || state.typed) chip("starts with your words", { prefix: [], typed: "" });
  if (state.adopted.length) chip("an output you chose", { adopted: [] });
  if (state.off.length)
    chip(`${state.off.length} ${state.off.length === 1 ? "head" : "heads"} off`, { off: [] });
  if (state.look.length) chip("looks where you chose", LET_GO);
  if (state.beam) chip(`beam of ${state.beam}`, { beam: 0 });
  if (state.penalty >= 0) chip(`length penalty ${state.penalty.toFixed(1)}`, { penalty: -1 });
  if (state.step) chip(`weights of step ${state.step.toLocaleString("en")}`, { step: 0 });
  const said = result.translation;
  if (said && !said.whole) found.push(h("span", { class: "muted" }, "Only the beginning fits."));
  else if (said && said.source.ids.length > said.usual) {
    const hint = `Longer than any training sentence (${said.usual} pieces).`;
    found.push(h("span", { class: "muted" }, hint));
  }
  if (said && said.unseen_words.length) {
    const hint = `These words were never seen in training: ${said.unseen_words.join(", ")}.`;
    found.push(h("span", { class: "muted" }, hint));
  }
  return found;
}
