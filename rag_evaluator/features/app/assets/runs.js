// The list of runs: those picked are compared in the order of picking; what has changed is asked for again.
"use strict";

const LIST_WAIT = 4000; // milliseconds; longer while the page is hidden

class RunList {
  constructor(list) {
    this.list = list;
    this.form = list.querySelector("form");
    if (this.form) this.listen();
    this.later();
  }

  listen() {
    this.button = this.form.querySelector("button[type=submit]");
    this.picked = [...this.form.querySelectorAll("input:checked")];
    this.form.addEventListener("change", (event) => this.pick(event.target));
    this.form.addEventListener("submit", (event) => this.compare(event));
    this.show();
  }

  pick(box) {
    this.picked = this.picked.filter((other) => other !== box);
    if (box.checked) this.picked.push(box);
    this.show();
  }

  show() {
    const [first] = this.picked;
    this.button.disabled = this.picked.length < 2;
    this.button.textContent = this.button.disabled
      ? "Compare"
      : `Compare ${this.picked.length} runs, ${first.dataset.name} first`;
  }

  compare(event) {
    event.preventDefault();
    const runs = new URLSearchParams(this.picked.map((box) => ["run", box.value]));
    location.assign(`${this.form.action}?${runs}`);
  }

  later() {
    setTimeout(() => this.ask(), document.hidden ? 4 * LIST_WAIT : LIST_WAIT);
  }

  async ask() {
    try {
      const { seen, html } = await (await ask("/api/progress")).json();
      if (seen !== this.list.dataset.seen && !this.picked?.length) return location.reload(); // not under the reader's hands
      for (const cell of this.list.querySelectorAll("td.run-progress")) {
        const made = html[cell.closest("tr").dataset.path];
        if (made) cell.replaceChildren(fragmentOf(made));
      }
    } catch {
      // the server may come back
    }
    this.later();
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const list = document.getElementById("runs");
  if (list) new RunList(list);
});
