// A row on the page: prompts are filled in when they are unfolded, links to a part of the row move there.
"use strict";

/**
 * Puts the beginning of each prompt, which the page holds once, where the row names it.
 * @param {Element} article of a row
 * @param {Object<string, string>|function(): (Object|Promise<Object>)} frames by key, or what gives them
 */
function fillPrompts(article, frames) {
  const fill = async (event) => {
    const open = event.target;
    const parts = open.open ? [...open.querySelectorAll("[data-frame]:empty")] : [];
    if (!parts.length) return;
    const texts = typeof frames === "function" ? await frames() : frames;
    for (const part of parts) part.textContent = texts[part.dataset.frame] ?? "";
  };
  article.addEventListener("toggle", fill, true); // it does not bubble
}

/** Shows the part of a row that a link names; the address stays that of the row. */
function showSection(event) {
  const link = event.target.closest?.("a[data-section]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const section = link.closest("article")?.querySelector(`#${CSS.escape(link.dataset.section)}`);
  if (!section) return;
  event.preventDefault();
  section.scrollIntoView({ block: "start", behavior: "auto" });
  section.focus({ preventScroll: true });
}

document.addEventListener("click", showSection);
