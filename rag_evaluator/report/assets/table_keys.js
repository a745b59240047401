// Keys: j and k or arrows move between rows, Enter opens, Esc closes, / goes to the search.
"use strict";

function startTableKeys(table) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (!table.dialog.isOpen && document.querySelector("dialog[open]")) return;
    const step = { j: 1, k: -1, ...(table.dialog.isOpen ? { ArrowRight: 1, ArrowLeft: -1 } : {}) }[event.key];
    const arrow = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (table.dialog.isOpen) {
      if (step) table.dialog.turn(step);
    } else if (event.key === "/") {
      event.preventDefault();
      table.form.elements.search.focus();
    } else if (step || (arrow && event.target.closest("tbody"))) {
      event.preventDefault();
      moveBetweenRows(table, step || arrow);
    }
  });
}

/** Focus the link of the row before or after the one that has it; at the end of a page go on to the next one. */
async function moveBetweenRows(table, step) {
  const links = [...table.body.querySelectorAll("td.asks a")];
  const place = links.indexOf(document.activeElement);
  const next = place < 0 ? (step > 0 ? 0 : links.length - 1) : place + step;
  if (links[next]) links[next].focus();
  else if (next >= 0 ? table.query.offset + next < table.answer.total : table.query.offset > 0) {
    const drawn = new Promise((done) => (table.drawn = done));
    table.turn(step);
    await drawn;
    const moved = table.body.querySelectorAll("td.asks a");
    moved[step > 0 ? 0 : moved.length - 1]?.focus();
  }
}
