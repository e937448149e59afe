// Translates the segments of a document in small requests, those after the current one first.

import { ask } from "./http.js";

const FIRST = 4;
const USUAL = 32;

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** The next segments without a translation, within the limits of a request. */
export function nextBatch(segments, current, size, characters) {
  const waiting = segments.filter((each) => each.waits);
  const after = waiting.findIndex((each) => each.place >= current);
  const ordered = after > 0 ? [...waiting.slice(after), ...waiting.slice(0, after)] : waiting;
  const batch = [];
  let used = 0;
  for (const each of ordered.slice(0, size)) {
    used += each.sent.length;
    if (batch.length && used > characters) break;
    batch.push(each);
  }
  return batch;
}

/**
 * Translate until nothing waits or `isStopped`. A segment that is refused alone keeps the server's
 * sentence; when the server is busy, `onWait` gets the seconds.
 */
export async function translateAll(document, { key, limit, current, isStopped, onBatch, onWait }) {
  for (let size = FIRST; !isStopped(); ) {
    const batch = nextBatch(document.segments, current(), size, limit / 2);
    if (!batch.length) return;
    try {
      const { translatedText, regard } = await ask("translate", {
        q: batch.map((each) => each.sent),
        source: document.source,
        target: document.target,
        format: "segment",
        confidence: true,
      }, key());
      if (isStopped()) return;
      batch.forEach((each, i) => each.receive(translatedText[i], regard?.[i]?.confidence));
      size = USUAL;
    } catch (error) {
      if (error.isBusy) {
        onWait(error);
        await pause(Math.min(error.seconds, 60));
        continue;
      }
      if (error.status !== 400) throw error;
      if (batch.length === 1) batch[0].refuse(error.message);
      size = 1;
    }
    onBatch();
  }
}

export async function alternatives(document, segment, key, most) {
  const found = await ask("translate", {
    q: [segment.sent],
    source: document.source,
    target: document.target,
    format: "segment",
    alternatives: Math.min(4, most),
  }, key);
  return [...new Set([found.translatedText[0], ...(found.alternatives?.[0] ?? [])])];
}
