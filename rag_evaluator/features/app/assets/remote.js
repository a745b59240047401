// The rows of a run, asked of the server page by page.
"use strict";

const NO_ANSWER = "The server does not answer. Is 'rag-evaluator view' still running? If it was started again, open its new link.";
const RELOAD = 5000; // milliseconds after which a run that is being made is shown anew

/** What the server answers. Throws what it says is wrong, with the rest of its JSON. */
async function ask(address, options = {}) {
  const answer = await askServer(address, { redirect: "error", ...options }).catch(() => null);
  if (answer?.ok) return answer;
  const said = await answer?.json().catch(() => null);
  throw Object.assign(new Error(said?.error ?? NO_ANSWER), said);
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
    const waiting = setTimeout(() => number === this.asked && (this.wait.textContent = "Reading all rows to sort and search them …"), 500);
    try {
      const answer = await (await ask(withQuery(this.rows, query))).json();
      this.all = answer.all;
      for (const row of answer.rows) if (row.label !== null) this.labels.set(row.row, row.label);
      return answer;
    } finally {
      clearTimeout(waiting);
    }
  }

  async fragment(row) {
    const [path, query = ""] = this.one.split("?");
    return (await ask(`${path}/${row}${query && "?" + query}`)).text();
  }

  /** What a row is called: its id, else the number of its line, from 1; its fragment says the id of one that was not asked for. */
  label(row) {
    return this.labels.get(row) ?? String(row + 1);
  }
}

function makeSource() {
  return new RemoteSource(document.getElementById("remote"));
}

/** HTML made by our templates, which escape all data; scripts in it would not run. */
function fragmentOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** A part of a page that takes long to make: it comes after it. */
async function loadFragment(place) {
  try {
    place.replaceChildren(fragmentOf(await (await ask(place.dataset.fragment)).text()));
  } catch (error) {
    place.replaceChildren(element("p", { class: "notice" }, error.message));
  }
  place.removeAttribute("aria-busy");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("[data-fragment]")) loadFragment(place);
  if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), RELOAD);
});
