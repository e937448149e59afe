// The answers of a lesson, which come with the page: it has the functions of api.js, and no server.

export class Problem extends Error {}

/** A lesson needs no server, so this is never thrown; others ask for its name. */
export class NoAnswer extends Problem {}

const NEEDS = "This needs the model, and a lesson is a recording";

const answers = unpacked(document.getElementById("answers"));

async function unpacked(element) {
  if (!element) return {};
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** A question without what is usual; lesson/recorder.py does the same with what it records. */
function plain(value) {
  if (Array.isArray(value)) {
    return value.length ? value.map((each) => plain(each) ?? each) : null;
  }
  if (value && typeof value === "object") {
    const found = Object.keys(value)
      .sort()
      .map((name) => [name, plain(value[name])])
      .filter(([, each]) => each !== null);
    return found.length ? Object.fromEntries(found) : null;
  }
  return value || null;
}

async function find(question, body) {
  const found = (await answers)[`${question} ${JSON.stringify(plain(body))}`];
  if (found === undefined) {
    const command = document.querySelector(".lesson-note code")?.textContent ?? "regard studio";
    throw new Problem(`${NEEDS}. Run: ${command}`);
  }
  return found;
}

export async function get(path) {
  if (path.startsWith("api/runs")) return find("runs", {});
  if (path === "api/tour") return find("tour", {});
  const found = await find("metrics", {});
  const asked = Number(new URL(path, "http://x/").searchParams.get("after"));
  return asked === found.cursor ? { ...found, events: [] } : found;
}

export async function ask(question, body) {
  if (question === "model") return figure(body);
  if (question === "model_box") return find(question, await place(body));
  return find(question, body);
}

/** Rows of a source and of an output are recorded one by one; a figure is put together of both. */
async function figure(body) {
  const { row, col, ...asked } = body;
  const first = await find("model", asked);
  const { labels } = first;
  const last = (labels.target ?? labels.text).length - 1;
  const byRow = await find("model", { ...asked, row: Math.min(row, last) });
  if (!labels.source) return byRow;
  const byCol = await find("model", { ...asked, col: Math.min(col, labels.source.length - 1) });
  const stacks = byRow.stacks.map((stack, at) => (stack.side === "source" ? byCol.stacks[at] : stack));
  return { ...byRow, stacks };
}

/** Only the last box depends on the row that is looked at, which may be beyond its end. */
async function place({ row, col, ...asked }) {
  if (asked.box !== "output") return asked;
  const { box, head, stage, ...input } = asked;
  const { labels, stacks } = await find("model", input);
  const { side } = stacks.at(-1).boxes.at(-1);
  return { ...asked, row: Math.min(row, labels[side].length - 1) };
}

export async function layer(body, signal, question = "layer") {
  const asked = question === "model_stage" ? await place(body) : body;
  const { shape, data } = await find(question, asked);
  const bytes = Uint8Array.from(atob((await answers)[data]), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const numbers = Float32Array.from({ length: bytes.length / 4 }, (_, at) => view.getFloat32(4 * at, true));
  const [maps, rows, cols] = shape;
  const together = body.measure === "norm";
  return { heads: together ? maps - 1 : maps, together, rows, cols, data: numbers };
}

export async function translate(body) {
  return find("translate", body);
}

export async function square() {
  throw new Problem(`${NEEDS}.`);
}
