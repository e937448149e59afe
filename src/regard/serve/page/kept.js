// Corrections that outlive a reload of the page: in this tab, until it is closed.

/** A name for the content of a file (FNV-1a). */
export async function fingerprint(file) {
  let hash = 0x811c9dc5;
  for (const byte of new Uint8Array(await file.arrayBuffer())) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return `${file.name} ${file.size} ${hash.toString(16)}`;
}

export class Kept {
  constructor(name) {
    this.name = `regard: ${name}`;
  }

  read() {
    try {
      return JSON.parse(sessionStorage.getItem(this.name)) ?? {};
    } catch {
      return {};
    }
  }

  /** Keep what a person wrote or confirmed, by the numbers of the segments. */
  write(segments) {
    const ours = segments.filter((each) => each.isEdited || each.isConfirmed);
    const values = ours.map((each) => [each.number, { text: each.text, confirmed: each.isConfirmed }]);
    try {
      sessionStorage.setItem(this.name, JSON.stringify(Object.fromEntries(values)));
    } catch {
      // The browser has no more room; the download has everything.
    }
  }
}
