// Elements that hold texts, and numbers as text.
"use strict";

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
