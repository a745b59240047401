// The choice of colours: light, dark, or as the system has it. Runs before the page is drawn.
"use strict";

const THEME = "rag-evaluator-theme";

function rememberedTheme() {
  try {
    return localStorage.getItem(THEME) || "auto";
  } catch {
    return "auto"; // a browser may keep nothing for files
  }
}

function useTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function startTheme() {
  const choice = document.querySelector("fieldset.themes");
  if (!choice) return;
  choice.hidden = false;
  const chosen = choice.querySelector(`input[value="${rememberedTheme()}"]`);
  if (chosen) chosen.checked = true;
  choice.addEventListener("change", (event) => {
    useTheme(event.target.value);
    try {
      localStorage.setItem(THEME, event.target.value);
    } catch {
      // it holds until the page is left
    }
  });
}

useTheme(rememberedTheme());
