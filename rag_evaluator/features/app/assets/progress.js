// Progress of a run that is being made: asked for again every few seconds, and said aloud at every tenth.
"use strict";

const PROGRESS_WAIT = 3000; // milliseconds; longer while nobody works or the page is hidden
const IDLE_WAIT = 15000;

class Progress {
  constructor(place) {
    this.place = place;
    this.live = document.querySelector(".live");
    this.said = null;
    this.again(place.dataset.state);
  }

  again(state) {
    const wait = state === "running" && !document.hidden ? PROGRESS_WAIT : IDLE_WAIT;
    setTimeout(() => this.ask(), wait);
  }

  async ask() {
    try {
      const { state, parts, html } = await (await ask(this.place.dataset.progress)).json();
      if (state === "finished") return location.reload(); // its results are there
      this.place.replaceChildren(fragmentOf(html.parts));
      this.say(parts);
      this.again(state);
    } catch {
      this.live.textContent = "The server does not answer. Trying again …";
      this.again("lost");
    }
  }

  say(parts) {
    const [done, all] = ["done", "all"].map((name) => parts.reduce((sum, part) => sum + part[name], 0));
    const tenth = Math.floor((10 * done) / Math.max(all, 1));
    if (tenth !== this.said) this.live.textContent = `${10 * tenth} % done`;
    this.said = tenth;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("[data-progress]")) new Progress(place);
});
