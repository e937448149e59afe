// What models that do not translate say of a text: in one line, and before and after a change.

import { wordDiff } from "./diff.js";
import { h } from "./dom.js";
import { fixed, percent, plain } from "./pieces.js";

const share = (probability) => percent(Math.log(probability));
const ranked = (labels) => Object.entries(labels).sort((a, b) => b[1] - a[1]);

/** An answer in one line: the likeliest label, the tags, the filled text, or how a text goes on. */
export function saidOf({ labels, tags, filled, steps, given }) {
  if (labels) {
    const [[label, probability]] = ranked(labels);
    return `${label}, ${share(probability)}`;
  }
  if (tags) return tags.map(({ word, label }) => `${word} ${label}`).join(" · ");
  if (filled) return filled.text;
  return `… ${plain(steps.slice(given).map((step) => step.piece))}`;
}

/** [what, before, after] of two answers to one text; probabilities are numbers. */
function pairsOf(before, now) {
  if (now.labels) return ranked(before.labels).map(([label, was]) => [label, was, now.labels[label]]);
  if (now.tags)
    return now.tags.map(({ word, label, probability }, at) => {
      const was = before.tags[at];
      const name = was.label === label ? `${word}: ${label}` : `${word}: ${was.label} → ${label}`;
      return [name, was.probability, probability];
    });
  if (now.filled)
    return before.filled.candidates.flatMap((list, at) =>
      list.slice(0, 3).map((each) => {
        const after = now.filled.candidates[at].find(({ text }) => text === each.text);
        return [each.text, each.probability, after?.probability ?? null];
      }),
    );
  return [];
}

const total = ({ steps, given }) => steps.slice(0, given).reduce((sum, step) => sum + step.log_probability, 0);

/** Elements that show how the answer of a changed model differs from the one before. */
export function answerChanged({ usual, answer }) {
  const [before, now] = [saidOf(usual.answer), saidOf(answer)];
  const head = h("h3", {}, before === now ? "The answer stays the same" : "The answer changes");
  if (answer.steps) {
    const [was, is] = [total(usual.answer), total(answer)];
    const tags = { same: "span", gone: "del", new: "ins" };
    return [
      head,
      h(
        "p",
        { class: "diff", dir: "auto" },
        wordDiff(before.split(" "), now.split(" ")).map(({ kind, words }) => h(tags[kind], {}, `${words.join(" ")} `)),
      ),
      h(
        "p",
        { class: "small" },
        "Log-probability of your text: ",
        h("strong", { "data-change": is - was }, `${fixed(was)} → ${fixed(is)}`),
      ),
    ];
  }
  const cell = (value) => h("td", value === null ? {} : { "data-value": value }, value === null ? "–" : share(value));
  return [
    head,
    h(
      "table",
      { class: "changes" },
      h("thead", {}, h("tr", {}, ["", "before", "now"].map((title) => (title ? h("th", { scope: "col" }, title) : h("td", {}))))),
      h(
        "tbody",
        {},
        pairsOf(usual.answer, answer).map(([name, was, is]) =>
          h("tr", {}, h("th", { scope: "row", dir: "auto" }, name), cell(was), cell(is)),
        ),
      ),
    ),
  ];
}
