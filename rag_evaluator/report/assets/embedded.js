// The rows of a report, which are in the file itself: compressed, and unpacked when they are needed.
"use strict";

const WORK = "group:judge's work"; // of a row a list of flags

class EmbeddedRows {
  constructor() {
    this.about = JSON.parse(document.getElementById("about").textContent);
    this.all = this.about.rows;
    this.unpacked = new Map();
    this.readWhole = new Promise((resolve) => (document.readyState === "loading" ? addEventListener("DOMContentLoaded", resolve) : resolve()));
    this.readWhole.then(() => this.words()); // unpacked before somebody searches
  }

  /** The text of each row that is searched. */
  words() {
    this.lower ??= this.unpack("search").then((rows) => rows.map((words) => words.toLowerCase()));
    return this.lower;
  }

  /** What is to be said of the rows once the page is read whole; null: they are all here. */
  async note() {
    await this.readWhole;
    return document.getElementById(this.part(this.all - 1)) || !this.all ? null : this.about.note;
  }

  part(row) {
    return `part-${Math.floor(row / this.about.part)}`;
  }

  /** The JSON in a block, unpacked once; of the parts with rows only a few are kept. */
  unpack(name) {
    if (!this.unpacked.has(name)) {
      if (this.unpacked.size > 12) this.forgetOldest();
      this.unpacked.set(name, this.read(name));
    }
    return this.unpacked.get(name);
  }

  forgetOldest() {
    for (const name of this.unpacked.keys()) if (name.startsWith("part-")) return this.unpacked.delete(name);
    return false;
  }

  async read(name) {
    if (typeof DecompressionStream !== "function") throw new Error("This browser cannot unpack the rows (it lacks DecompressionStream). Use a browser of 2023 or later.");
    const signs = atob(document.getElementById(name).textContent);
    const bytes = Uint8Array.from(signs, (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  /** What a row is called: its id, else the number of its line, from 1. */
  label(row) {
    return this.about.labels[row] ?? String(row + 1);
  }

  frames() {
    return this.unpack("frames");
  }

  async fragment(row) {
    if (row >= this.all || row < 0 || !Number.isInteger(row)) throw new Error(`There is no row ${row + 1} here.`);
    const name = this.part(row);
    if (!document.getElementById(name)?.nextElementSibling) await this.readWhole;
    if (!document.getElementById(name)) throw new Error("This file holds what the judge said of the first rows only.");
    return (await this.unpack(name))[row % this.about.part];
  }

  async query({ sort, descending, search, missing, metric, min, max, offset, limit, ...groups }) {
    const index = await this.unpack("index");
    const asked = JSON.stringify([sort, descending, search, missing, metric, min, max, groups]);
    if (this.asked !== asked) {
      this.places = this.sorted(index, await this.filtered(index, { search, missing, metric, min, max, groups }), sort, descending);
      this.asked = asked;
    }
    this.index = index;
    const rows = this.places.slice(offset, offset + limit).map((place) => this.row(index, place));
    return { total: this.places.length, rows };
  }

  /** The first rows of the last query without waiting; null before there was one. */
  whole(most) {
    return this.index ? this.places.slice(0, most).map((place) => this.row(this.index, place)) : null;
  }

  row(index, place) {
    const at = (columns) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[place]]));
    return { row: place, question: index.question[place], texts: at(index.texts), groups: at(index.groups), scores: at(index.scores) };
  }

  async filtered(index, { search, missing, metric, min, max, groups }) {
    let places = index.question.map((_, place) => place);
    for (const [key, value] of Object.entries(groups)) {
      const cells = index.groups[key.slice("group:".length)] ?? [];
      const fits = key === WORK ? (cell) => cell?.split(", ").includes(value) : (cell) => cell === value;
      places = places.filter((place) => fits(cells[place]));
    }
    const values = index.scores[metric];
    if (values) {
      const [low, high] = [min === null ? -Infinity : min - 1e-9, max === null ? Infinity : max + 1e-9];
      const limited = min !== null || max !== null;
      if (limited) places = places.filter((place) => values[place] !== null && values[place] >= low && values[place] <= high);
      if (missing) places = places.filter((place) => values[place] === null);
    } else if (missing) {
      const columns = this.about.metrics.map((name) => index.scores[name]);
      places = places.filter((place) => columns.some((column) => column[place] === null));
    }
    if (!search) return places;
    const lower = await this.words();
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    return places.filter((place) => words.every((word) => lower[place].includes(word)));
  }

  /** Missing values come last in both directions; of equal ones the worst first, by their combined rank. */
  sorted(index, places, sort, descending) {
    const sign = descending ? -1 : 1;
    if (sort === "row") return descending ? places.reverse() : places;
    const worst = (a, b) => index.worst[a] - index.worst[b];
    if (sort === "worst") return places.sort((a, b) => sign * worst(a, b));
    const group = sort.startsWith("group:") ? index.groups[sort.slice("group:".length)] : null;
    const words = sort === "question" ? index.question : group;
    if (words) {
      const order = new Intl.Collator(undefined, { numeric: true });
      return places.sort((a, b) => sign * order.compare(words[a], words[b]) || worst(a, b));
    }
    const values = index.scores[sort];
    if (!values) return places;
    const missing = (place) => values[place] === null;
    return places.sort((a, b) => missing(a) - missing(b) || sign * (values[a] - values[b]) || worst(a, b));
  }
}

function makeSource() {
  return new EmbeddedRows();
}
