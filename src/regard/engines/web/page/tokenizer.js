// Cuts texts into the pieces of a run's tokenizer, and joins pieces to texts.

(() => {
  const SPACE = "▁";
  // A sign or a digit alone, other characters together, each with the space before it.
  const WORDS = new RegExp("▁?[[\\p{P}\\p{S}\\p{Nd}]&&[^▁]]|▁?[^\\p{P}\\p{S}\\p{Nd}]{1,128}|▁", "gv");
  const BYTE = /^<0x([0-9A-F]{2})>$/;
  // What an unknown character costs more than the least likely piece.
  const UNKNOWN_COST = 10;

  const rule = ({ text, regex, to }) => {
    const pattern = regex === undefined ? null : new RegExp(regex, "gu");
    return pattern ? (given) => given.replace(pattern, () => to) : (given) => given.replaceAll(text, () => to);
  };
  const STEPS = {
    NFC: (text) => text.normalize("NFC"),
    NFKC: (text) => text.normalize("NFKC"),
    Lowercase: (text) => text.toLowerCase(),
    Strip: (text) => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, ""),
  };

  class Tokenizer {
    constructor({ pieces, merges, scores, rules, specials, wholeWords }) {
      this.pieces = pieces;
      this.ids = new Map(pieces.map((piece, id) => [piece, id]));
      this.ranks = merges && new Map(merges.map((pair, rank) => [pair, rank]));
      this.scores = scores;
      this.wholeWords = wholeWords;
      this.specials = new Set(specials);
      this.steps = rules.map((each) => (typeof each === "string" ? STEPS[each] : rule(each)));
      this.longest = Math.max(...pieces.map((piece) => [...piece].length));
      this.worst = scores && Math.min(...scores) - UNKNOWN_COST;
    }

    normalise(text) {
      return this.steps.reduce((given, step) => step(given), text.toWellFormed());
    }

    encode(text) {
      const normal = this.normalise(text);
      if (!normal) return [];
      const spaced = normal.replaceAll(" ", SPACE);
      const words = (spaced.startsWith(SPACE) ? spaced : SPACE + spaced).match(WORDS) ?? [];
      return words.flatMap((word) => (this.scores ? this.likeliest(word) : this.merged(word)));
    }

    bytes(character) {
      return [...new TextEncoder().encode(character)]
        .map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    }

    /** Byte-pair encoding: the earliest learned pair is merged first. */
    merged(word) {
      if (this.wholeWords && this.ids.has(word)) return [this.ids.get(word)];
      const parts = [...word].flatMap((each) => (this.ids.has(each) ? [each] : this.bytes(each)));
      for (;;) {
        let best = Infinity;
        let at = -1;
        for (let i = 0; i + 1 < parts.length; i += 1) {
          const rank = this.ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
          if (rank < best) [best, at] = [rank, i];
        }
        if (at < 0) return parts.map((each) => this.ids.get(each));
        parts.splice(at, 2, parts[at] + parts[at + 1]);
      }
    }

    /** The pieces whose probabilities have the largest product. */
    likeliest(word) {
      const letters = [...word];
      const best = [{ score: 0 }];
      for (let start = 0; start < letters.length; start += 1) {
        const known = best[start].score;
        const reach = (end, score, pieces) => {
          if (!best[end] || score > best[end].score) best[end] = { score, start, pieces };
        };
        for (let end = start + 1; end <= Math.min(letters.length, start + this.longest); end += 1) {
          const piece = letters.slice(start, end).join("");
          const id = this.ids.get(piece);
          if (id !== undefined && !this.specials.has(id)) reach(end, known + this.scores[id], [id]);
          else if (end === start + 1) {
            reach(end, known + this.worst, this.bytes(piece).map((each) => this.ids.get(each)));
          }
        }
      }
      const found = [];
      for (let end = letters.length; end > 0; end = best[end].start) found.unshift(...best[end].pieces);
      return found;
    }

    decode(ids) {
      let text = "";
      let bytes = [];
      const flush = () => {
        if (!bytes.length) return;
        try {
          text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes));
        } catch {
          text += "\ufffd".repeat(bytes.length);
        }
        bytes = [];
      };
      for (const id of ids) {
        if (this.specials.has(id)) continue;
        const byte = BYTE.exec(this.pieces[id]);
        if (byte) bytes.push(Number.parseInt(byte[1], 16));
        else {
          flush();
          text += this.pieces[id];
        }
      }
      flush();
      return this.normalise(text.replaceAll(SPACE, " ").replace(/^ /, ""));
    }
  }

  globalThis.regard = { ...globalThis.regard, Tokenizer };
})();
