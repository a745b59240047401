// Blind labelling: the draws of a run, then one question at a time, answered by keys.
"use strict";

class LabelPage {
  constructor(page) {
    this.page = page;
    this.run = page.dataset.run;
    this.path = this.run.split("/").map(encodeURIComponent).join("/");
    this.asked = new URLSearchParams(location.search);
    this.items = [];
    this.place = 0;
    this.answered = []; // places, in the order of answers, to be undone
    this.samples = new Map();
    this.who = new Reviewer(page, () => this.start());
    this.outbox = new Outbox(`label:${this.run}`, () => `/api/label/record/${this.path}`, {
      changed: () => this.showState(),
      confirmed: (record) => record.kind === "close" && this.start(),
    });
    this.listen();
  }

  part(selector) {
    return this.page.querySelector(selector);
  }

  listen() {
    const on = (selector, act) => this.part(selector).addEventListener("click", act);
    on(".undo", () => this.undo());
    on(".leave-open", () => this.move(1));
    on(".back", () => this.move(-1));
    on(".back-to", () => this.ask(this.items.length - 1));
    on(".close-draw", () => this.close());
    onKeys((key) => {
      if (this.part(".asking").hidden) return undefined;
      const choice = this.choices?.find(([own]) => own === key);
      if (choice) return () => this.answer(choice[2]);
      return { u: () => this.undo(), j: () => this.move(1), k: () => this.move(-1) }[key];
    });
  }

  show(...parts) {
    for (const part of [".overview", ".asking", ".ending", ".closed", ".failed"]) this.part(part).hidden = !parts.includes(part);
  }

  address(kind, values = {}) {
    return withQuery(`/api/label/${kind}/${this.path}`, { by: this.who.name, ...values });
  }

  async start() {
    try {
      await this.begin();
    } catch (error) {
      this.show(".failed");
      this.part(".failed").textContent = error.message;
    }
  }

  async begin() {
    this.outbox.flush();
    if (!this.who.name) {
      this.show(".overview");
      this.who.known();
      return;
    }
    this.drawn = this.asked.get("draw");
    if (this.drawn === null) return this.overview();
    const found = await (await ask(this.address("items", Object.fromEntries(this.asked)))).json();
    this.asks = found.asks;
    this.items = found.items.map(([row, metric, statement, value]) => ({ row, metric, statement, value, seen: null }));
    for (const { record } of this.outbox.entries()) {
      const item = this.items.find((each) => each.row === record.row && each.metric === record.field && each.statement === record.statement);
      if (item && record.draw === this.drawn) item.value = record.after;
    }
    if (found.closed) {
      this.part(".closed .command").textContent = found.next;
      return this.show(".closed");
    }
    const open = this.items.findIndex((item) => item.value === null);
    return open < 0 ? this.end() : this.ask(open);
  }

  async overview() {
    const { draws } = await (await ask(this.address("draws"))).json();
    this.part(".draws").replaceChildren(...draws.map((draw) => this.drawLine(draw)));
    this.part(".no-draws").hidden = draws.length > 0;
    this.show(".overview");
  }

  drawLine({ name, rows, metrics, labelled, closed }) {
    const link = (title, more = "") => element("a", { href: `?draw=${encodeURIComponent(name)}${more}` }, title);
    const links = closed ? [link("Closed")] : [link("Label whole scores"), link("Label statements", "&per=statement")];
    return element(
      "li",
      { class: "panel" },
      element("div", {}, element("strong", {}, `Draw ${name}`), " ", element("span", { class: "quiet" }, metrics.join(", "))),
      element("progress", { max: String(rows), value: String(labelled), "aria-label": `${labelled} of ${rows} rows labelled` }),
      element("span", { class: "quiet" }, `${labelled} of ${rows} rows labelled`, closed ? " · closed" : ""),
      element("span", { class: "links" }, ...links),
    );
  }

  /** Ask one question: its texts, never what the judge said. */
  async ask(place) {
    this.place = place;
    const item = this.items[place];
    const asked = this.asks.find((each) => each.metric === item.metric && each.statement === (item.statement !== null));
    this.choices = asked.choices;
    this.show(".asking");
    this.part(".asked-of bdi").textContent = item.metric;
    this.part("#ask").textContent = asked.question;
    this.part(".asked-about").hidden = item.statement === null;
    this.part(".asked-about").textContent = item.statement ?? "";
    this.part(".choices").replaceChildren(...asked.choices.map((choice) => this.choice(choice, item)));
    this.part(".back").disabled = place === 0;
    this.part(".undo").disabled = !this.answered.length;
    this.showProgress();
    await this.askTexts(item);
  }

  /** The texts of a question; while the server does not answer it is asked again, as labels that were given are sent again. */
  async askTexts(item) {
    const metrics = [...new Set(this.items.filter((each) => each.row === item.row).map((each) => each.metric))];
    const address = new URL(`/api/label/row/${this.path}/${item.row}`, location.href);
    for (const metric of metrics) address.searchParams.append("metric", metric);
    const isAsked = () => this.items[this.place] === item;
    try {
      const known = await (await ask(address)).json();
      this.samples.set(item.row, known.sample);
      if (isAsked()) this.showTexts(known);
    } catch (error) {
      if (!isAsked()) return;
      delete this.part(".texts").dataset.row;
      this.part(".texts").replaceChildren(element("p", { class: "notice" }, error.message));
      setTimeout(() => isAsked() && this.askTexts(item), AGAIN);
    }
  }

  choice([key, word, value], item) {
    const made = element("button", { type: "button", class: "choice", "aria-pressed": String(item.value === value) }, element("kbd", {}, key), " ", word);
    made.addEventListener("click", () => this.answer(value));
    return made;
  }

  showTexts({ texts, row }) {
    const place = this.part(".texts");
    if (place.dataset.row === String(row)) return; // the next statement of the same row: nothing moves
    place.dataset.row = String(row);
    const names = { user_input: "Question", response: "Response", reference: "Reference", retrieved_contexts: "Contexts", reference_contexts: "Expected contexts" };
    const parts = Object.entries(names).filter(([name]) => name in texts);
    place.replaceChildren(
      ...parts.map(([name, title]) => {
        const value = texts[name];
        const shown = Array.isArray(value) ? element("ol", {}, ...value.map((each) => element("li", { class: "data", dir: "auto" }, each))) : element("div", { class: "data", dir: "auto" }, value);
        return element("section", { class: name }, element("h2", {}, title), shown);
      }),
    );
  }

  showProgress() {
    const done = this.items.filter((item) => item.value !== null).length;
    const total = this.items.length;
    Object.assign(this.part(".asking progress"), { max: total, value: done });
    this.part(".asking progress").setAttribute("aria-label", `${done} of ${total}`);
    this.part(".asking .count").textContent = `${count(done)} of ${count(total)}`;
  }

  answer(value) {
    const sample = this.samples.get(this.items[this.place].row);
    if (!sample || !this.who.known()) return;
    this.answered.push([this.place, this.items[this.place].value]);
    this.give(this.place, value, sample);
    this.move(1);
  }

  give(place, value, sample) {
    const item = this.items[place];
    const record = { row: item.row, sample, kind: "label", field: item.metric, before: item.value, after: value, seen: null };
    this.outbox.add({ ...record, statement: item.statement, draw: this.drawn, by: this.who.name });
    item.value = value;
  }

  undo() {
    const last = this.answered.pop();
    if (!last) return;
    this.give(last[0], last[1], this.samples.get(this.items[last[0]].row));
    this.ask(last[0]);
  }

  /** On to the next question, or back; after the last one comes the end. */
  move(step) {
    const place = this.place + step;
    if (place >= this.items.length) this.end();
    else if (place >= 0) this.ask(place);
  }

  end() {
    const left = this.items.filter((item) => item.value === null).length;
    this.place = this.items.length;
    this.show(".ending");
    const title = this.part("#ending-title");
    title.textContent = left ? `${count(left)} questions have no answer.` : "Every question has an answer.";
    this.part(".close-draw").textContent = "Close the draw";
    title.focus();
  }

  /** The second press closes. */
  close() {
    const sure = "Close it now";
    if (this.part(".close-draw").textContent !== sure) {
      this.part(".close-draw").textContent = sure;
      return;
    }
    const nothing = { row: null, sample: null, field: "", before: null, after: null };
    this.outbox.add({ ...nothing, kind: "close", draw: this.drawn, by: this.who.name });
  }

  showState() {
    showSaved(this.page, this.outbox);
    showTroubles(this.page, this.outbox, String);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("label");
  if (!page) return;
  window.labelPage = new LabelPage(page);
  window.labelPage.start();
});
