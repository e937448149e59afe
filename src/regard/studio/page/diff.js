// What changed between two outputs, word by word.

/** [{kind: "same" | "gone" | "new", words}], by the longest common subsequence. */
export function wordDiff(before, after) {
  const [n, m] = [before.length, after.length];
  const lengths = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      lengths[i][j] =
        before[i] === after[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  const add = (kind, word) => {
    if (parts.at(-1)?.kind === kind) parts.at(-1).words.push(word);
    else parts.push({ kind, words: [word] });
  };
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && before[i] === after[j]) {
      add("same", before[i]);
      i += 1;
      j += 1;
    } else if (i < n && (j === m || lengths[i + 1][j] >= lengths[i][j + 1])) {
      add("gone", before[i]);
      i += 1;
    } else {
      add("new", after[j]);
      j += 1;
    }
  }
  return parts;
}
