// Pieces as people read them.

export const END = "⟨end⟩";
export const NEXT = "⟨next⟩";
export const START = "⟨start⟩";

/** "▁Afri" is " Afri"; a byte stays what it is. */
export function readable(piece) {
  return piece.replaceAll("▁", "\u00a0").trim() || "␣";
}

/** A piece as a label; a dot stands before one that continues a word. */
export function labelOf(piece, continues) {
  return continues ? `·${readable(piece)}` : readable(piece);
}

/** Pieces as running text: bytes are spelled out, bytes that are not text become �. */
export function plain(pieces) {
  const bytes = [];
  const encoder = new TextEncoder();
  for (const piece of pieces) {
    const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
    if (byte) bytes.push(parseInt(byte[1], 16));
    else bytes.push(...encoder.encode(piece.replaceAll("▁", " ")));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes)).trim();
}

export function percent(logProbability) {
  const share = 100 * Math.exp(logProbability);
  if (share >= 99.95) return "100 %";
  if (share >= 10) return `${share.toFixed(0)} %`;
  if (share >= 0.1) return `${share.toFixed(1)} %`;
  return "< 0.1 %";
}

/** A log-probability or a score, with a real minus sign. */
export function fixed(value, digits = 3) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}
