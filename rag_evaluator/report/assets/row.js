// A row on the page: prompts are filled in when they are unfolded, links to a part of the row move there.
"use strict";

/**
 * A row as our templates made it: they escape all data, scripts in it would not run.
 * @param {string} html with the articles of the row
 * @param {function(): (Object|Promise<Object>)} frames gives the beginnings of prompts by key
 */
function rowOf(html, frames) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const article of template.content.querySelectorAll("article")) fillPrompts(article, frames);
  return template.content;
}

/** Puts the beginning of each prompt, which the page holds once, where the row names it. */
function fillPrompts(article, frames) {
  const fill = async (event) => {
    const open = event.target;
    const parts = open.open ? [...open.querySelectorAll("[data-frame]:is(:empty, .notice)")] : [];
    if (!parts.length) return;
    try {
      const texts = await frames();
      for (const part of parts) showPart(part, texts[part.dataset.frame] ?? "", false);
    } catch (error) {
      for (const part of parts) showPart(part, error.message, true); // asked for again when it is unfolded again
    }
  };
  article.addEventListener("toggle", fill, true); // it does not bubble
}

function showPart(part, shown, isNotice) {
  part.textContent = shown;
  part.classList.toggle("notice", isNotice);
}

/** Shows the part of a row that a link names; the address stays that of the row. */
function showSection(event) {
  const link = event.target.closest?.("a[data-section]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const section = link.closest("article")?.querySelector(`#${CSS.escape(link.dataset.section)}`);
  if (!section) return;
  event.preventDefault();
  for (let fold = section.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  section.scrollIntoView({ block: "start", behavior: "auto" });
  section.focus({ preventScroll: true });
}

document.addEventListener("click", showSection);
