// The list of runs: those picked are compared in the order of picking.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("#runs form");
  if (!form) return;
  const button = form.querySelector("button[type=submit]");
  let picked = [...form.querySelectorAll("input:checked")];
  const show = () => {
    button.disabled = picked.length < 2;
    button.textContent = button.disabled ? "Compare" : `Compare ${picked.length} runs, ${picked[0].dataset.name} first`;
  };
  form.addEventListener("change", ({ target }) => {
    picked = picked.filter((other) => other !== target);
    if (target.checked) picked.push(target);
    show();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(`${form.action}?${new URLSearchParams(picked.map((box) => ["run", box.value]))}`);
  });
  show();
  sortRuns(form);
  const find = form.querySelector(".find");
  find.addEventListener("input", () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const lines of runLines(form)) {
      const text = lines.map((line) => line.textContent.toLowerCase()).join(" ");
      for (const line of lines) line.hidden = !words.every((word) => text.includes(word));
    }
  });
  find.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  const chosen = [form.querySelector(".in-time"), form.querySelector(".of-dataset")];
  for (const field of chosen) field.addEventListener("change", () => showHistory(form, ...chosen.map((other) => other.value)));
});

/** The lines of each run: its own, and what is said below it. */
function runLines(form) {
  const groups = [];
  for (const line of form.querySelectorAll("tbody tr")) line.classList.contains("run") ? groups.push([line]) : groups.at(-1)?.push(line);
  return groups;
}

/** Headings sort; missing values come last. */
function sortRuns(form) {
  const body = form.querySelector("tbody");
  const headings = [...form.querySelectorAll("thead tr:last-child th")];
  const order = new Intl.Collator(undefined, { numeric: true });
  headings.forEach((heading, place) => {
    const button = element("button", { type: "button", class: "sort" });
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const sign = heading.getAttribute("aria-sort") === "descending" ? 1 : -1;
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
      const value = ([line]) => {
        const cell = line.cells[place];
        const text = cell?.dataset.sort ?? (cell?.classList.contains("run-mean") ? "" : (cell?.textContent.trim() ?? ""));
        return text && Number.isFinite(Number(text)) ? Number(text) : text;
      };
      const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : order.compare(a, b));
      const sorted = runLines(form).map((lines) => [value(lines), lines]);
      sorted.sort(([a], [b]) => (a === "") - (b === "") || sign * compare(a, b));
      body.append(...sorted.flatMap(([, lines]) => lines));
    });
  });
}

/** The means of one metric, with intervals, over the runs of a dataset, in the order in which they were made. */
function showHistory(form, metric, dataset) {
  const place = form.querySelector(".history");
  const cells = [...form.querySelectorAll("tr.run")].filter((line) => line.dataset.dataset === dataset).flatMap((line) => [...line.cells].filter((cell) => metric && cell.dataset.metric === metric).map((cell) => ({ line, ...cell.dataset })));
  cells.sort((a, b) => Number(a.line.dataset.when) - Number(b.line.dataset.when));
  if (!cells.length) return place.replaceChildren(metric ? "No run of this dataset has this metric." : "");
  const ends = cells.flatMap(({ sort, low, high }) => [sort, low, high].filter((end) => end !== "").map(Number));
  const [least, most] = [Math.min(0, ...ends), Math.max(1, ...ends)];
  const y = (value) => 110 - (100 * (Number(value) - least)) / (most - least);
  const svg = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const points = cells.map(({ line, sort, low, high }, number) => {
    const x = `${(100 * (number + 0.5)) / cells.length}%`;
    const name = line.querySelector(".pick a").textContent;
    const title = svg("title", {}, `${name}, ${line.querySelector(".date").textContent}: ${Number(sort).toFixed(2)}`);
    const whisker = low === "" ? [] : [svg("line", { x1: x, x2: x, y1: y(low), y2: y(high) })];
    return svg("a", { href: line.querySelector(".pick a").getAttribute("href"), "aria-label": title.textContent }, title, ...whisker, svg("circle", { cx: x, cy: y(sort), r: 5 }));
  });
  place.replaceChildren(element("p", { class: "quiet" }, `${metric} in ${cells.length} runs of ${dataset || "rows given in Python"}, the oldest first; from ${least} below to ${most} above.`), svg("svg", { width: "100%", height: 120, role: "group", "aria-label": `${metric} in time` }, ...points));
}
