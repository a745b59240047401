// The table of rows: sorted, filtered, searched and shown page by page. A source gives the rows, the hash says which.
"use strict";

const PAGE_ROWS = 50;
const PRINTED_ROWS = 2000; // on paper, where there are no pages to turn
const NO_FILTERS = { metric: null, min: null, max: null, search: null, missing: null, offset: null };

const SIGNS = { good: "✓", middle: "◐", bad: "✗" };
const ARROWS = { good: "▲", bad: "▼" };
const UNUSUAL = "unusual in this run";

/** Where a score is on its range, as `tone_of` in judgement.py says it; a range that nobody knows is NaN. */
function scoreTone(value, low, high, better) {
  const least = low < 0 && high > 0 ? 0 : low;
  if (!(least < high)) return "plain";
  const share = (Math.min(Math.max(value, least), high) - least) / (high - least);
  const part = better === "lower" ? 1 - share : share;
  return part > 2 / 3 ? "good" : part < 1 / 3 ? "bad" : "middle";
}

function differenceTone(value, better) {
  return value === 0 ? "plain" : value > 0 === (better !== "lower") ? "good" : "bad";
}

/** Whether a score is worse than three quarters of its run's, as `is_marked` in judgement.py says it. */
function isMarked(value, quarter, better) {
  return better === "lower" ? value > Number(quarter) : value < Number(quarter); // NaN where nobody knows
}

/** A number: its colour says where it is on its range, a sign and a word say that or how it changed. */
function tonedElement(text, tone, sign, word, marked) {
  const unusual = marked ? UNUSUAL : null;
  const words = [sign && word, unusual].filter(Boolean).map((said) => `, ${said}`).join("");
  const parts = sign ? [element("span", { class: "sign", "aria-hidden": "true" }, sign), text] : [text];
  return element("span", { class: `toned ${tone}${marked ? " marked" : ""}`, title: unusual }, ...parts, element("span", { class: "visually-hidden" }, words));
}

class RowTable {
  /**
   * `section` is that of `table.html`. `source.query({sort, descending, search, missing, metric, min, max, offset,
   * limit})` promises `{total, rows: [{row, question, groups, scores}]}`, `source.fragment(row)` its HTML, `source.label(row)` is its name.
   */
  constructor(section, source) {
    this.section = section;
    this.source = source;
    this.body = section.querySelector("tbody");
    this.form = section.querySelector("form");
    this.pager = section.querySelector(".pager");
    this.columns = [...section.querySelectorAll("thead th")];
    this.state = new HashState((linked) => this.show(linked));
    this.dialog = new RowDialog(document.getElementById("row"), this);
    this.asked = 0;
    this.drawn = () => {}; // called when rows are there
    this.answer = { total: 0, rows: [] };
    this.groups = this.columns.map((column) => column.dataset.key).filter((key) => key.startsWith("group:"));
    this.listen();
    startColumns(this);
    section.querySelector(".csv").addEventListener("click", () => downloadRows(this));
    startTableKeys(this);
    this.watchWidth();
    this.source.note?.().then((note) => this.section.querySelector(".more").replaceWith(...(note ? [element("p", { class: "notice" }, note)] : [])));
    this.show(true);
  }

  listen() {
    for (const column of this.columns)
      column.querySelector("button")?.addEventListener("click", () => this.sortBy(column.dataset));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", (event) => {
      const field = event.target;
      const value = field.type === "checkbox" ? (field.checked ? "1" : null) : field.value.trim();
      const more = field.name === "metric" && !value ? { min: null, max: null } : {};
      clearTimeout(this.typing);
      const wait = field.type === "search" || field.type === "number" ? 150 : 0;
      this.typing = setTimeout(() => this.state.set({ ...more, offset: null, [field.name]: value }, wait > 0), wait);
    });
    addEventListener("beforeprint", () => this.drawPrinted());
    addEventListener("afterprint", () => this.draw());
    this.section.querySelector(".clear").addEventListener("click", () => this.state.set({ ...NO_FILTERS, ...Object.fromEntries(this.groups.map((key) => [key, null])), sort: null, descending: null }));
    this.pager.querySelector(".before").addEventListener("click", () => this.turn(-1));
    this.pager.querySelector(".after").addEventListener("click", () => this.turn(1));
    document.addEventListener("click", (event) => {
      const row = event.target.closest("table.rows tr[data-row]"); // also of the worst rows
      if (row && !event.target.closest("a") && !String(getSelection())) this.state.set({ row: row.dataset.row });
    });
  }

  /** A table that is wider than the page scrolls in a box as high as the window; else the page does, under its headings. */
  watchWidth() {
    const table = this.body.parentElement;
    const box = table.parentElement;
    const watch = new ResizeObserver(() => box.classList.toggle("wide", table.offsetWidth > box.offsetWidth));
    for (const part of [table, box]) watch.observe(part);
  }

  /** First click: scores from the worst; second click: the other way round. */
  sortBy({ key, better }) {
    const { sort = "row", descending } = this.state.get();
    const down = sort === key ? !descending : better === "lower";
    this.state.set({ sort: key === "row" && !down ? null : key, descending: down ? "1" : null, offset: null });
  }

  turn(pages) {
    const offset = Math.max(0, this.query.offset + pages * PAGE_ROWS);
    if (offset < this.answer.total) this.state.set({ offset: offset || null });
  }

  /** What the state asks of the source. */
  queryOf(state) {
    const limit = (value) => (value === undefined || value === "" || Number.isNaN(Number(value)) ? null : Number(value));
    const groups = Object.fromEntries(this.groups.filter((key) => state[key]).map((key) => [key, state[key]]));
    const filtered = Object.keys(groups).length || state.sort || state.metric || state.search || state.missing || state.offset;
    const page = (row) => Math.floor(row / PAGE_ROWS) * PAGE_ROWS; // the one on which the linked row is
    return {
      sort: state.sort || "row",
      descending: state.descending === "1",
      search: state.search || "",
      missing: state.missing === "1",
      metric: state.metric || "",
      min: state.metric ? limit(state.min) : null,
      max: state.metric ? limit(state.max) : null,
      offset: limit(state.offset) ?? (state.row && !filtered ? page(Number(state.row)) : 0),
      limit: PAGE_ROWS,
      ...groups,
    };
  }

  /** Show what the hash says. */
  async show(linked) {
    const state = this.state.get();
    const number = ++this.asked;
    this.query = this.queryOf(state);
    this.fill(state);
    try {
      const answer = await this.source.query(this.query);
      if (number !== this.asked) return; // the state has changed meanwhile
      this.answer = answer;
      this.draw();
    } catch (error) {
      this.fail(error);
    }
    if (state.row) return void this.dialog.open(Number(state.row));
    this.dialog.close();
    if (linked && location.hash.includes("=")) this.section.scrollIntoView();
  }

  /** The controls and headings say what the state is. */
  fill(state) {
    for (const field of this.form.elements) {
      if (!field.name || field === document.activeElement) continue;
      if (field.type === "checkbox") field.checked = state[field.name] === "1";
      else field.value = state[field.name] ?? "";
    }
    for (const name of ["min", "max"]) this.form.elements[name].disabled = !state.metric;
    const left = hiddenColumns(state);
    for (const column of this.columns) {
      column.hidden = left.has(column.dataset.key);
      const sorted = column.dataset.key === this.query.sort;
      if (sorted) column.setAttribute("aria-sort", this.query.descending ? "descending" : "ascending");
      else column.removeAttribute("aria-sort");
    }
  }

  /** On paper all rows that fit the filters, as far as the source has them at once. */
  drawPrinted() {
    const rows = this.source.whole?.(PRINTED_ROWS);
    if (rows) this.draw(rows, 0);
  }

  draw(rows = this.answer.rows, offset = this.query.offset) {
    const { total } = this.answer;
    const all = this.source.all ?? total;
    this.section.querySelector(".count").textContent = total === all ? `${count(total)} rows` : `${count(total)} of ${count(all)} rows`;
    this.body.replaceChildren(...rows.map((row) => this.rowElement(row)));
    if (!rows.length) this.body.append(element("tr", {}, element("td", { colspan: this.columns.length, class: "none" }, "No row fits these filters.")));
    this.pager.hidden = total <= PAGE_ROWS;
    this.pager.querySelector(".place").textContent = `${count(offset + 1)} to ${count(offset + rows.length)} of ${count(total)}`;
    this.pager.querySelector(".before").disabled = offset === 0;
    this.pager.querySelector(".after").disabled = offset + rows.length >= total;
    this.drawn();
  }

  rowElement(row) {
    return element("tr", { "data-row": row.row }, ...this.columns.map((column) => this.cell(row, column, column.hidden ? "" : null)));
  }

  cell(row, column, hidden) {
    const { key, kind } = column.dataset;
    if (kind === "row") return element("td", { class: "number place" }, this.source.label(row.row));
    if (kind === "question") {
      const link = element("a", { href: this.state.hash({ row: row.row }), dir: "auto" }, row.question || "(no question)");
      return element("td", { class: "asks" }, link);
    }
    const name = { "data-name": column.textContent };
    if (kind === "text") return element("td", { class: "text", hidden }, element("div", { class: "clamped", dir: "auto", ...name }, row.texts[key] ?? ""));
    if (kind === "group") return element("td", { class: "group", hidden, ...name }, element("bdi", { dir: "auto" }, row.groups[key.slice("group:".length)] ?? ""));
    return element("td", { class: "number score", hidden, ...name }, this.scoreElement(row.scores, column.dataset));
  }

  /** A score with its sign; of a run that is compared, with an arrow where it is better or worse than the first. */
  scoreElement(scores, { key, shown = key, better, low, high, quarter }) {
    const value = scores[shown] ?? null;
    if (value === null) return element("span", { class: "missing" }, "missing");
    const visible = (number) => (Math.abs(number) < 0.005 ? 0 : number); // never "-0.00"
    const text = visible(value).toFixed(2).replace("-", "−");
    const marked = isMarked(value, quarter, better);
    const tone = scoreTone(value, Number(low), Number(high), better);
    const moved = differenceTone(visible(scores[key] ?? 0), better);
    if (shown === key) return tonedElement(text, tone, SIGNS[tone], tone, marked);
    return tonedElement(text, tone, ARROWS[moved], moved === "good" ? "better" : "worse", marked);
  }

  /** The row before or after one in the current order; null where there is none. */
  async beside(row, step) {
    const place = this.answer.rows.findIndex((other) => other.row === row);
    if (place < 0) return null;
    const near = this.answer.rows[place + step];
    if (near) return { row: near.row, offset: this.query.offset };
    const offset = this.query.offset + place + step;
    if (offset < 0 || offset >= this.answer.total) return null;
    const { rows } = await this.source.query({ ...this.query, offset, limit: 1 });
    return rows.length ? { row: rows[0].row, offset: Math.floor(offset / PAGE_ROWS) * PAGE_ROWS } : null;
  }

  fail(error) {
    this.body.replaceChildren(element("tr", {}, element("td", { colspan: this.columns.length, class: "none" }, error.message)));
  }
}
