// What else a model could have produced: at one place of an output, and as a whole.

import { button, h } from "./dom.js";
import { END, fixed, percent, plain, readable } from "./pieces.js";

/** The alternatives of a step with the pieces before it. `go(token)` continues with another one;
 * `type(words)`, if there is one, with the visitor's own.
 */
export function alternativesOf({ step, before, end }, go, type) {
  return [
    h(
      "div",
      { class: "alternatives-head" },
      h("h3", {}, before.length ? `After “… ${plain(before.slice(-4))}”` : "At the beginning"),
      h("span", { class: "muted" }, `Entropy ${step.entropy.toFixed(2)} bits: ${unsure(step.entropy)}`),
    ),
    h(
      "ol",
      { class: "candidates" },
      step.choices.map((each) => candidate(each, each.token === step.token, each.token === end, go)),
    ),
    type && ownWord(type),
  ];
}

function candidate({ token, piece, probability }, taken, ends, go) {
  const hint = taken ? "The token that was taken" : ends ? "The output would end here" : "Continue with this token";
  return h(
    "li",
    { class: taken ? "taken" : "" },
    h(
      "button",
      { type: "button", disabled: ends || taken, title: hint, on: { click: () => go(token) } },
      h("span", { class: "piece", dir: "auto" }, ends ? END : readable(piece)),
      h("span", { class: "bar" }, h("span", { style: { width: `${100 * probability}%` } })),
      h("span", { class: "share" }, percent(Math.log(probability))),
    ),
  );
}

/** A field for the visitor's own word at this place. */
function ownWord(type) {
  const box = h("input", {
    type: "text",
    "aria-label": "Your own word at this place",
    placeholder: "or type your own …",
  });
  return h(
    "form",
    {
      class: "own",
      on: {
        submit: (event) => {
          event.preventDefault();
          if (box.value.trim()) type(box.value.trim());
        },
      },
    },
    box,
    h("button", { type: "submit" }, "Continue from here"),
  );
}

function unsure(bits) {
  if (bits < 0.1) return "it is sure.";
  if (bits < 1) return "it prefers one.";
  return `as unsure as among ${Math.round(2 ** bits)} equally likely tokens.`;
}

/** Outputs with their scores; `adopt(ids)` looks at another one than `now`. */
export function outputList(outputs, now, adopt, hint) {
  return h(
    "ol",
    { class: "outputs" },
    outputs.map((each) =>
      h(
        "li",
        { class: String(each.ids) === String(now) ? "taken" : "" },
        h("span", { class: "score" }, fixed(each.score)),
        button(each.text || "(nothing)", () => adopt(each.ids), { class: "plain", dir: "auto", title: hint }),
      ),
    ),
  );
}
