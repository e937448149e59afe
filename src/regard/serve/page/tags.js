// A segment is a list of texts and tags: ["Click ", ["open", 1], "here", ["close", 1], ["alone", 2, "x"]].
// People edit it as a text in which the tags are written <1>, </1> and <2/>.

const WRITTEN = { open: (n) => `<${n}>`, close: (n) => `</${n}>`, alone: (n) => `<${n}/>` };
const TAG = /<\/?\d{1,9}\/?>/g;

export const isTag = (piece) => typeof piece !== "string";
export const written = ([kind, number]) => WRITTEN[kind](number);
export const textOf = (pieces) => pieces.map((each) => (isTag(each) ? written(each) : each)).join("");

/** What a tag stands for, where it stands for words, else nothing. */
export const shown = ([, , words]) => words ?? "";

/** A text of this segment as words alone. */
export function wordsOf(text, pieces) {
  const known = new Map(pieces.filter(isTag).map((each) => [written(each), shown(each)]));
  return text.replace(TAG, (tag) => known.get(tag) ?? tag).trim();
}

/** The tags that a translation lacks, and a sentence about what is wrong with its tags. */
export function check(text, pieces) {
  const wanted = pieces.filter(isTag).map(written);
  const used = (text.match(TAG) ?? []).filter((tag) => wanted.includes(tag));
  const missing = wanted.filter((tag) => !used.includes(tag));
  const repeated = wanted.filter((tag) => used.indexOf(tag) !== used.lastIndexOf(tag));
  if (missing.length) return { missing, problem: `Missing: ${missing.join(" ")}` };
  if (repeated.length) return { missing, problem: `More than once: ${repeated.join(" ")}` };
  const open = [];
  for (const tag of used) {
    if (tag.endsWith("/>")) continue;
    if (!tag.startsWith("</")) open.push(tag.slice(1));
    else if (open.pop() !== tag.slice(2)) return { missing, problem: `${tag} closes too early or too late` };
  }
  return { missing, problem: "" };
}
