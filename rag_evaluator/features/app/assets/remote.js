// The rows of a run, asked of the server page by page.
"use strict";

const NO_ANSWER = "The server does not answer. Is 'rag-evaluator view' still running?";
const ASK_AGAIN = 400; // milliseconds, while the server reads all rows
const KEEP_FILE = 60_000; // milliseconds: a browser may read a saved file later

/** What the server answers. Throws what it says is wrong. */
async function ask(address) {
  let answer;
  try {
    answer = await askServer(address, { redirect: "error" });
  } catch {
    throw new Error(NO_ANSWER);
  }
  if (answer.ok) return answer;
  let error = "";
  try {
    error = (await answer.json()).error;
  } catch {
    error = NO_ANSWER;
  }
  throw new Error(error);
}

/** Saves a file of the server: a link would be opened without the token. */
async function saveFile(address, name) {
  const link = element("a", { href: URL.createObjectURL(await (await ask(address)).blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEEP_FILE);
}

/** An address with more in its query; what is blank is left out. */
function withQuery(address, values) {
  const made = new URL(address, location.href);
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined && value !== "" && value !== false) made.searchParams.set(name, value === true ? "1" : String(value));
  return made;
}

/** The heads of prompts that rows at an address name: asked for once, and again where no answer came. */
function framesAt(address) {
  let asked = null;
  return () => (asked ??= ask(address).then((answer) => answer.json()).catch((error) => ((asked = null), Promise.reject(error))));
}

class RemoteSource {
  /** `element` has the addresses of rows and of a row, both may have a query already. */
  constructor(element) {
    this.rows = element.dataset.rows;
    this.one = element.dataset.row;
    this.wait = element.querySelector(".count");
    this.labels = new Map();
    this.asked = 0;
    this.frames = framesAt(this.one.replace("/api/row/", "/api/frames/"));
  }

  async query(query) {
    const number = ++this.asked;
    const found = await this.whenBuilt(withQuery(this.rows, query), () => number === this.asked);
    const answer = await found.json();
    this.all = answer.all;
    for (const row of answer.rows) if (row.label !== null) this.labels.set(row.row, row.label);
    return answer;
  }

  async fragment(row) {
    const [path, query = ""] = this.one.split("?");
    const found = await this.whenBuilt(`${path}/${row}${query && "?" + query}`, () => true);
    return found.text();
  }

  label(row) {
    return this.labels.get(row) ?? null;
  }

  /** Ask until the server has read all rows, and say how far it is; not for what nobody waits for any more. */
  async whenBuilt(address, wanted) {
    for (;;) {
      const answer = await ask(address);
      if (answer.status !== 202 || !wanted()) return answer;
      const { building } = await answer.json();
      this.wait.textContent = `Reading all rows to sort and search them: ${Math.floor(building * 100)} %`;
      await new Promise((done) => setTimeout(done, ASK_AGAIN));
    }
  }
}

function makeSource() {
  return new RemoteSource(document.getElementById("remote"));
}

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button[data-file]")) {
    button.addEventListener("click", () => saveFile(button.dataset.file, button.dataset.name));
    button.disabled = false; // a click before would do nothing
  }
});
