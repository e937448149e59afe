// The page: translates what is typed, sentence by sentence, and shows it as it grows.

(() => {
  const at = (id) => document.getElementById(id);
  const { model, Translator } = globalThis.regard;
  const translator = new Translator(model);
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  const sentences = new Intl.Segmenter(model.languages[0] || "en", { granularity: "sentence" });
  const known = new Map(); // translations of sentences
  const pause = () => new Promise((done) => { setTimeout(done); });
  let turn = 0;

  /** The texts of sentences, and the spaces and lines between them, in turn. */
  function parts(text) {
    return text.split(/(\n+)/).flatMap((line) =>
      [...sentences.segment(line)].flatMap(({ segment }) => segment.split(/(\s+$)/)));
  }

  async function translate() {
    const mine = (turn += 1);
    const given = parts(at("text").value);
    let done = "";
    at("status").textContent = "Translating";
    for (const part of given) {
      if (!part.trim()) {
        done += part;
        continue;
      }
      let found = known.get(part) ?? "";
      if (!found) {
        for (const soFar of translator.sentence(part)) {
          found = soFar;
          at("translation").textContent = done + found;
          await pause();
          if (mine !== turn) return;
        }
        known.set(part, found);
      }
      done += found;
      at("translation").textContent = done;
    }
    at("translation").textContent = done;
    at("status").textContent = done ? "Translated" : "";
  }

  const [source, target] = model.languages.map((code) => (code ? names.of(code) : ""));
  at("source").textContent = source || "Text";
  at("target").textContent = target || "Translation";
  at("text").lang = model.languages[0];
  at("translation").lang = model.languages[1];
  document.title = source && target ? `${source} → ${target}` : "Translate";
  at("text").addEventListener("input", translate);
  at("text").focus();
  if (at("text").value) translate();
})();
