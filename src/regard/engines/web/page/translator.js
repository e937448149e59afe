// A translator from the contents of model.js: text in, text out.

(() => {
  const { Tokenizer, Transformer } = globalThis.regard;

  function floats({ shape, data, scales }) {
    const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
    if (!scales) return { shape, data: new Float32Array(bytes.buffer) };
    const steps = floats({ shape: [shape[0]], data: scales }).data;
    const whole = new Int8Array(bytes.buffer);
    return { shape, data: Float32Array.from(whole, (each, i) => each * steps[Math.floor(i / shape[1])]) };
  }

  class Translator {
    constructor({ config, search, tensors, source, target, specials }) {
      this.search = search;
      this.specials = specials;
      this.source = new Tokenizer(source);
      this.target = target ? new Tokenizer(target) : this.source;
      this.model = new Transformer(
        config,
        Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, floats(tensor)])),
      );
    }

    /** The pieces of a translation, one after the other: at each step the most probable one. */
    *pieces(ids) {
      const { start, end, never } = this.specials;
      const most = Math.min(this.search.longest ?? Infinity, Math.floor(this.search.ratio * (ids.length + 1)) + 20);
      const state = this.model.start([...ids, end]);
      for (let token = start, count = 0; count < most; count += 1) {
        const logits = this.model.step(token, state);
        for (const each of never) logits[each] = -Infinity;
        token = logits.indexOf(logits.reduce((best, each) => Math.max(best, each), -Infinity));
        if (token === end) return;
        yield token;
      }
    }

    /** The translation of a sentence as far as it is, again and again until it is complete. */
    *sentence(text) {
      const found = [];
      const ids = this.source.encode(text);
      for (let at = 0; at < ids.length; at += this.search.limit) {
        for (const piece of this.pieces(ids.slice(at, at + this.search.limit))) {
          found.push(piece);
          yield this.target.decode(found);
        }
      }
    }

    translate(text) {
      let found = "";
      for (const each of this.sentence(text)) found = each;
      return found;
    }
  }

  globalThis.regard = { ...globalThis.regard, Translator };
})();
