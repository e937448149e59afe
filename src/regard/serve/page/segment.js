// One segment: its source, the translation that a person edits, and what has become of it.

import { check, isTag, shown, textOf, wordsOf, written } from "./tags.js";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const tool = (label, title, act) => element("button", { type: "button", className: "plain", title, onclick: act }, label);

export class Segment {
  constructor({ number, pieces, syntaxes }, place, { source, target }, onChange) {
    Object.assign(this, { number, pieces, place, onChange });
    this.sent = JSON.stringify({ pieces, syntaxes });
    this.machine = null;
    this.confidence = null; // how sure the model is, if the run is calibrated
    this.isConfirmed = false;
    this.refusal = "";
    this.show(source, target);
  }

  get source() {
    return textOf(this.pieces);
  }

  get text() {
    return this.box.value;
  }

  get isEdited() {
    return this.text !== (this.machine ?? "");
  }

  get waits() {
    return this.machine === null && !this.refusal;
  }

  get words() {
    return { source: wordsOf(this.source, this.pieces), target: wordsOf(this.text, this.pieces) };
  }

  show(source, target) {
    const name = this.place + 1;
    const parts = this.pieces.map((each) =>
      isTag(each)
        ? element("span", { className: "tag", title: "formatting" }, written(each), shown(each) && ` ${shown(each)}`)
        : each);
    this.box = element("textarea", {
      lang: target, dir: "auto", rows: 1, spellcheck: true, placeholder: "…",
      ariaLabel: `Translation of segment ${name}`,
      oninput: () => this.change({ isConfirmed: false }),
    });
    this.problem = element("p", { className: "wrong", id: `problem-${name}`, hidden: true });
    this.box.setAttribute("aria-describedby", `source-${name} problem-${name}`);
    this.others = element("ul", { className: "others", hidden: true });
    this.tools = element("p", { className: "tools" },
      tool("Alternatives", "Alt A", () => this.onChange(this, "alternatives")),
      tool("Model's text", "Alt R", () => this.restore()),
      tool("Copy source", "Alt C", () => this.write(this.source)));
    this.state = element("span", { className: "state" });
    this.tick = element("button", {
      type: "button", className: "tick", ariaLabel: `Confirm segment ${name}`,
      onclick: () => this.onChange(this, this.isConfirmed ? "reopen" : "confirm"),
    }, "✓");
    this.row = element("li", { className: "segment" },
      element("span", { className: "number" }, String(name)),
      element("p", { className: "source", id: `source-${name}`, lang: source, dir: "auto" }, ...parts),
      element("div", { className: "target" }, this.box, this.problem, this.others, this.tools),
      element("div", { className: "mark" }, this.tick, this.state));
    this.row.addEventListener("focusout", ({ relatedTarget }) => {
      if (!this.row.contains(relatedTarget)) this.others.hidden = true;
    });
    this.refresh();
  }

  refresh() {
    const [state, label] = this.isConfirmed ? ["confirmed", "confirmed"]
      : this.refusal && !this.text ? ["refused", "not translated"]
      : this.isEdited ? ["edited", "edited"]
      : this.machine === null ? ["waiting", "waiting"]
      : ["machine", this.confidence?.verdict ?? "model"];
    this.row.dataset.state = state;
    this.state.textContent = label;
    this.state.title = this.confidence ? `${Math.round(100 * this.confidence.probability)} % sure` : "";
    this.state.classList.toggle("doubtful", label === "check");
    this.tick.ariaPressed = String(this.isConfirmed);
    const { missing, problem } = this.text ? check(this.text, this.pieces) : { missing: [], problem: "" };
    this.fault = problem;
    this.problem.hidden = !problem && !this.refusal;
    const insert = missing.map((tag) => tool(`Insert ${tag}`, "", () => this.insert(tag)));
    this.problem.replaceChildren(problem || this.refusal, " ", ...insert);
    this.box.ariaInvalid = String(Boolean(problem));
  }

  change(values) {
    Object.assign(this, values);
    this.refresh();
    this.onChange(this, "changed");
  }

  /** Take the model's translation, unless a person was faster. */
  receive(text, confidence = null) {
    if (!this.isEdited) this.box.value = text;
    this.machine = text;
    this.confidence = confidence;
    this.refresh();
  }

  refuse(sentence) {
    this.refusal = sentence;
    this.refresh();
  }

  write(text) {
    this.box.value = text;
    this.others.hidden = true;
    this.box.focus();
    this.change({ isConfirmed: false });
  }

  restore() {
    if (this.machine !== null) this.write(this.machine);
  }

  insert(tag) {
    this.box.setRangeText(tag, this.box.selectionStart, this.box.selectionEnd, "end");
    this.write(this.text);
  }

  offer(texts) {
    const choices = texts.filter((text) => text !== this.text).map((text) => element("li", {}, tool(text, "", () => this.write(text))));
    this.others.replaceChildren(...choices);
    this.others.hidden = false;
    this.others.querySelector("button")?.focus();
  }
}
