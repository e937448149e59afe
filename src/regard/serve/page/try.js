// Translate while a person types, and show what a program would send and receive. Everything from a
// model or a person is inserted as text, never as markup.
import { copyButtons } from "./copying.js";
import { offerLanguages } from "./languages.js";

const PAUSE_MS = 350;

const at = (id) => document.getElementById(id);

async function json(path, options) {
  const response = await fetch(path, options);
  const value = await response.json();
  return { response, value };
}

const { value: languages } = await json("languages");
const { value: settings } = await json("frontend/settings");
offerLanguages(languages, settings.language);
at("text").maxLength = settings.charLimit;
at("keyLabel").hidden = !settings.keyRequired;
copyButtons(document);

function asked() {
  const body = { q: at("text").value, source: at("source").value, target: at("target").value };
  const alternatives = Number(at("alternatives").value);
  if (alternatives) body.alternatives = alternatives;
  if (settings.keyRequired) body.api_key = at("key").value;
  return body;
}

function showRequest(body) {
  const shown = { ...body, ...(body.api_key ? { api_key: "YOUR KEY" } : {}) };
  const data = JSON.stringify(shown, null, 2).replaceAll("'", "'\\''");
  at("request").textContent =
    `curl ${new URL("translate", location.href)} \\\n  -H 'Content-Type: application/json' \\\n  -d '${data}'`;
}

// What is asked now; an older answer that comes later is not shown.
let asking = null;
let timer = 0;

function clear() {
  for (const id of ["translation", "response", "status"]) at(id).textContent = "";
  at("others").hidden = true;
}

async function translate() {
  clearTimeout(timer);
  asking?.abort();
  const body = asked();
  showRequest(body);
  if (!body.q.trim()) return clear();
  const mine = (asking = new AbortController());
  const started = performance.now();
  at("status").className = "";
  at("status").textContent = "Translating…";
  try {
    const { response, value } = await json("translate", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: mine.signal,
    });
    at("response").textContent = JSON.stringify(value, null, 2);
    if (!response.ok) throw new Error(value.error);
    at("translation").textContent = value.translatedText;
    const others = value.alternatives ?? [];
    at("others").hidden = !others.length;
    at("others").replaceChildren(...others.map((text) => {
      const item = document.createElement("li");
      item.textContent = text;
      return item;
    }));
    at("status").textContent = `${Math.round(performance.now() - started)} ms`;
  } catch (error) {
    if (mine.signal.aborted) return;
    at("status").className = "wrong";
    at("status").textContent = error.message;
  }
}

/** Translate when a person pauses; without a key, there is nothing to ask. */
function soon() {
  showRequest(asked());
  clearTimeout(timer);
  if (!settings.keyRequired || at("key").value) timer = setTimeout(translate, PAUSE_MS);
}

at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  translate();
});
at("form").addEventListener("input", soon);
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("form").requestSubmit();
});
showRequest(asked());
