// What is shown, kept in the hash of the address: links lead to it, and the back button goes back.
"use strict";

class HashState {
  /** `changed(linked)` is called with every new state; `linked`: by an address or a link, not by a control. */
  constructor(changed) {
    this.changed = changed;
    window.addEventListener("hashchange", () => changed(true));
  }

  /** Key -> text. A hash without "=" is a plain place on the page: nothing is filtered then. */
  get() {
    const hash = location.hash.slice(1);
    return hash.includes("=") ? Object.fromEntries(new URLSearchParams(hash)) : {};
  }

  /** The hash of the state with changes; what is blank is left out. */
  hash(changes) {
    const state = Object.entries({ ...this.get(), ...changes });
    const kept = state.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return "#" + new URLSearchParams(kept.map(([key, value]) => [key, String(value)]));
  }

  /** Change the state. `replace`: the state before is no place to go back to, such as half a word. */
  set(changes, replace = false) {
    const hash = this.hash(changes);
    const address = hash === "#" ? location.pathname + location.search : hash;
    if (hash === (location.hash || "#")) return;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    this.changed(false);
  }
}
