// Model: the paper's figure for this run and this input. Every box has its shape and its numbers;
// a click unfolds it, stage by stage, down to single products.

import * as api from "../api.js";
import { h, redraw, replace, select } from "../dom.js";
import { modelFigure } from "../figure.js";
import { heading, inks } from "../frame.js";
import { unfolded } from "../unfolded.js";
import { readable } from "../pieces.js";
import { rect, text as label } from "../scene.js";

const PAUSE_MS = 400;
// A row beyond the end is the last one.
const LAST = 512;
const WIDE = "(min-width: 1000px)";

export function model(session) {
  const { store } = session;
  let drawn = "";
  let found = null;
  let asked = null;
  let timer = 0;
  const box = h("textarea", {
    class: "text-box",
    rows: 2,
    dir: "auto",
    "aria-label": "Text",
    placeholder: "Type a text …",
    on: {
      input: () => {
        clearTimeout(timer);
        timer = setTimeout(() => store.set({ text: box.value, prefix: [], row: -1, col: -1 }), PAUSE_MS);
      },
    },
  });
  const places = h("div", { class: "controls model-places" });
  const note = h("p", { class: "muted", role: "status" });
  const figure = modelFigure({ choose: (name) => open(name) });
  const detail = h("section", { class: "model-detail", "aria-label": "The opened box" });
  const body = h("div", { class: "model-body", hidden: true }, figure.element, detail);
  const inside = unfolded({ session, element: detail, close: () => open("") });

  const view = {
    name: "model",
    root: h("div", {}),
    caption: () => `The model: ${found?.stacks.map((stack) => stack.title).join(" and ")}`,
    update,
    scene,
    table: () => inside.table() ?? boxTable(),
  };
  replace(
    view.root,
    heading(
      view,
      "Model",
      "The whole way of your input through this model. Every box shows its shape and the first numbers of the chosen token; open one to see how they are computed.",
    ),
    box,
    places,
    note,
    body,
  );
  matchMedia(WIDE).addEventListener("change", () => settle());

  /** What goes through the model: a pair for a translator, else the text. */
  function input() {
    const { state } = store;
    // Of a text the last token is the one that predicts what comes next.
    const first = session.run?.views.includes("translate") ? 0 : LAST;
    const at = { row: state.row < 0 ? first : state.row, col: Math.max(0, state.col) };
    if (session.run?.views.includes("translate")) {
      const { pair } = session.result;
      return pair ? { ...pair, ...at } : null;
    }
    const changes = state.off.length ? { off: state.off } : {};
    return { run: state.run, step: state.step, ...changes, text: state.text, prefix: state.prefix, ...at };
  }

  async function update() {
    const { state } = store;
    if (!session.run?.views.includes("model")) return;
    const translates = session.run.views.includes("translate");
    box.hidden = translates;
    if (document.activeElement !== box) box.value = state.text;
    if (session.run.status !== "ready") return say("Loading the model …");
    const want = input();
    if (!want) {
      if (!session.result.busy) say(session.result.problem || "Type a sentence: the figure follows.");
      return;
    }
    const key = JSON.stringify(want);
    if (key !== drawn) {
      drawn = key;
      if (!found) say("One moment …");
      try {
        const answer = await api.ask("model", want);
        if (key !== drawn) return;
        [found, asked] = [answer, want];
        say("");
      } catch (error) {
        found = null;
        say(error.message);
      }
      body.hidden = !found;
      places.hidden = !found;
      if (found) {
        drawPlaces();
        figure.show(found, store.state.box);
      }
    }
    if (found) settle();
  }

  function say(sentence) {
    note.textContent = sentence;
    note.hidden = !sentence;
  }

  /** The choice of the token that all strips show; of a source and an output, one of each. */
  function drawPlaces() {
    const sides = Object.keys(found.labels);
    const numbered = (labels) => labels.map((each, at) => [at, `${at + 1}. ${readable(each)}`]);
    const chosen = (side) => boxesOf(found).find((each) => each.side === side)?.row ?? 0;
    const pick = (name, side, key, labels = found.labels[side]) =>
      select(name, numbered(labels), chosen(side), (at) => store.set({ [key]: at }));
    redraw(
      places,
      null,
      sides.includes("source") && pick("Source token", "source", "col"),
      sides.includes("target") && pick("Predicting", "target", "row", found.labels.predicts),
      sides.includes("text") && pick("Token", "text", "row"),
      h("span", { class: "muted small" }, "Strips show this token’s numbers."),
    );
  }

  function open(name) {
    store.set({ box: store.state.box === name ? "" : name });
  }

  /** Put the opened box beside the figure, or below its button where there is little room. */
  function settle() {
    const name = boxesOf(found).some((each) => each.name === store.state.box) ? store.state.box : "";
    figure.mark(name);
    const wide = matchMedia(WIDE).matches;
    const button = figure.button(name);
    if (wide || !button) body.append(detail);
    else button.closest(".model-box").after(detail);
    body.classList.toggle("opened", Boolean(name));
    inside.show(name ? { ...asked, box: name, head: Math.max(0, store.state.head) } : null);
  }

  function boxTable() {
    if (!found) return null;
    return [
      ["box", "shape", "first numbers"],
      ...boxesOf(found).map((each) => [each.name, each.shape, ...each.strip]),
    ];
  }

  function scene() {
    if (!found) return null;
    const { ink, muted, line } = inks();
    const items = [];
    let height = 0;
    found.stacks.forEach((stack, at) => {
      const x = 8 + at * 330;
      items.push(label(x, 20, stack.title, { fill: ink, size: 14, weight: 600 }));
      stack.boxes.forEach((each, place) => {
        const y = 34 + place * 44;
        items.push(rect(x, y, 310, 36, line), rect(x + 1, y + 1, 308, 34, inks().paper));
        const layer = each.layer === null ? "" : `${each.layer + 1}. `;
        items.push(label(x + 10, y + 16, layer + each.title, { fill: ink, size: 12, weight: 600 }));
        items.push(label(x + 10, y + 30, each.shape, { fill: muted, size: 10.5 }));
        height = Math.max(height, y + 44);
      });
    });
    return { width: 8 + found.stacks.length * 330, height, items };
  }

  return view;
}

export function boxesOf(found) {
  return found ? found.stacks.flatMap((stack) => stack.boxes) : [];
}
