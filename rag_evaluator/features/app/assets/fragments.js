// Parts of a page that take long to make: they come after it.
"use strict";

/** HTML made by our templates, which escape all data; scripts in it would not run. */
function fragmentOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

async function loadFragment(place) {
  try {
    place.replaceChildren(fragmentOf(await (await ask(place.dataset.fragment)).text()));
  } catch (error) {
    place.replaceChildren(element("p", { class: "notice" }, error.message));
  }
  place.removeAttribute("aria-busy");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("[data-fragment]")) loadFragment(place);
});
