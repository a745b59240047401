// What all pages for reviewers share: how a change is saved, and keys.
"use strict";

/** Whether a change is on the server's disk. Of one that is not the page says why, and what it showed stays. */
async function save(page, record, refused = () => {}, address = page.dataset.record) {
  say(page, "saving", "Saving …");
  try {
    await ask(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(record) });
  } catch (error) {
    say(page, "failed", "Not saved", error.message);
    refused(error);
    return false;
  }
  say(page, "saved", "Saved");
  return true;
}

function say(page, state, text, trouble = "") {
  page.querySelector(".save").dataset.state = state;
  page.querySelector(".save .says").textContent = text;
  page.querySelector(".trouble").textContent = trouble;
  page.querySelector(".trouble").hidden = !trouble;
}

/** Single keys, while nobody types: key -> the button that is pressed. */
function onKeys(buttonOf) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog[open]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const button = buttonOf(event.key);
    if (!button || button.disabled || !button.offsetParent) return;
    event.preventDefault();
    button.click();
  });
}
