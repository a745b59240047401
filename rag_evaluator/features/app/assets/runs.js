// The list of runs: those picked are compared in the order of picking.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.querySelector("#runs form");
  if (!form) return;
  const button = form.querySelector("button[type=submit]");
  let picked = [...form.querySelectorAll("input:checked")];
  const show = () => {
    button.disabled = picked.length < 2;
    button.textContent = button.disabled ? "Compare" : `Compare ${picked.length} runs, ${picked[0].dataset.name} first`;
  };
  form.addEventListener("change", ({ target }) => {
    picked = picked.filter((other) => other !== target);
    if (target.checked) picked.push(target);
    show();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.assign(`${form.action}?${new URLSearchParams(picked.map((box) => ["run", box.value]))}`);
  });
  show();
});
