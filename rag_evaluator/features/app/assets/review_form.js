// The texts of a row that a person corrects: filled, kept while they are typed, saved one change a field.
"use strict";

const BETWEEN = "\n---\n"; // of the texts of a list

function listed(field, value) {
  return field === "reference_contexts" ? (value ?? []).join(BETWEEN) : (value ?? "");
}

function parsed(field, typed) {
  if (field !== "reference_contexts") return typed.trim() ? typed : null;
  const texts = typed.split(/\r?\n---\r?\n/).filter((each) => each.trim());
  return texts.length ? texts : null;
}

/** A value as people read it. */
function readable(value) {
  if (value === null || value === undefined || value === "") return "nothing";
  return Array.isArray(value) ? value.join(BETWEEN) : String(value);
}

class CorrectionForm {
  /** `save(field, before, after, seen)` is called for each text that has changed. */
  constructor(form, drafts, save, closed) {
    Object.assign(this, { form, drafts, save, closed, row: null, seen: {}, typing: new Set() });
    this.fields = [...form.querySelectorAll("textarea")];
    form.addEventListener("input", (event) => this.typed(event.target));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.submit();
      } else if (event.key === "Escape") this.close();
    });
    form.querySelector(".leave").addEventListener("click", () => this.close());
    form.querySelector(".drop").addEventListener("click", () => this.drop());
  }

  get isOpen() {
    return !this.form.hidden;
  }

  /** Show a row's texts as they are now; drafts of it open the form. `values`: field -> [value, id of its record]. */
  fill(row, sample, values) {
    const moved = row !== this.row;
    const again = !moved && this.isOpen;
    this.row = row;
    this.sample = sample;
    if (moved) this.typing.clear();
    let drafted = false;
    for (const area of this.fields) {
      const [value, seen] = values[area.name];
      const draft = this.drafts.get(row, area.name);
      const valid = draft && draft.sample === sample;
      drafted ||= Boolean(valid);
      if (this.typing.has(area.name)) continue; // what is typed here stays, with the version that it began from
      this.seen[area.name] = valid ? [draft.before, draft.seen] : [value, seen];
      area.value = valid ? draft.typed : listed(area.name, value);
      this.fit(area);
    }
    this.form.querySelector(".draft").hidden = !drafted || again;
    if (moved) this.form.hidden = !drafted;
    this.closed();
  }

  typed(area) {
    const [before, seen] = this.seen[area.name];
    this.typing.add(area.name);
    this.drafts.set(this.row, area.name, { typed: area.value, before, seen, sample: this.sample });
    this.fit(area);
  }

  fit(area) {
    area.rows = Math.min(Math.max(area.value.split("\n").length + 1, area.name === "user_input" ? 2 : 3), 16);
  }

  open() {
    this.form.hidden = false;
    this.closed();
    this.form.querySelector("[name=reference]").focus();
  }

  close() {
    this.form.hidden = true;
    this.closed(true);
  }

  drop() {
    this.forget();
    this.form.hidden = true;
    this.closed(true, true);
  }

  submit() {
    for (const area of this.fields) {
      const [before, seen] = this.seen[area.name];
      const after = parsed(area.name, area.value);
      const same = JSON.stringify(after) === JSON.stringify(parsed(area.name, listed(area.name, before)));
      if (!same && !this.save(area.name, before, after, seen)) return;
    }
    this.forget(); // the outbox has them now
    this.form.hidden = true;
    this.closed(true, true);
  }

  forget() {
    for (const area of this.fields) this.drafts.remove(this.row, area.name, area.value);
    this.typing.clear();
  }
}
