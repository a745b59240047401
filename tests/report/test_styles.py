"""Style sheets: a rule for one part of a page must not reach another part."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_evaluator

PACKAGE = Path(rag_evaluator.__file__).parent
ROOTS = {
    "report/assets/row.css": ("article.row",),
    "report/assets/figures.css": (".figures",),
    "report/assets/rows.css": (".conclusion", "#worst", "#rows", ".rows"),
    "report/assets/table.css": (
        "header.page",
        "footer.page",
        "main",
        "h1",
        ".themes",
        "#rows",
        "dialog#row",
    ),
    "features/app/assets/runs.css": (
        ".run-list",
        ".save-report",
        ".run-state",
        ".run-progress",
        ".progress-",
        ".compared",
        "main.error",
    ),
    "features/app/assets/review.css": (".review", ".labelling", "header.page"),
}
"""Sheet -> what each of its selectors begins with; `base.css` is for all parts."""


def selectors(sheet: str) -> Iterator[str]:
    """Those of all rules, also within `@media`."""
    plain = re.sub(r"/\*.*?\*/|@keyframes[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", sheet, flags=re.DOTALL)
    for rule in re.findall(r"([^{};]+)\{", plain):
        if not rule.strip().startswith("@"):
            yield from (part.strip() for part in re.split(r",(?![^(]*\))", rule))


def beginnings(selector: str) -> list[str]:
    """What it begins with: `:is(a, b) c` with a or b, `body:has(a) b` with a."""
    found = re.match(r"(?::is|body:has)\((.*?)\)", selector)
    return [part.strip() for part in found[1].split(",")] if found else [selector]


@pytest.mark.parametrize("sheet", ROOTS)
def test_no_rule_of_a_sheet_reaches_outside_its_part(sheet: str) -> None:
    found = list(selectors((PACKAGE / sheet).read_text(encoding="utf-8")))

    outside = [one for one in found if not all(part.startswith(ROOTS[sheet]) for part in beginnings(one))]

    assert len(found) > 20
    assert not outside


def test_every_sheet_is_known_here() -> None:
    sheets = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.css")}

    assert sheets == {*ROOTS, "report/assets/base.css"}
