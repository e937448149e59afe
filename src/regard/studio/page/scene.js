// A picture as plain data, {width, height, items}, drawn as SVG text or on a canvas, so that
// an export needs no copy of the page.

const FONT = "system-ui, sans-serif";

export const rect = (x, y, width, height, fill) => ({ kind: "rect", x, y, width, height, fill });
export const line = (points, stroke, width = 1, opacity = 1) => ({
  kind: "line",
  points,
  stroke,
  width,
  opacity,
});
export const area = (points, fill, opacity = 1) => ({ kind: "area", points, fill, opacity });
export const circle = (x, y, radius, fill, stroke = "none") => ({
  kind: "circle",
  x,
  y,
  radius,
  fill,
  stroke,
});
export const text = (x, y, content, { fill, size = 12, anchor = "start", turn = 0, weight = 400 }) => ({
  kind: "text",
  ...{ x, y, content, fill, size, anchor, turn, weight },
});

/** Text as lines of at most this width; a word that is longer is cut into several. */
export function wrapped(content, width, size) {
  const lines = [];
  let line = "";
  for (const word of String(content).split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word;
    if (wrapped.width(longer, size) <= width) {
      line = longer;
      continue;
    }
    if (line) lines.push(line);
    line = word;
    while (wrapped.width(line, size) > width && line.length > 1) {
      let most = line.length - 1;
      while (most > 1 && wrapped.width(line.slice(0, most), size) > width) most -= 1;
      lines.push(line.slice(0, most));
      line = line.slice(most);
    }
  }
  return line ? [...lines, line] : lines;
}

const ruler = document.createElement("canvas").getContext("2d");
wrapped.width = (content, size) => {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(content).width;
};

function escape(value) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return (
    String(value)
      .replace(/[&<>"]/g, (character) => names[character])
      // Characters that no XML file may hold.
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
  );
}

const round = (value) => Math.round(value * 100) / 100;

function element(item) {
  if (item.kind === "rect") {
    const { x, y, width, height, fill } = item;
    return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${fill}"/>`;
  }
  if (item.kind === "circle") {
    const { x, y, radius, fill, stroke } = item;
    return `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="${fill}" stroke="${stroke}"/>`;
  }
  if (item.kind === "line") {
    const points = item.points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
    return `<polyline points="${points}" fill="none" stroke="${item.stroke}" stroke-width="${item.width}" opacity="${item.opacity}"/>`;
  }
  if (item.kind === "area") {
    const points = item.points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
    return `<polygon points="${points}" fill="${item.fill}" opacity="${item.opacity}"/>`;
  }
  const { x, y, content, fill, size, anchor, turn, weight } = item;
  const turned = turn ? ` transform="rotate(${turn} ${round(x)} ${round(y)})"` : "";
  return `<text x="${round(x)}" y="${round(y)}" fill="${fill}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}"${turned}>${escape(content)}</text>`;
}

export function toSvg({ width, height, background, items }) {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" font-family="${FONT}">`,
    `<rect width="${w}" height="${h}" fill="${background}"/>`,
    ...items.map(element),
    "</svg>\n",
  ].join("\n");
}

function draw(context, item) {
  if (item.kind === "rect") {
    context.fillStyle = item.fill;
    context.fillRect(item.x, item.y, item.width, item.height);
  } else if (item.kind === "circle") {
    context.beginPath();
    context.arc(item.x, item.y, item.radius, 0, 2 * Math.PI);
    context.fillStyle = item.fill;
    context.fill();
    if (item.stroke !== "none") {
      context.strokeStyle = item.stroke;
      context.stroke();
    }
  } else if (item.kind === "line" || item.kind === "area") {
    context.globalAlpha = item.opacity;
    context.beginPath();
    item.points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    if (item.kind === "area") {
      context.fillStyle = item.fill;
      context.fill();
    } else {
      context.strokeStyle = item.stroke;
      context.lineWidth = item.width;
      context.stroke();
    }
    context.globalAlpha = 1;
  } else {
    context.save();
    context.translate(item.x, item.y);
    context.rotate((item.turn * Math.PI) / 180);
    context.fillStyle = item.fill;
    context.font = `${item.weight} ${item.size}px ${FONT}`;
    context.textAlign = { start: "left", middle: "center", end: "right" }[item.anchor];
    context.fillText(item.content, 0, 0);
    context.restore();
  }
}

export function toPng({ width, height, background, items }, scale = 2) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = background;
  context.fillRect(0, 0, width, height);
  for (const item of items) draw(context, item);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Rows of cells as CSV. A cell that a spreadsheet would take for a formula is kept as text. */
export function toCsv(rows) {
  const cell = (value) => {
    if (typeof value === "number") return String(value);
    const plain = /^[=+\-@\t\r]/.test(value ?? "") ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

export function download(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
