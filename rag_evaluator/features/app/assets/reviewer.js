// What all pages for reviewers share: who reviews, what is saved, what went wrong, keys.
"use strict";

const WHO = "rag-evaluator-who";
const FIELDS = { user_input: "Question", reference: "Reference", reference_contexts: "Expected contexts" };

/** The name of the person: as the command line says, else as it was typed here. */
class Reviewer {
  constructor(page, changed) {
    this.fixed = page.dataset.who;
    this.field = document.querySelector("input[name=who]");
    if (!this.field) return;
    this.field.value = localStorage.getItem(WHO) ?? "";
    this.field.addEventListener("change", () => {
      localStorage.setItem(WHO, this.field.value.trim());
      changed();
    });
  }

  get name() {
    return this.fixed || this.field?.value.trim() || "";
  }

  /** Whether somebody has said who they are; else the field is shown to them. */
  known() {
    if (this.name) return true;
    this.field.focus();
    this.field.setAttribute("aria-invalid", "true");
    document.querySelector(".save .says").textContent = "Say who you are first: your name is kept with each change.";
    return false;
  }
}

function showSaved(page, outbox) {
  const [state, says] = outbox.state;
  const place = page.querySelector(".save");
  if (place.dataset.state === state && place.querySelector(".says").textContent === says) return;
  place.dataset.state = state;
  place.querySelector(".says").textContent = says;
}

/** The changes that wait for a decision: of conflicts both texts, of refused ones why. */
function showTroubles(page, outbox, shown) {
  const place = page.querySelector(".troubles");
  const troubles = outbox.entries().filter((entry) => entry.conflict || entry.refused);
  const ids = troubles.map((entry) => entry.record.id).join();
  if (place.dataset.ids === ids) return;
  place.dataset.ids = ids;
  place.replaceChildren(...troubles.map((entry) => (entry.conflict ? conflictOf(entry, outbox, shown) : refusedOf(entry, outbox, shown))));
}

function conflictOf({ record, conflict }, outbox, shown) {
  const theirs = button("Keep theirs", () => outbox.remove(record.id));
  const mine = button("Keep yours", () => {
    outbox.remove(record.id);
    outbox.add({ ...record, id: newIdentity(), before: conflict.after, seen: conflict.id });
  });
  return element(
    "section",
    { class: "conflict panel", "data-row": String(record.row) },
    element("h2", {}, `${conflict.by} changed this meanwhile`, " · ", `Row ${record.row}`, " · ", FIELDS[record.field] ?? record.field),
    element("div", { class: "both" }, versionOf("Theirs", conflict.after, theirs, shown), versionOf("Yours", record.after, mine, shown)),
  );
}

function versionOf(title, value, keep, shown) {
  const texts = element("div", { class: "data", dir: "auto" }, shown(value));
  return element("div", {}, element("h3", {}, title), texts, keep);
}

function refusedOf({ record, refused, ...entry }, outbox, shown) {
  return element(
    "section",
    { class: "conflict panel" },
    element("p", {}, `Row ${record.row ?? ""}`, ": ", `Not saved: ${refused}`),
    element("div", { class: "data", dir: "auto" }, shown(record.after)),
    button("Try again", () => {
      outbox.store({ ...entry, record });
      outbox.flush();
    }),
    button("Discard mine", () => outbox.remove(record.id)),
  );
}

function button(label, pressed) {
  const made = element("button", { type: "button" }, label);
  made.addEventListener("click", pressed);
  return made;
}

/** Single keys, while nobody types: key -> what it does. */
function onKeys(keys) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog[open]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const act = keys(event.key);
    if (!act) return;
    event.preventDefault();
    act();
  });
}
