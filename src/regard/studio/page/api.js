// Questions to the server this page came from.

export class Problem extends Error {}

/** The server is not there. */
export class NoAnswer extends Problem {}

async function answer(response) {
  if (response.ok) return response;
  let sentence = `The server answered ${response.status}.`;
  try {
    sentence = (await response.json()).error ?? sentence;
  } catch {
    // Not JSON: the status number is all we can report.
  }
  throw new Problem(sentence);
}

async function send(path, options) {
  try {
    return await answer(await fetch(path, options));
  } catch (error) {
    if (error instanceof TypeError) {
      throw new NoAnswer("The server does not answer; is `regard studio` still running?");
    }
    throw error;
  }
}

function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
}

export async function get(path) {
  return (await send(path)).json();
}

export async function ask(question, body, signal) {
  return (await post(`api/${question}`, body, signal)).json();
}

/** An image file as the model sees it: {pixels, size, channels}. */
export async function square(run, file) {
  const headers = { "Content-Type": "application/octet-stream" };
  return (await send(`api/square?run=${run}`, { method: "POST", headers, body: file })).json();
}

/** The weights of one layer: {heads, together, rows, cols, data}. For the measure "norm", what all
 * heads carry together comes after the single heads.
 */
export async function layer(body, signal, question = "layer") {
  const response = await post(`api/${question}`, body, signal);
  const [maps, rows, cols] = response.headers.get("X-Shape").split(",").map(Number);
  const together = body.measure === "norm";
  const heads = together ? maps - 1 : maps;
  return { heads, together, rows, cols, data: floats(await response.arrayBuffer()) };
}

function floats(buffer) {
  const view = new DataView(buffer);
  const data = new Float32Array(buffer.byteLength / 4);
  for (let index = 0; index < data.length; index += 1) data[index] = view.getFloat32(4 * index, true);
  return data;
}

/** Translate; `grow` sees the pieces of the best hypothesis at each step of the search. */
export async function translate(body, grow, signal) {
  const response = await post("api/translate", body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Problem("The server stopped in the middle of its answer.");
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.map((each) => JSON.parse(each))) {
      if (line.error) throw new Problem(line.error);
      if (line.done) return line.done;
      grow(line.pieces);
    }
  }
}
