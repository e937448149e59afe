// How a translation differs since the model was changed.

import { wordDiff } from "./diff.js";
import { h } from "./dom.js";
import { fixed } from "./pieces.js";

const TAGS = { same: "span", gone: "del", new: "ins" };

/** Elements that show how the output of a changed model, or for a changed input, differs from the one
 * before, and how likely that one is now.
 */
export function whatChanged({ usual, trace }, what = "The translation") {
  const change = usual.now - usual.then;
  const same = usual.output.text === trace.output.text;
  return [
    h("h3", {}, same ? `${what} stays the same` : `${what} changes`),
    h(
      "p",
      { class: "diff", dir: "auto" },
      wordDiff(usual.output.words, trace.output.words).map(({ kind, words }) =>
        h(TAGS[kind], {}, `${words.join(" ")} `),
      ),
    ),
    h(
      "p",
      { class: "small" },
      "Log-probability of the first one: ",
      h("strong", { "data-change": change }, `${fixed(usual.then)} → ${fixed(usual.now)}`),
      h("span", { class: "muted" }, ` (${times(change)})`),
    ),
  ];
}

function times(change) {
  if (Math.abs(change) < 0.005) return "as likely as before";
  const factor = Math.exp(Math.abs(change));
  if (factor < 1.05) return "nearly as likely as before";
  const shown =
    factor >= 1e6 ? "more than a million" : Number(factor.toPrecision(2)).toLocaleString("en", { maximumFractionDigits: 1 });
  return change < 0 ? `${shown} times less likely` : `${shown} times more likely`;
}
