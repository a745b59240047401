// What a mark of a chart stands for, shown beside the pointer and at keyboard focus: its aria-label.
"use strict";

function startTooltips() {
  const tip = element("div", { class: "tooltip", hidden: "", "aria-hidden": "true" });
  document.body.append(tip);
  const markOf = (target) => target.closest?.("svg [aria-label]");
  const hide = () => (tip.hidden = true);
  const show = (mark, x, y) => {
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - width - 8))}px`;
    tip.style.top = `${y + height + 20 < innerHeight ? y + 14 : y - height - 10}px`;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = markOf(event.target);
    if (mark && mark.getAttribute("aria-roledescription") !== "axis") show(mark, event.clientX, event.clientY);
    else hide();
  });
  const showFocused = () => {
    const at = document.activeElement;
    const mark = at.closest("svg a") && at.matches(":focus-visible") && (markOf(at) || at.querySelector("[aria-label]"));
    if (!mark) return hide();
    const place = mark.getBoundingClientRect();
    return show(mark, place.right, place.top);
  };
  document.addEventListener("focusin", showFocused);
  // The keyboard scrolls to what it reaches: that stays. Under the pointer there is something else now.
  document.addEventListener("scroll", () => tip.hidden || showFocused(), { passive: true, capture: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}
