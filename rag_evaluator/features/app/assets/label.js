// Blind labelling: one question at a time, as the server has made it. The next one comes when the answer is saved.
"use strict";

class LabelPage {
  constructor(page) {
    this.page = page;
    this.shown = page.querySelector(".shown");
    this.shown.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.press(button);
    });
    onKeys((key) => [...this.shown.querySelectorAll("[data-key]")].find((button) => button.dataset.key === key));
    this.show("");
  }

  /** Show the question at a place; without one the first that has no answer. */
  async show(place) {
    try {
      this.shown.replaceChildren(fragmentOf(await (await ask(withQuery(this.page.dataset.item, { place }))).text()));
      this.shown.querySelector("h1").focus({ preventScroll: true });
    } catch (error) {
      say(this.page, "failed", "", error.message);
    }
  }

  async press({ dataset: { send, go } }) {
    if (this.busy) return;
    this.busy = true;
    if (!send || (await save(this.page, JSON.parse(send)))) await this.show(go);
    this.busy = false;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const page = document.getElementById("label");
  if (page) window.labelPage = new LabelPage(page);
  const draw = document.getElementById("draw");
  draw?.querySelector("button").addEventListener("click", async () => (await save(draw, {})) && location.reload());
});
