// The page on which rows are flagged and corrected: queues at the left, the row at the right.
"use strict";

const BETWEEN = "\n---\n"; // of the texts of a list
const DISCARD = "Leave these texts as they were? What you typed is not saved.";

function typedText(field, value) {
  return field === "reference_contexts" ? (value ?? []).join(BETWEEN) : (value ?? "");
}

function parsed({ name, value }) {
  if (name !== "reference_contexts") return value.trim() ? value : null;
  const texts = value.split(BETWEEN).filter((each) => each.trim());
  return texts.length ? texts : null;
}

class ReviewPage {
  constructor(page) {
    this.page = page;
    this.known = null; // what the server says of the row
    this.saving = Promise.resolve(); // one change after the other
    this.frames = framesAt(page.dataset.frames);
    this.form = page.querySelector("form.corrections");
    this.areas = [...this.form.querySelectorAll("textarea")];
    this.flags = [...page.querySelectorAll(".flag")];
    this.edit = page.querySelector("button.edit");
    this.wrong = page.querySelector("form.wrong"); // null where labels cannot be given
    this.state = new HashState(() => this.open());
    this.listen();
    this.open();
  }

  listen() {
    const [before, after] = ["before", "after"].map((name) => this.page.querySelector(`button.${name}`));
    before.addEventListener("click", () => this.turn(-1));
    after.addEventListener("click", () => this.turn(1));
    this.edit.addEventListener("click", () => (this.form.hidden ? this.correct() : this.leave()));
    for (const flag of this.flags) flag.addEventListener("click", () => this.flag(flag.dataset.flag));
    onKeys((key) => ({ e: this.edit, j: after, k: before, Escape: this.form.hidden ? null : this.edit })[key] ?? this.flags[Number(key) - 1]);
    this.form.querySelector(".leave").addEventListener("click", () => this.leave());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.wrong?.addEventListener("submit", (event) => {
      event.preventDefault();
      this.saving = this.saving.then(() => this.contradict());
    });
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.leave();
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.submit();
    });
    addEventListener("beforeunload", (event) => this.typed && event.preventDefault());
  }

  /** The row at a place of the queue that is open; undefined where there is none. */
  at(place) {
    if (this.listed) return this.listed[place];
    return place >= 0 && place < this.rows ? place : undefined;
  }

  get place() {
    return this.listed ? this.listed.indexOf(this.row) : this.row;
  }

  /** Open what the address says: a row of a queue, else its first. */
  open() {
    const { queue, row } = this.state.get();
    const links = [...this.page.querySelectorAll(".queues a")];
    const link = links.find((other) => other.dataset.queue === queue) ?? links[0];
    this.rows = Number(this.page.dataset.rows);
    this.listed = JSON.parse(link.dataset.listed); // null: all rows, in order
    const next = /^\d+$/.test(row ?? "") ? Number(row) : this.at(0);
    if (next !== this.row && this.typed && !confirm(DISCARD)) return this.state.set({ row: this.row }, true);
    for (const other of links) other.setAttribute("aria-current", String(other === link));
    this.page.querySelector(".queue-name").textContent = link.firstElementChild.textContent;
    this.page.querySelector(".why").textContent = link.title;
    if (next !== this.row || next === undefined) this.forget();
    this.row = next;
    const { place } = this;
    const length = this.listed?.length ?? this.rows;
    this.page.querySelector(".of").textContent = place >= 0 ? `${count(place + 1)} of ${count(length)}` : "";
    this.page.querySelector("button.before").disabled = !(place > 0);
    this.page.querySelector("button.after").disabled = !(place + 1 < length);
    return this.show();
  }

  turn(step) {
    const row = this.at(this.place + step);
    if (row !== undefined) this.state.set({ row });
  }

  /** Nothing of the last row stays beside the next one. */
  forget() {
    this.known = null;
    this.form.hidden = true;
    this.page.querySelector(".tools").hidden = true;
    if (this.wrong) this.wrong.hidden = true;
    this.page.querySelector(".fragment").replaceChildren();
  }

  async show() {
    const { row } = this;
    const place = this.page.querySelector(".fragment");
    if (row === undefined) return place.replaceChildren(element("p", { class: "quiet" }, "No row is in this queue."));
    place.setAttribute("aria-busy", "true");
    try {
      const known = await (await ask(`${this.page.dataset.row}/${row}`)).json();
      if (row !== this.row) return;
      place.replaceChildren(rowOf(known.html, this.frames));
      this.known = this.form.hidden ? known : { ...known, texts: this.known.texts }; // what is typed began from these
      this.fill();
    } catch (error) {
      if (row === this.row) place.replaceChildren(element("p", { class: "notice" }, error.message));
    }
    place.removeAttribute("aria-busy");
  }

  /** The flags and texts as they are; what is being typed stays. */
  fill() {
    this.page.querySelector(".tools").hidden = false;
    if (this.wrong?.hidden) {
      this.wrong.reset();
      this.wrong.hidden = false;
    }
    for (const flag of this.flags) {
      const by = this.known.flags[flag.dataset.flag];
      flag.setAttribute("aria-pressed", String(by !== undefined));
      flag.querySelector(".by").textContent = by ?? "";
    }
    for (const area of this.form.hidden ? this.areas : []) {
      area.value = typedText(area.name, this.known.texts[area.name]);
      area.shown = area.value; // as a browser ends its lines
    }
  }

  /** Whether texts have been typed that are not saved. */
  get typed() {
    return !this.form.hidden && this.areas.some((area) => area.value !== area.shown);
  }

  flag(name) {
    this.saving = this.saving.then(async () => {
      if (!this.known) return;
      const on = name in this.known.flags;
      if (await this.change("flag", name, on, !on)) await this.show();
    });
  }

  /** Keep a label against the judge's. */
  async contradict() {
    const { label, note } = this.wrong.elements;
    if (!this.known || !label.value) return;
    const { row, sample } = this.known;
    const [field, after] = JSON.parse(label.value);
    if (await save(this.page, { row, sample, field, after, note: note.value.trim() }, undefined, this.wrong.dataset.record)) this.wrong.reset();
  }

  change(kind, field, before, after, refused) {
    const { row, sample } = this.known;
    return save(this.page, { row, sample, kind, field, before, after }, refused);
  }

  correct() {
    this.toggle(true);
    this.form.querySelector("[name=reference]").focus();
  }

  toggle(open) {
    this.form.hidden = !open;
    this.edit.setAttribute("aria-expanded", String(open));
    if (!open) this.edit.focus();
  }

  leave() {
    if (this.typed && !confirm(DISCARD)) return;
    this.toggle(false);
    this.fill();
  }

  /** Save each text that has changed. One that is refused stays as it was typed; saved again it replaces the other's. */
  async submit() {
    const { known } = this;
    for (const area of this.areas.filter(({ value, shown }) => value !== shown)) {
      const after = parsed(area);
      const refused = (error) => "now" in error && (known.texts[area.name] = error.now);
      if (!(await this.change("correct", area.name, known.texts[area.name], after, refused))) return;
      known.texts[area.name] = after;
      area.shown = area.value;
    }
    this.toggle(false);
    await this.show();
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("review");
  if (page) window.reviewPage = new ReviewPage(page);
});
