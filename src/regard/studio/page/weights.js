// Arithmetic on attention: plain functions on row-major Float32Arrays, tested without a browser.

/** One head of a layer {heads, together, rows, cols, data}; -1 is the mean of all, or all together. */
export function headOf({ heads, together = false, rows, cols, data }, head) {
  const size = rows * cols;
  const at = head < 0 && together ? heads : head;
  if (at >= 0) return { rows, cols, data: data.subarray(at * size, (at + 1) * size) };
  const mean = new Float32Array(size);
  for (let each = 0; each < heads; each += 1) {
    for (let at = 0; at < size; at += 1) mean[at] += data[each * size + at] / heads;
  }
  return { rows, cols, data: mean };
}

/** The mean of matrices, each counted so many times. */
export function meanOf(matrices, counts) {
  const [{ rows, cols }] = matrices;
  const mean = new Float32Array(rows * cols);
  const total = counts.reduce((sum, count) => sum + count, 0);
  for (const [which, { data }] of matrices.entries()) {
    for (let at = 0; at < mean.length; at += 1) mean[at] += (data[at] * counts[which]) / total;
  }
  return { rows, cols, data: mean };
}

/** Attention through all layers (Abnar & Zuidema 2020): in each, half of a position is what it
 * attends to, half is itself, since the layer's input is added to its output.
 */
export function rollout(layers) {
  const [{ rows }] = layers;
  const one = (at) => (at % (rows + 1) === 0 ? 1 : 0);
  let flow = Float32Array.from({ length: rows * rows }, (_, at) => one(at));
  for (const { data } of layers) {
    const next = new Float32Array(rows * rows);
    for (let i = 0; i < rows; i += 1) {
      for (let k = 0; k < rows; k += 1) {
        const share = 0.5 * data[i * rows + k] + 0.5 * one(i * rows + k);
        if (share) for (let j = 0; j < rows; j += 1) next[i * rows + j] += share * flow[k * rows + j];
      }
    }
    flow = next;
  }
  return { rows, cols: rows, data: flow };
}

/** Pieces to words: the sum over a word's columns, the mean over its rows. Word -1 is left out. */
export function mergeWords({ rows, cols, data }, rowWords, colWords) {
  const count = (words) => words.reduce((most, word) => Math.max(most, word), -1) + 1;
  const [newRows, newCols] = [count(rowWords), count(colWords)];
  const merged = new Float32Array(newRows * newCols);
  const sizes = new Float32Array(newRows);
  for (const word of rowWords) if (word >= 0) sizes[word] += 1;
  for (let row = 0; row < rows; row += 1) {
    const word = rowWords[row];
    if (word < 0) continue;
    for (let col = 0; col < cols; col += 1) {
      if (colWords[col] < 0) continue;
      merged[word * newCols + colWords[col]] += data[row * cols + col] / sizes[word];
    }
  }
  return { rows: newRows, cols: newCols, data: merged };
}

/** Without some columns, each row scaled so that what is left sums to 1. */
export function withoutColumns({ rows, cols, data }, left) {
  const kept = Array.from({ length: cols }, (_, col) => col).filter((col) => !left.has(col));
  const result = new Float32Array(rows * kept.length);
  for (let row = 0; row < rows; row += 1) {
    let sum = 0;
    for (const col of kept) sum += data[row * cols + col];
    kept.forEach((col, at) => {
      result[row * kept.length + at] = sum > 0 ? data[row * cols + col] / sum : 0;
    });
  }
  return { rows, cols: kept.length, data: result };
}

/** Which weights are not among the largest of their row that together make this share of its mass:
 * 1 for each of them. A filter like this dims cells; it changes no value.
 */
export function outsideMass({ rows, cols, data }, share) {
  const outside = new Uint8Array(data.length);
  if (share >= 1) return outside;
  for (let row = 0; row < rows; row += 1) {
    const line = Array.from(data.subarray(row * cols, (row + 1) * cols));
    const order = line.map((_, col) => col).sort((a, b) => line[b] - line[a]);
    const total = line.reduce((sum, value) => sum + value, 0);
    let sum = 0;
    for (const col of order) {
      if (sum >= share * total - 1e-6) outside[row * cols + col] = 1;
      sum += line[col];
    }
  }
  return outside;
}

/** What each row is divided by in colour: 1, or its own largest weight. */
export function rowScales({ rows, cols, data }, scale) {
  return Float32Array.from({ length: rows }, (_, row) => {
    if (scale === "fixed") return 1;
    let most = 0;
    for (let col = 0; col < cols; col += 1) most = Math.max(most, data[row * cols + col]);
    return most || 1;
  });
}

/** The mean entropy of the rows, in bits, and the share of mass in some columns. */
export function summary({ rows, cols, data }, special) {
  let entropy = 0;
  let sunk = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < cols; col += 1) {
      const value = data[row * cols + col];
      if (value > 0) entropy -= (value * Math.log2(value)) / rows;
      if (special.has(col)) sunk += value / rows;
    }
  }
  return { entropy, sunk };
}

export function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => (score === -Infinity ? 0 : Math.exp(score - most)));
  const sum = powers.reduce((total, value) => total + value, 0);
  return powers.map((value) => value / sum);
}
