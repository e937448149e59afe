// Elements are made here and nowhere else. Text becomes a text node, never markup.

const SPACES = {
  svg: "http://www.w3.org/2000/svg",
  math: "http://www.w3.org/1998/Math/MathML",
};

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "style") {
      for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "selected") {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An HTML element: h("button", {class: "quiet", on: {click}}, "Export") */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SPACES.svg, tag), properties, children);
}

/** A MathML element. */
export function math(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SPACES.math, tag), properties, children);
}

/** Replace all children with these. */
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** The same for controls: they are not replaced while they have the focus and are of the same kind,
 * and the focus stays where it was. A kind of null is never the same.
 */
export function redraw(element, kind, ...children) {
  const inside = element.contains(document.activeElement);
  if (inside && kind !== null && element.dataset.kind === kind) return;
  const stops = () => [...element.querySelectorAll("input, select, button, [tabindex]")];
  const at = inside ? stops().indexOf(document.activeElement) : -1;
  element.dataset.kind = kind;
  replace(element, ...children);
  if (at >= 0) stops()[at]?.focus();
}

let serial = 0;

/** A choice among a few: radio buttons that look like one bar. `options` are [value, text, hint]. */
export function segmented(label, options, chosen, choose) {
  const name = `choice-${(serial += 1)}`;
  return h(
    "fieldset",
    { class: "segmented" },
    h("legend", {}, label),
    options.map(([value, text, hint]) => {
      const box = h("input", {
        type: "radio",
        name,
        value: String(value),
        checked: value === chosen,
        on: { change: () => choose(value) },
      });
      return h("label", { title: hint }, box, h("span", {}, text));
    }),
  );
}

export function select(label, options, chosen, choose) {
  const box = h(
    "select",
    { on: { change: () => choose(options[box.selectedIndex][0]) } },
    options.map(([value, text]) => h("option", { selected: value === chosen }, text)),
  );
  return h("label", { class: "field" }, h("span", {}, label), box);
}

export function slider(label, { min, max, step, value, shown, change }) {
  const output = h("output", {}, shown(value));
  const box = h("input", {
    type: "range",
    min,
    max,
    step,
    "aria-label": label,
    on: {
      input: () => {
        output.textContent = shown(Number(box.value));
        change(Number(box.value));
      },
    },
  });
  box.value = String(value);
  return h("label", { class: "field slider" }, h("span", {}, label), box, output);
}

export function toggle(label, on, change, hint) {
  const box = h("input", { type: "checkbox", checked: on, on: { change: () => change(box.checked) } });
  return h("label", { class: "toggle", title: hint }, box, h("span", {}, label));
}

export function button(label, click, properties = {}) {
  return h("button", { type: "button", ...properties, on: { click } }, label);
}

let isMore = false;

/** Controls that a narrow screen hides until they are asked for. */
export function more(...children) {
  const ask = h(
    "button",
    {
      type: "button",
      class: "more-button",
      "aria-expanded": String(isMore),
      on: {
        click: () => {
          isMore = box.classList.toggle("open");
          ask.setAttribute("aria-expanded", String(isMore));
        },
      },
    },
    "More",
  );
  const box = h("div", { class: isMore ? "more open" : "more" }, ask, children);
  return box;
}
