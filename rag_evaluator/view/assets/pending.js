// Changes that the server has not confirmed yet: kept in this browser, sent until it has. Nothing typed is lost.
"use strict";

const AGAIN = 1500; // milliseconds after which the server is asked again
const PATIENCE = 15000; // milliseconds for an answer

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
    this.sending = false;
    this.offline = null; // "server" or "link"
    for (const event of ["online", "focus", "storage"]) window.addEventListener(event, () => this.flush());
    setInterval(() => this.flush(), AGAIN);
  }

  /** Every change of this run that is not confirmed, in the order in which they were made. */
  entries() {
    const found = [];
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
    this.store({ order, record: { id: crypto.randomUUID(), ...record } });
    this.flush();
  }

  store(entry) {
    localStorage.setItem(this.prefix + entry.record.id, JSON.stringify(entry));
    this.on.changed();
  }

  remove(id) {
    localStorage.removeItem(this.prefix + id);
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
      answer = await fetch(this.address(entry.record), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(entry.record),
        credentials: "same-origin",
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
      localStorage.removeItem(this.prefix + entry.record.id);
      this.on.confirmed(entry.record, said.kept);
    } else if (said.conflict) this.store({ ...entry, conflict: said.conflict });
    else this.store({ ...entry, refused: said.error ?? String(answer.status) });
    return true;
  }

  /** What the page says of all this: [state, text]. */
  get state() {
    const entries = this.entries();
    const refused = entries.find((entry) => entry.refused);
    if (entries.some((entry) => entry.conflict)) return ["conflict", text("review.state.conflict")];
    if (refused) return ["refused", text("review.state.refused", { error: refused.refused })];
    if (!entries.length) return this.saved ? ["saved", text("review.state.saved")] : ["idle", text("review.state.idle")];
    this.saved = true;
    const key = this.offline === "link" ? "review.state.waiting_link" : "review.state.waiting";
    return this.offline ? ["waiting", text(key, { count: entries.length })] : ["saving", text("review.state.saving")];
  }
}

/** Texts that are typed and not saved: kept by run, row and field, with the version that the person saw. */
class Drafts {
  constructor(run) {
    this.prefix = `rag-evaluator-draft:${run}:`;
  }

  key(row, field) {
    return `${this.prefix}${row}:${field}`;
  }

  set(row, field, draft) {
    localStorage.setItem(this.key(row, field), JSON.stringify(draft));
  }

  get(row, field) {
    try {
      return JSON.parse(localStorage.getItem(this.key(row, field)));
    } catch {
      return null;
    }
  }

  remove(row, field) {
    localStorage.removeItem(this.key(row, field));
  }
}
