// Starts what the page has.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  startTheme();
  const rows = document.getElementById("rows");
  if (rows && typeof makeSource === "function") window.rowTable = new RowTable(rows, makeSource());
});
