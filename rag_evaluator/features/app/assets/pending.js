// Changes that the server has not confirmed yet: kept in this browser, sent until it has. Nothing typed is lost.
"use strict";

const AGAIN = 1500; // milliseconds after which the server is asked again
const PATIENCE = 15000; // milliseconds for an answer

/** A random identity, also in a page from another machine: over plain http browsers have no crypto.randomUUID. */
function newIdentity() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Outbox {
  /**
   * @param {string} run path of the run
   * @param {function(Object): string} address where a record is sent
   * @param {Object} on `changed()`, `confirmed(record, kept)`
   */
  constructor(run, address, on) {
    this.prefix = `rag-evaluator-review:${run}:`;
    this.address = address;
    this.on = on;
    this.memory = new Map(); // what the browser has no space to keep
    this.sending = false;
    this.offline = null; // "server" or "link"
    for (const event of ["online", "focus", "storage"]) window.addEventListener(event, () => this.flush());
    setInterval(() => this.flush(), AGAIN);
  }

  /** Every change of this run that is not confirmed, in the order in which they were made. */
  entries() {
    const found = [...this.memory.values()];
    for (let place = 0; place < localStorage.length; place++) {
      const key = localStorage.key(place);
      if (!key.startsWith(this.prefix)) continue;
      try {
        found.push(JSON.parse(localStorage.getItem(key)));
      } catch {
        localStorage.removeItem(key); // not ours
      }
    }
    return found.sort((a, b) => a.order - b.order);
  }

  /** The changes of a row, by `kind.field`. */
  of(row) {
    return this.entries().filter((entry) => entry.record.row === row);
  }

  /** Keep a change, then send it. */
  add(record) {
    const last = this.entries().at(-1);
    const order = Math.max(Date.now(), (last?.order ?? 0) + 1);
    this.store({ order, record: { id: newIdentity(), ...record } });
    this.flush();
  }

  store(entry) {
    try {
      localStorage.setItem(this.prefix + entry.record.id, JSON.stringify(entry));
    } catch {
      this.memory.set(entry.record.id, entry);
    }
    this.on.changed();
  }

  remove(id) {
    localStorage.removeItem(this.prefix + id);
    this.memory.delete(id);
    this.on.changed();
  }

  /** Send what waits, one after the other; a change that the server refuses stays until somebody decides. */
  async flush() {
    if (this.sending) return;
    this.sending = true;
    try {
      for (let entry; (entry = this.entries().find((each) => !each.conflict && !each.refused)); )
        if (!(await this.send(entry))) break;
    } finally {
      this.sending = false;
      this.on.changed();
    }
  }

  /** Whether the server has answered; then the change is confirmed, refused or in conflict. */
  async send(entry) {
    this.on.changed();
    let answer, said;
    try {
      answer = await askServer(this.address(entry.record), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(entry.record),
        redirect: "error",
        signal: AbortSignal.timeout(PATIENCE),
      });
      said = answer.headers.get("content-type")?.startsWith("application/json") ? await answer.json() : {};
    } catch {
      this.offline = "server";
      return false;
    }
    if (answer.status === 403 || answer.status >= 500) {
      this.offline = answer.status === 403 ? "link" : "server";
      return false;
    }
    this.offline = null;
    if (answer.ok) {
      this.remove(entry.record.id);
      this.on.confirmed(entry.record, said.kept);
    } else if (said.conflict) this.store({ ...entry, conflict: said.conflict });
    else this.store({ ...entry, refused: said.error ?? String(answer.status) });
    return true;
  }

  /** What the page says of all this: [state, text]. */
  get state() {
    const entries = this.entries();
    const refused = entries.find((entry) => entry.refused);
    if (entries.some((entry) => entry.conflict)) return ["conflict", "Changed by somebody else meanwhile: choose which to keep."];
    if (refused) return ["refused", `Not saved: ${refused.refused}`];
    if (!entries.length) return this.saved ? ["saved", "Saved"] : ["idle", "Each change is saved at once"];
    this.saved = true;
    if (!this.offline) return ["saving", "Saving …"];
    if (this.offline === "link") return ["waiting", `${entries.length} waiting: open the new link that 'view' has printed. Nothing is lost.`];
    return ["waiting", `${entries.length} waiting for the server. Nothing is lost: it is kept in this browser.`];
  }
}

/**
 * Texts that are typed and not saved, with the version that the person saw: by run, row, field and tab, so that two tabs
 * do not overwrite each other's. A tab without a draft of its own goes on with the newest one.
 */
class Drafts {
  constructor(run) {
    this.prefix = `rag-evaluator-draft:${run}:`;
    this.tab = sessionStorage.getItem("rag-evaluator-tab") ?? newIdentity();
    sessionStorage.setItem("rag-evaluator-tab", this.tab);
  }

  key(row, field) {
    return `${this.prefix}${row}:${field}:`;
  }

  set(row, field, draft) {
    try {
      localStorage.setItem(this.key(row, field) + this.tab, JSON.stringify({ ...draft, at: Date.now() }));
    } catch {
      // no space: the text is on the page only
    }
  }

  /** [key, draft] of all tabs, the newest first. */
  all(row, field) {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(this.key(row, field)));
    return keys.map((key) => [key, JSON.parse(localStorage.getItem(key))]).sort((a, b) => b[1].at - a[1].at);
  }

  get(row, field) {
    const drafts = this.all(row, field);
    return (drafts.find(([key]) => key.endsWith(this.tab)) ?? drafts[0])?.[1] ?? null;
  }

  /** Forget the draft of this tab, and those of others that say the same. */
  remove(row, field, typed) {
    for (const [key, draft] of this.all(row, field)) if (key.endsWith(this.tab) || draft.typed === typed) localStorage.removeItem(key);
  }
}
