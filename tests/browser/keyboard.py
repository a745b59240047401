"""The keyboard as somebody uses it who has no mouse."""

import pytest
from playwright.sync_api import Page

LINE = """() => {
  const at = document.activeElement, line = getComputedStyle(at);
  return (line.outlineStyle !== "none" && parseFloat(line.outlineWidth) > 0) || line.boxShadow !== "none";
}"""


def tab_to(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until an element is focused, and see that the focus is visible there.

    It is waited for first: Tab leaves a page that is still empty, and does not come back.
    """
    page.locator(selector).first.wait_for()
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            assert page.evaluate(LINE), f"the focus cannot be seen on {selector}"
            return
    pytest.fail(f"{most} times Tab did not reach {selector}")
