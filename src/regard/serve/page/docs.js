// The interface, read from the server's own description.
const spec = await (await fetch("spec")).json();

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function kind(schema) {
  if (schema.oneOf) return schema.oneOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `list of ${schema.items ? kind(schema.items) : "anything"}`;
  return schema.type ?? JSON.stringify(schema.const);
}

function table(schema) {
  const needed = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, inner]) => element(
    "tr", "",
    element("td", "", element("code", name)),
    element("td", kind(inner)),
    element("td", needed.has(name) ? "always" : ""),
  ));
  return rows.length ? element("table", "", element("tbody", "", ...rows)) : element("p", kind(schema));
}

document.getElementById("about").textContent = spec.info.description;
for (const [path, methods] of Object.entries(spec.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const section = element("section", "", element("h2", `${method.toUpperCase()} ${path}`), element("p", operation.summary));
    const sent = operation.requestBody?.content ?? {};
    for (const [type, { schema }] of Object.entries(sent)) {
      section.append(element("h3", `Request (${type})`), table(schema));
    }
    for (const [type, { schema }] of Object.entries(operation.responses["200"].content)) {
      section.append(element("h3", `Answer (${type})`), table(schema));
    }
    document.getElementById("paths").append(section);
  }
}
