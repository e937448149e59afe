// Requests to the server. A refusal carries the server's own sentence.

export class Refused extends Error {
  constructor(message, status, seconds) {
    super(message);
    this.status = status;
    this.seconds = seconds;
  }

  /** Whether the same request may be answered later. */
  get isBusy() {
    return this.status === 429 || this.status === 503;
  }
}

export async function ask(path, body, key) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const isForm = body instanceof FormData;
  if (body && !isForm) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers,
      body: body && !isForm ? JSON.stringify(body) : body,
    });
  } catch {
    throw new Refused("The server does not answer; see whether it still runs.", 0, 0);
  }
  const value = await response.json().catch(() => ({}));
  if (response.ok) return value;
  const seconds = Number(response.headers.get("Retry-After")) || 1;
  throw new Refused(value.error ?? `The server answered ${response.status}.`, response.status, seconds);
}
