// What a reader takes away: chosen columns, the filtered rows as CSV, a row as JSON or Markdown, its link.
"use strict";

const CSV_ROWS = 500; // asked for at a time

/** Keys of the columns that are left out; the hash keeps them. */
function hiddenColumns(state) {
  return new Set((state.hide ?? "").split("\n"));
}

function startColumns(table) {
  const place = table.section.querySelector(".choose");
  for (const { dataset, textContent } of table.columns.filter((column) => !["row", "question"].includes(column.dataset.kind))) {
    const box = element("input", { type: "checkbox" });
    box.checked = !hiddenColumns(table.state.get()).has(dataset.key);
    box.addEventListener("change", () => {
      const left = hiddenColumns(table.state.get());
      if (box.checked) left.delete(dataset.key);
      else left.add(dataset.key);
      table.state.set({ hide: [...left].filter(Boolean).join("\n") }, true);
    });
    place.append(element("label", {}, box, textContent));
  }
}

/** A cell of CSV; a text that a spreadsheet would take for a formula gets an apostrophe. */
function csvCell(value) {
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What a column of the file holds; a difference has the other run's score before it. */
function csvColumns(column) {
  const { key, kind, shown } = column.dataset;
  const button = column.querySelector("button");
  const title = button?.getAttribute("aria-label") ?? column.textContent.trim();
  return [...(shown ? [{ key: shown, kind: "score", title: title.split(" − ")[0] }] : []), { key, kind, title }];
}

async function downloadRows(table) {
  const columns = table.columns.filter((column) => !column.hidden).flatMap(csvColumns);
  const value = (row, { key, kind }) => {
    if (kind === "row") return table.source.label(row.row);
    if (kind === "question") return row.question;
    return kind === "text" ? row.texts[key] : kind === "group" ? row.groups[key.slice("group:".length)] : row.scores[key];
  };
  try {
    const lines = [];
    const cut = new Set();
    let total = 1;
    for (let offset = 0; offset < total; offset += CSV_ROWS) {
      const answer = await table.source.query({ ...table.query, offset, limit: CSV_ROWS });
      total = answer.total;
      for (const column of columns) if (column.kind === "text" && answer.rows.some((row) => value(row, column).endsWith("…"))) cut.add(column);
      lines.push(...answer.rows.map((row) => columns.map((column) => csvCell(value(row, column))).join(",")));
    }
    lines.unshift(columns.map((column) => csvCell(cut.has(column) ? `${column.title} (beginning)` : column.title)).join(","));
    const file = URL.createObjectURL(new Blob(["\ufeff", lines.join("\r\n"), "\r\n"], { type: "text/csv" }));
    element("a", { href: file, download: `${document.title}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(file), 10_000);
  } catch (error) {
    table.fail(error);
  }
}

/** The texts and scores of an open row, as the page shows them. */
function rowValues(article) {
  const text = (part) => {
    const copy = part.cloneNode(true);
    for (const added of copy.querySelectorAll(".sentence-sign, summary")) added.remove();
    return copy.textContent;
  };
  const whole = (selector) => [...article.querySelectorAll(selector)].map((part) => [...part.querySelectorAll(":scope > .data, :scope > .more > .data")].map(text).join(""));
  const scores = [...article.querySelectorAll(".chip")].map((chip) => [chip.querySelector(".chip-name").textContent, Number.parseFloat(chip.querySelector(".toned").textContent.replace(/^[^\d−]+/, "").replace("−", "-"))]);
  const pairs = [...article.querySelectorAll("table.differences tbody tr")].map((line) => [line.cells[0].textContent, [...line.cells].slice(1).map((cell) => cell.textContent.trim())]);
  const values = {
    row: article.dataset.name,
    question: whole(".question")[0],
    response: ((texts) => (texts.length === 1 ? texts[0] : texts))(whole(".response")),
    reference: whole(".reference")[0],
    contexts: whole(".contexts > li > div:last-child"),
    scores: Object.fromEntries([...scores.map(([name, score]) => [name, Number.isNaN(score) ? null : score]), ...pairs]),
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value.length !== 0));
}

/** A text that Markdown and HTML show as it is, on one line. */
function markdownText(text) {
  return String(text).replace(/[!-/:-@[-`{-~]/g, "\\$&").replace(/\s+/g, " ").trim();
}

function asMarkdown(values) {
  const shown = (value) => (Array.isArray(value) ? value.map(markdownText).join(" / ") : value === null ? "no score" : markdownText(value));
  const { row, scores, ...texts } = values;
  const parts = Object.entries(texts).map(([name, value]) => `**${name}**: ${shown(value)}`);
  const lines = Object.entries(scores).map(([name, value]) => `| ${markdownText(name)} | ${shown(value)} |`);
  return [`### Row ${markdownText(row)}`, ...parts, ["| metric | score |", "|---|---|", ...lines].join("\n")].join("\n\n") + "\n";
}

/** Copies what a button of an open row names. */
function copyRow(dialog, row, kind) {
  const article = dialog.querySelector("article.row");
  if (!article) return;
  const link = `${location.href.split("#")[0]}#row=${row}`;
  const text = kind === "link" ? link : kind === "JSON" ? JSON.stringify(rowValues(article), null, 2) : asMarkdown(rowValues(article));
  const field = element("textarea", { "aria-label": "Copied text" }); // pages from another machine have no clipboard
  field.value = text;
  dialog.append(field);
  field.select();
  const said = document.execCommand("copy") ? "Copied" : "The browser does not allow to copy";
  field.remove();
  dialog.querySelector(".copied").textContent = said;
}
