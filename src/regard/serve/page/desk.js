// The desk: a document's segments beside their translations, which a person corrects, confirms and
// downloads. Everything from a model or a person is inserted as text, never as markup.

import { ask } from "./http.js";
import { Kept, fingerprint } from "./kept.js";
import { offerLanguages } from "./languages.js";
import { Segment } from "./segment.js";
import { alternatives, translateAll } from "./translating.js";

const at = (id) => document.getElementById(id);
const TABLES = /\.(csv|tsv|xlsx)$/i;
const PASTED = "text.txt";

const [languages, settings] = await Promise.all([ask("languages"), ask("frontend/settings")]);
const names = new Map(languages.map(({ code, name }) => [code, name]));
const key = () => (settings.keyRequired ? at("key").value : "");

let desk = null; // the open document
let chosen = null; // a file that waits for the button, as a table does for its columns
let isSaved = true;

function say(sentence) {
  at("status").textContent = sentence;
}

function complain(error, again = null) {
  at("problem").hidden = !error;
  at("problem").querySelector("span").textContent = error?.message ?? "";
  at("again").hidden = !again;
  at("again").onclick = again;
}

function form(file, values) {
  const sent = new FormData();
  for (const [name, value] of Object.entries(values)) if (value) sent.append(name, value);
  sent.append("file", file, file.name);
  return sent;
}

async function open(file) {
  complain(null);
  say(`Reading ${file.name}`);
  at("opening").inert = true;
  try {
    const values = { target: at("target").value, column: at("column").value, into: at("into").value };
    const source = at("source").value;
    const found = await ask("segments", form(file, { ...values, source }), key());
    show(file, { ...values, source: found.source }, found);
    desk.kept = new Kept(`${await fingerprint(file)} ${found.source} ${values.target}`);
    restore();
  } catch (error) {
    complain(error);
    return;
  } finally {
    at("opening").inert = false;
  }
  await run();
}

function show(file, values, found) {
  desk = { file, values, source: values.source, target: values.target, current: 0, isPaused: false };
  desk.segments = found.segments.map((each, place) => new Segment(each, place, desk, changed));
  at("segments").replaceChildren(...desk.segments.map((each) => each.row));
  at("name").textContent = file.name === PASTED ? "Text" : file.name;
  at("pair").textContent = `${names.get(desk.source)} → ${names.get(desk.target)}`;
  at("finished").textContent = found.finished
    ? `${found.finished.toLocaleString()} texts of the file are translated already, and stay as they are.` : "";
  at("restored").textContent = "";
  at("suggestLabel").hidden = !settings.suggestions;
  at("copy").hidden = file.name !== PASTED || !navigator.clipboard;
  at("opening").hidden = true;
  at("desk").hidden = false;
  at("show").value = "all";
  isSaved = true;
  count();
  if (!desk.segments.length) complain(new Error("There is nothing to translate in this file."));
  desk.segments[0]?.box.focus();
}

/** Take back what this tab has kept of the same file. */
function restore() {
  const before = desk.kept.read();
  const ours = desk.segments.filter((each) => before[each.number]);
  for (const each of ours) {
    each.box.value = before[each.number].text;
    each.isConfirmed = before[each.number].confirmed;
    each.refresh();
  }
  if (ours.length) at("restored").textContent = `${ours.length} of your translations are as you left them.`;
  count();
}

async function run() {
  const ours = desk;
  complain(null);
  const isStopped = () => desk !== ours;
  try {
    await translateAll(ours, {
      key, isStopped,
      limit: settings.charLimit,
      current: () => ours.current,
      onBatch: () => { complain(null); count(); },
      onWait: (error) => complain(new Error(`${error.message}. Continuing in ${Math.ceil(error.seconds)} s.`)),
    });
    if (!isStopped()) say(`${ours.segments.length} segments are translated.`);
  } catch (error) {
    if (!isStopped()) complain(error, run);
  }
}

function count() {
  const total = desk.segments.length;
  const translated = desk.segments.filter((each) => each.text).length;
  const confirmed = desk.segments.filter((each) => each.isConfirmed).length;
  at("progress").max = Math.max(1, total);
  at("progress").value = translated;
  at("progress").hidden = translated === total;
  at("counts").textContent = translated < total
    ? `${translated.toLocaleString()} of ${total.toLocaleString()} translated`
    : `${confirmed.toLocaleString()} of ${total.toLocaleString()} confirmed`;
}

let keeping = 0;

function changed(segment, what) {
  if (what === "confirm") return void confirm(segment);
  if (what === "alternatives") return void offer(segment);
  if (what === "reopen") {
    segment.isConfirmed = false;
    segment.refresh();
  }
  isSaved = false;
  clearTimeout(keeping);
  keeping = setTimeout(() => desk?.kept.write(desk.segments), 300);
  count();
}

async function offer(segment) {
  say("Looking for other translations");
  try {
    const found = await alternatives(desk, segment, key(), 4);
    segment.offer(found);
    say("Choose a translation.");
  } catch (error) {
    complain(error);
  }
}

/** Confirm a segment and go to the next one that is not confirmed. */
function confirm(segment) {
  if (!segment.text.trim()) return say("There is no translation to confirm yet.");
  if (segment.fault) return say(segment.fault);
  const isCorrection = segment.machine !== null && segment.isEdited && !segment.isConfirmed;
  segment.change({ isConfirmed: true });
  if (isCorrection && settings.suggestions && at("suggest").checked) suggest(segment);
  repeat(segment);
  const rest = [...desk.segments.slice(segment.place + 1), ...desk.segments.slice(0, segment.place)];
  const next = rest.find((each) => !each.isConfirmed && !each.row.hidden);
  if (next) go(next);
  say(next ? `Confirmed. Segment ${next.place + 1}.` : "All segments are confirmed.");
}

/** What a person wrote is the translation of the same source elsewhere, too, until that is edited. */
function repeat(segment) {
  const same = desk.segments.filter((each) => each !== segment && each.sent === segment.sent);
  for (const each of same.filter(({ isEdited, isConfirmed }) => !isEdited && !isConfirmed)) {
    each.box.value = segment.text;
    each.refresh();
  }
}

async function suggest(segment) {
  const { source, target } = segment.words;
  try {
    await ask("suggest", { q: source, s: target, source: desk.source, target: desk.target }, key());
  } catch (error) {
    complain(new Error(`The correction was not kept on the server: ${error.message}`));
  }
}

function go(segment) {
  segment?.box.focus({ preventScroll: true });
  segment?.row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  for (let place = desk.current + by; desk.segments[place]; place += by) {
    if (!desk.segments[place].row.hidden) return go(desk.segments[place]);
  }
}

/** The translated document as the server made it: its address. */
async function translated() {
  const faulty = desk.segments.find((each) => each.fault);
  if (faulty) {
    go(faulty);
    throw new Error(`Segment ${faulty.place + 1}: ${faulty.fault}. Put the tags right to download.`);
  }
  const texts = desk.segments.filter((each) => each.text || each.isEdited).map((each) => [each.number, each.text]);
  const translations = JSON.stringify(Object.fromEntries(texts));
  const reviewed = desk.segments.filter((each) => each.isConfirmed).map((each) => each.number).join();
  const made = await ask("translate_file", form(desk.file, { ...desk.values, translations, reviewed }), key());
  return `download_file/${made.translatedFileUrl.split("/").pop()}`;
}

async function download() {
  complain(null);
  say("Writing the file");
  try {
    const link = document.createElement("a");
    link.href = await translated();
    link.download = "";
    link.click();
    isSaved = true;
    say("The file is downloaded.");
  } catch (error) {
    complain(error);
  }
}

async function copy() {
  try {
    const response = await fetch(await translated());
    await navigator.clipboard.writeText(await response.text());
    isSaved = true;
    say("The translation is copied.");
    at("copy").textContent = "Copied";
    setTimeout(() => { at("copy").textContent = "Copy"; }, 2000);
  } catch (error) {
    complain(error);
  }
}

function close() {
  desk = null;
  complain(null);
  at("desk").hidden = true;
  at("opening").hidden = false;
  at("file").value = "";
  choose(null);
  isSaved = true;
  at("text").focus();
}

function choose(file) {
  chosen = file;
  const isTable = Boolean(file && TABLES.test(file.name));
  at("columns").hidden = !isTable;
  at("text").placeholder = isTable ? `${file.name}: choose its columns, then translate.` : placeholder;
  at("column").value = at("into").value = "";
  if (isTable) {
    at("text").value = "";
    at("column").focus();
  } else if (file) {
    open(file);
  }
}

function keyed(event) {
  const segment = desk?.segments.find((each) => each.row.contains(event.target));
  const isCommand = event.ctrlKey || event.metaKey;
  const act = (isCommand && event.key.toLowerCase() === "s" && download)
    || (segment && isCommand && event.key === "Enter" && (() => confirm(segment)))
    || (event.altKey && event.key === "ArrowDown" && (() => step(1)))
    || (event.altKey && event.key === "ArrowUp" && (() => step(-1)))
    || (segment && event.altKey && event.code === "KeyA" && (() => offer(segment)))
    || (segment && event.altKey && event.code === "KeyR" && (() => segment.restore()))
    || (segment && event.altKey && event.code === "KeyC" && (() => segment.write(segment.source)));
  if (!desk || !act) return;
  event.preventDefault();
  act();
}

const placeholder = at("text").placeholder;
if (!offerLanguages(languages, settings.language)) {
  complain(new Error("This server has no translator. “Interface” lists what it answers."));
  at("opening").hidden = true;
}
at("keyLabel").hidden = !settings.keyRequired;
at("formats").textContent = settings.supportedFilesFormat.join(" ");
at("file").accept = settings.supportedFilesFormat.join(",");
at("file").addEventListener("change", () => choose(at("file").files[0] ?? null));
at("opening").addEventListener("submit", (event) => {
  event.preventDefault();
  if (chosen) open(chosen);
  else if (at("text").value.trim()) open(new File([at("text").value], PASTED));
  else at("text").focus();
});
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("opening").requestSubmit();
});
at("download").addEventListener("click", download);
at("copy").addEventListener("click", copy);
at("close").addEventListener("click", () => {
  if (isSaved || window.confirm("Close the document without a download?")) close();
});
at("show").addEventListener("change", () => {
  const wanted = at("show").value;
  for (const each of desk.segments) {
    const shows = { all: true, open: !each.isConfirmed, confirmed: each.isConfirmed, edited: each.isEdited };
    each.row.hidden = !shows[wanted];
  }
});
at("segments").addEventListener("focusin", (event) => {
  desk.current = desk.segments.find((each) => each.row.contains(event.target))?.place ?? desk.current;
});
addEventListener("keydown", keyed);
addEventListener("beforeunload", (event) => { if (desk && !isSaved) event.preventDefault(); });
for (const kind of ["dragenter", "dragover"]) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
}
for (const kind of ["dragleave", "drop"]) {
  addEventListener(kind, (event) => {
    if (kind === "drop" || !event.relatedTarget) document.body.classList.remove("dropping");
  });
}
addEventListener("drop", (event) => {
  const [file] = event.dataTransfer.files;
  if (!file) return;
  event.preventDefault();
  if (!desk) choose(file);
  else complain(new Error("Close this document before you open another."));
});
