// The row that is open, above the page: its fragment, the rows before and after it, its link.
"use strict";

class RowDialog {
  constructor(dialog, table) {
    this.dialog = dialog;
    this.table = table;
    this.row = null;
    this.body = dialog.querySelector(":scope > .row-body");
    dialog.querySelector(".row-bar .before").addEventListener("click", () => this.turn(-1));
    dialog.querySelector(".row-bar .after").addEventListener("click", () => this.turn(1));
    dialog.querySelector(".row-bar .close").addEventListener("click", () => this.leave());
    for (const button of dialog.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copyRow(dialog, this.row, button.dataset.copy));
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault(); // Esc: the hash changes, and with it the page
      this.leave();
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) this.leave(); // beside it
    });
  }

  get isOpen() {
    return this.dialog.open;
  }

  leave() {
    this.table.state.set({ row: null, offset: this.table.query.offset || null });
  }

  /** Show a row; what cannot be shown is said in its place. */
  async open(row) {
    if (!this.dialog.open) this.dialog.showModal();
    if (row === this.row) return;
    this.row = row;
    this.dialog.querySelector(".copied").textContent = "";
    this.name(this.table.source.label(row));
    this.dialog.querySelector(".row-bar .link").setAttribute("href", `#row=${row}`);
    this.body.replaceChildren(element("p", { class: "quiet" }, "Loading …"));
    try {
      const article = rowOf(await this.table.source.fragment(row), () => this.table.source.frames());
      if (row !== this.row) return;
      this.name(article.querySelector("article").dataset.name);
      this.body.replaceChildren(article);
      this.body.scrollTop = 0;
    } catch (error) {
      if (row === this.row) this.body.replaceChildren(element("p", { class: "notice" }, error.message));
    }
    await this.showTurns();
  }

  name(row) {
    this.dialog.querySelector("#row-title").textContent = `Row ${row}`;
  }

  async showTurns() {
    const row = this.row;
    for (const [name, step] of [["before", -1], ["after", 1]]) {
      const beside = await this.table.beside(row, step);
      if (row === this.row) this.dialog.querySelector(`.row-bar .${name}`).disabled = beside === null;
    }
  }

  async turn(step) {
    const beside = await this.table.beside(this.row, step);
    if (beside) this.table.state.set({ row: beside.row, offset: beside.offset || null });
  }

  close() {
    if (!this.dialog.open) return;
    this.dialog.close();
    const row = this.row;
    this.row = null;
    this.body.replaceChildren();
    const link = this.table.body.querySelector(`tr[data-row="${row}"] a`);
    if (link) link.focus({ preventScroll: true });
  }
}
