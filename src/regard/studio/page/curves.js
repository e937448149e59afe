// Curves over training steps: arithmetic without a browser.

/** An exponential mean of the values so far. It starts at 0, so each mean is divided by the sum of
 * the weights it has had: else the first values would count as much as all others together.
 */
export function smoothed(values, keep) {
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    sum = keep * sum + (1 - keep) * value;
    weight = keep * weight + (1 - keep);
    return sum / weight;
  });
}

/** At most `count` of the points, the lowest and the highest of each stretch, so that peaks stay. */
export function thinned(points, count) {
  if (points.length <= count) return points;
  const size = Math.ceil((2 * points.length) / count);
  const kept = [];
  for (let at = 0; at < points.length; at += size) {
    const stretch = points.slice(at, at + size);
    const low = stretch.reduce((best, each) => (each[1] < best[1] ? each : best));
    const high = stretch.reduce((best, each) => (each[1] > best[1] ? each : best));
    kept.push(
      ...(low[0] <= high[0] ? [low, high] : [high, low]).filter((each, i, both) => !i || each !== both[0]),
    );
  }
  return kept;
}

/** Round numbers from low to high, about `count` of them. */
export function ticks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) found.push(at * step);
  return found;
}

/** Powers of ten from low to high, with 2 and 5 between when there are few. */
export function logTicks(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const parts = last - first <= 2 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = first; power <= last; power += 1) {
    for (const part of parts) found.push(part * 10 ** power);
  }
  return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

export function shownNumber(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  if (size >= 0.001) return String(+value.toPrecision(3));
  return value.toExponential(1).replace("e", "e");
}
