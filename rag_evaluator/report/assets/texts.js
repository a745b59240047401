// The texts of the page, from the one catalogue in Python, and elements that hold texts.
"use strict";

let pageTexts = null;

/** A text by its key, `{name}` replaced by values. */
function text(key, values = {}) {
  pageTexts ??= JSON.parse(document.getElementById("texts").textContent);
  return (pageTexts[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** An element with attributes and children: texts or elements, never HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A count as English writes it. */
function count(number) {
  return number.toLocaleString("en");
}
