// The interface, read from the server's own description. Everything is inserted as text.
import { copyButtons } from "./copying.js";

const spec = await (await fetch("spec")).json();

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children.filter(Boolean));
  return made;
}

/** A sentence in which `names` are code. */
function sentence(text) {
  const parts = String(text).split("`");
  return element("p", "", ...parts.map((part, at) => (at % 2 ? element("code", part) : part)));
}

function kind(schema) {
  if (schema.oneOf) return [...new Set(schema.oneOf.map(kind))].join(" or ");
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `list of ${schema.items ? kind(schema.items) : "anything"}`;
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  return schema.type ?? JSON.stringify(schema.const) ?? "anything";
}

/** What a value is, and between which limits it must be. */
function limits(schema) {
  const least = schema.minimum ?? schema.exclusiveMinimum;
  const most = schema.maximum ?? schema.exclusiveMaximum;
  return [
    kind(schema),
    least !== undefined && most !== undefined && `${least} to ${most}`,
    schema.maxLength && `at most ${schema.maxLength} characters`,
    schema.maxItems && `at most ${schema.maxItems}`,
  ].filter(Boolean).join(", ");
}

function table(schema) {
  const needed = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, inner]) => element(
    "tr", "",
    element("td", "", element("code", name)),
    element("td", inner.description ?? ""),
    element("td", limits(inner)),
    element("td", needed.has(name) ? "always" : ""),
  ));
  if (!rows.length) return element("p", kind(schema));
  const head = ["field", "meaning", "type", ""].map((title) => element("th", title));
  return element("div", "", element("table", "",
    element("thead", "", element("tr", "", ...head)),
    element("tbody", "", ...rows)));
}

let serial = 0;

/** A command that anyone can paste. */
function command(path, method, example) {
  const data = JSON.stringify(example, null, 2).replaceAll("'", "'\\''");
  const text = element("pre",
    `curl ${new URL(path.slice(1), location.href)}${method === "post" ? "" : ` -X ${method.toUpperCase()}`} \\\n` +
    `  -H 'Content-Type: application/json' \\\n  -d '${data}'`);
  text.id = `example-${(serial += 1)}`;
  const button = element("button", "Copy");
  button.type = "button";
  button.className = "plain copy";
  button.dataset.copies = text.id;
  return element("div", "", element("h3", "Example ", button), text);
}

function operationOf(path, method, operation) {
  const section = element("section", "", element("h2", `${method.toUpperCase()} ${path}`), sentence(operation.summary));
  const asked = operation.parameters ?? [];
  if (asked.length) {
    section.append(element("h3", "In the query"), table({
      properties: Object.fromEntries(asked.map((each) => [each.name, { ...each.schema, description: each.description }])),
      required: asked.filter((each) => each.required).map((each) => each.name),
    }));
  }
  for (const [type, { schema, example }] of Object.entries(operation.requestBody?.content ?? {})) {
    section.append(element("h3", `Request (${type})`), table(schema));
    if (example !== undefined) section.append(command(path, method, example));
  }
  const answer = operation.responses["200"] ?? operation.responses["201"];
  for (const [type, { schema }] of Object.entries(answer?.content ?? {})) {
    section.append(element("h3", `Answer (${type})`), table(schema));
  }
  return section;
}

document.getElementById("about").replaceWith(sentence(spec.info.description));
for (const [path, methods] of Object.entries(spec.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    if (operation.responses) document.getElementById("paths").append(operationOf(path, method, operation));
  }
}
copyButtons(document);
