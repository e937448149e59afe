// The two lists of languages of a form. A target is offered if the source can be translated to it.

const at = (id) => document.getElementById(id);

function fill(select, entries, chosen) {
  select.replaceChildren(...entries.map(({ code, name }) => new Option(name, code)));
  if (entries.some(({ code }) => code === chosen)) select.value = chosen;
}

/** Fill the lists; returns whether there is anything to choose. */
export function offerLanguages(languages, preferred) {
  const sources = languages.filter(({ code, targets }) => targets.some((target) => target !== code));

  function showTargets() {
    const from = at("source").value;
    const reachable = new Set(
      sources.filter(({ code }) => from === "auto" || code === from)
        .flatMap(({ code, targets }) => targets.filter((target) => target !== code)),
    );
    const before = at("target").value || preferred.target.code;
    fill(at("target"), languages.filter(({ code }) => reachable.has(code)), before);
  }

  fill(at("source"), [{ code: "auto", name: "Detect" }, ...sources], preferred.source.code);
  at("source").addEventListener("change", showTargets);
  showTargets();
  return sources.length > 0;
}
