// The list of runs: those picked are compared in the order of picking; progress of running ones is asked for again.
"use strict";

class RunList {
  constructor(form) {
    this.form = form;
    this.button = form.querySelector("button[type=submit]");
    this.picked = [...form.querySelectorAll("input:checked")];
    form.addEventListener("change", (event) => this.pick(event.target));
    form.addEventListener("submit", (event) => this.compare(event));
    this.show();
    if (form.querySelector(".state.running, .state.stopped")) this.later();
  }

  pick(box) {
    this.picked = this.picked.filter((other) => other !== box);
    if (box.checked) this.picked.push(box);
    this.show();
  }

  show() {
    this.button.disabled = this.picked.length < 2;
    const [first] = this.picked;
    this.button.textContent =
      this.picked.length < 2 ? text("view.runs.compare") : text("view.runs.compare_some", { count: this.picked.length, first: first.dataset.name });
  }

  compare(event) {
    event.preventDefault();
    const runs = new URLSearchParams(this.picked.map((box) => ["run", box.value]));
    location.assign(`${this.form.action}?${runs}`);
  }

  later() {
    setTimeout(() => this.ask(), document.hidden ? IDLE_WAIT : PROGRESS_WAIT);
  }

  async ask() {
    try {
      const { html } = await (await ask("/api/progress")).json();
      const cells = [...this.form.querySelectorAll("td.progress")];
      const shown = cells.map((cell) => cell.closest("tr").dataset.path);
      if (shown.length !== Object.keys(html).length || shown.some((path) => !(path in html))) {
        if (!this.picked.length) return location.reload(); // one has begun or ended
      } else for (const cell of cells) cell.replaceChildren(fragmentOf(html[cell.closest("tr").dataset.path]));
    } catch {
      // the server may come back
    }
    this.later();
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("runs");
  if (form) new RunList(form);
});
