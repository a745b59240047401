// The page on which rows are flagged and corrected: queues at the left, the row at the right.
"use strict";

const QUEUES = {
  all: ["All rows", "In the order of the dataset."],
  worst: ["Worst rows", "By their combined rank, the worst first."],
  reviewed: ["Reviewed", "Somebody has flagged or corrected these, the last ones first."],
}; // name -> title, what its rows are

class ReviewPage {
  constructor(page) {
    this.page = page;
    this.run = page.dataset.run;
    this.path = this.run.split("/").map(encodeURIComponent).join("/");
    this.rows = Number(page.dataset.rows);
    this.queues = { all: null }; // name -> rows; all rows have no list
    this.row = null;
    this.known = null; // what the server says of the row
    this.frames = framesAt(`/api/frames/${this.path}`);
    this.who = new Reviewer(page, () => this.show(this.row));
    this.outbox = new Outbox(this.run, () => `/api/review/record/${this.path}`, {
      changed: () => this.showState(),
      confirmed: (record, kept) => this.confirmed(record, kept),
    });
    this.form = new CorrectionForm(
      page.querySelector("form.corrections"),
      new Drafts(this.run),
      (...change) => this.change("correct", ...change),
      (focus, again) => this.formMoved(focus, again),
    );
    this.listen();
  }

  listen() {
    const on = (selector, act) => this.page.querySelector(selector).addEventListener("click", act);
    on(".before", () => this.turn(-1));
    on(".after", () => this.turn(1));
    on("button.edit", () => this.toggleForm());
    for (const flag of this.flags()) flag.addEventListener("click", () => this.flag(flag.dataset.flag));
    window.addEventListener("popstate", () => {
      this.showQueues(); // the queue is in the address, too
      this.open();
    });
    window.addEventListener("storage", () => this.show(this.row)); // of another tab
    onKeys((key) => this.key(key));
  }

  flags() {
    return [...this.page.querySelectorAll(".flag")];
  }

  key(key) {
    const flag = this.flags()[Number(key) - 1];
    if (flag) return () => this.flag(flag.dataset.flag);
    return {
      e: () => this.toggleForm(),
      j: () => this.turn(1),
      k: () => this.turn(-1),
      Escape: this.form.isOpen ? () => this.form.close() : undefined,
    }[key];
  }

  get queue() {
    const name = new URLSearchParams(location.search).get("queue") ?? "all";
    return name in this.queues ? name : "all";
  }

  /** The row at a place of the queue that is open. */
  at(place) {
    const rows = this.queues[this.queue];
    return rows ? rows[place] : place;
  }

  get length() {
    return this.queues[this.queue]?.length ?? this.rows;
  }

  place() {
    return this.queues[this.queue]?.indexOf(this.row) ?? this.row;
  }

  async start() {
    this.open();
    this.outbox.flush();
    await this.loadQueues();
    this.open();
  }

  /** The queue that is open keeps its rows: nothing moves under the reader's hands. */
  async loadQueues() {
    try {
      const by = encodeURIComponent(this.who.name);
      const { queues } = await (await ask(`/api/review/queues/${this.path}?by=${by}`)).json();
      const open = this.queues[this.queue];
      this.queues = { all: null, ...queues, ...(open && { [this.queue]: open }) };
      this.showQueues();
    } catch (error) {
      if (!this.queues.worst) this.page.querySelector(".queues ul").replaceChildren(element("li", { class: "notice" }, error.message));
    }
  }

  showQueues() {
    const links = Object.entries(this.queues).map(([name, rows]) => {
      const current = name === this.queue ? "true" : null;
      const link = element("a", { href: `?queue=${name}`, "aria-current": current, title: QUEUES[name][1] }, element("span", {}, QUEUES[name][0]), element("span", { class: "number" }, count(rows?.length ?? this.rows)));
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        this.toQueue(name);
      });
      return element("li", {}, link);
    });
    this.page.querySelector(".queues ul").replaceChildren(...links);
  }

  toQueue(name) {
    history.pushState(null, "", `?queue=${name}`);
    this.showQueues();
    this.open();
  }

  /** Open what the address says: a row of the queue, else its first. */
  open() {
    const named = new URLSearchParams(location.hash.slice(1)).get("row");
    const row = /^\d+$/.test(named ?? "") ? Number(named) : this.at(0);
    this.page.querySelector(".queue-name").textContent = QUEUES[this.queue][0];
    if (row === undefined || row >= this.rows) {
      this.row = null;
      this.forget();
      this.page.querySelector(".fragment").replaceChildren(element("p", { class: "quiet" }, "No row is in this queue."));
      this.showPlace();
      return;
    }
    if (row !== this.row) this.show(row);
    this.showPlace();
  }

  turn(step) {
    const place = this.place();
    const row = this.at(place < 0 ? 0 : place + step);
    if (row !== undefined && row >= 0 && row < this.rows) location.hash = `row=${row}`;
  }

  showPlace() {
    const place = this.row === null ? -1 : this.place();
    const shown = place >= 0 ? `${count(place + 1)} of ${count(this.length)}` : "";
    this.page.querySelector(".of").textContent = shown;
    this.page.querySelector(".before").disabled = place <= 0;
    this.page.querySelector(".after").disabled = place + 1 >= this.length;
    this.page.querySelector(".why").textContent = QUEUES[this.queue][1];
  }

  async show(row) {
    if (row === null) return;
    this.row = row;
    if (this.known?.row !== row) {
      this.forget(); // until the server has said what holds of this one, nothing can be changed
    }
    const place = this.page.querySelector(".fragment");
    place.setAttribute("aria-busy", "true");
    try {
      const by = encodeURIComponent(this.who.name);
      const asked = (this.asked = {});
      const known = await (await ask(`/api/review/row/${this.path}/${row}?by=${by}`)).json();
      if (row !== this.row || asked !== this.asked) return; // an older answer does not know what was kept since
      this.known = known;
      place.replaceChildren(known.html === null ? element("p", { class: "notice" }, "You are labelling this row: its scores are hidden until you have closed the draw.") : rowOf(known.html, this.frames));
      this.page.querySelector(".tools").hidden = false;
    } catch (error) {
      if (row === this.row && this.known?.row !== row) {
        place.replaceChildren(element("p", { class: "notice" }, error.message));
        setTimeout(() => row === this.row && this.show(row), AGAIN); // the server may be back
      }
    }
    place.removeAttribute("aria-busy");
    if (this.known?.row === row) this.showRow();
  }

  /** Nothing of the last row stays beside the next one. */
  forget() {
    this.known = null;
    this.form.form.hidden = true;
    for (const part of [".tools", ".history"]) this.page.querySelector(part).hidden = true;
  }

  /** What holds of a field now: what waits to be sent comes after what the server says. [value, id]. */
  now(kind, field) {
    const waiting = this.outbox.of(this.row).filter(({ record, conflict, refused }) => record.kind === kind && record.field === field && record.sample === this.known.sample && !conflict && !refused).at(-1);
    const last = waiting?.record ?? this.known.last[`${kind}.${field}`];
    if (last) return [last.after, last.id, last];
    return [kind === "flag" ? false : this.known.columns[field], null, null];
  }

  showRow() {
    for (const flag of this.flags()) {
      const [on, , record] = this.now("flag", flag.dataset.flag);
      flag.setAttribute("aria-pressed", String(on));
      flag.querySelector(".by").textContent = on && record?.at ? record.by : "";
    }
    const fields = this.form.fields.map((area) => [area.name, this.now("correct", area.name)]);
    this.form.fill(this.row, this.known.sample, Object.fromEntries(fields));
    const done = fields.filter(([, [, id]]) => id !== null);
    const history = this.page.querySelector(".history");
    history.hidden = !done.length;
    history.replaceChildren(...done.map(([field, [after, , record]]) => this.corrected(field, after, record)));
  }

  corrected(field, after, record) {
    const when = record.at ? `${record.by}, ${new Date(record.at).toLocaleString()}` : "Saving …";
    return element(
      "div",
      { class: "corrected" },
      element("h3", {}, FIELDS[field], " ", element("span", { class: "quiet" }, when)),
      element("del", { class: "data", dir: "auto" }, readable(this.known.columns[field])),
      element("ins", { class: "data", dir: "auto" }, readable(after)),
    );
  }

  flag(name) {
    if (!this.known) return;
    const [on, seen] = this.now("flag", name);
    this.change("flag", name, on, !on, seen);
  }

  /** Whether the change is kept: not if nobody knows whose it is. */
  change(kind, field, before, after, seen) {
    if (this.known?.row !== this.row || !this.who.known()) return false;
    this.outbox.add({ row: this.row, sample: this.known.sample, kind, field, before, after, seen, by: this.who.name });
    this.showRow();
    return true;
  }

  /** What was kept holds at once: the next change of the field follows it, also before the row has been read again. */
  confirmed(record, kept) {
    if (this.known?.row === record.row && this.known.sample === record.sample) this.known.last[`${kept.kind}.${kept.field}`] = kept;
    if (record.row === this.row) this.show(this.row);
    clearTimeout(this.counting);
    this.counting = setTimeout(() => this.loadQueues(), 500);
  }

  toggleForm() {
    if (!this.known) return;
    if (this.form.isOpen) this.form.close();
    else this.form.open();
  }

  formMoved(focus, again) {
    const edit = this.page.querySelector("button.edit");
    edit.setAttribute("aria-expanded", String(this.form.isOpen));
    if (focus) edit.focus();
    if (again) this.showRow();
  }

  showState() {
    showSaved(this.page, this.outbox);
    showTroubles(this.page, this.outbox, readable);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("review");
  if (!page) return;
  window.reviewPage = new ReviewPage(page);
  window.reviewPage.start();
});
