// Starts what the page has.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  startTheme();
  startTooltips();
  const rows = document.getElementById("rows");
  if (rows && typeof makeSource === "function") window.rowTable = new RowTable(rows, makeSource());
});
