// Starts what the page has.
"use strict";

function start() {
  early.disconnect();
  removeEventListener("DOMContentLoaded", start);
  startTheme();
  const rows = document.getElementById("rows");
  if (rows && typeof makeSource === "function") window.rowTable = new RowTable(rows, makeSource());
}

// The rows of a report can be long: its table starts when what it needs is there, before them.
const early = new MutationObserver(() => document.getElementById("about")?.nextElementSibling && start());
early.observe(document, { childList: true, subtree: true });
addEventListener("DOMContentLoaded", start);
