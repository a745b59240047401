"""`python -m tools.docs.words`: the words of each page that people write, and their sum.

The exit code is 1 where all pages have more than `MOST` words, or a page more than `MOST_OF_A_PAGE`.

Words are counted as `wc -w` does. Design notes, translations and pages that are made of the program are not counted.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from tools.docs.configuration import PAGE
from tools.docs.links import DOCS, ROOT

MOST = 29_000
MOST_OF_A_PAGE = 900
DESIGN = "design"  # the folder of notes on how it is built
TRANSLATIONS = ("es", "ja", "zh")  # docs/es/ or page.es.md
MADE = (PAGE,)


def pages(docs: Path = DOCS) -> list[Path]:
    """The pages that count, in the order of their names."""
    left_out = {DESIGN, *TRANSLATIONS}
    written = (path for path in sorted(docs.rglob("*.md")) if path not in MADE)
    return [path for path in written if left_out.isdisjoint(_words_of_name(path.relative_to(docs)))]


def words(docs: Path = DOCS) -> dict[Path, int]:
    """Page -> its words."""
    return {page: len(page.read_text(encoding="utf-8").split()) for page in pages(docs)}


def listing(counted: Mapping[Path, int], most: int = MOST) -> tuple[str, int]:
    """Return a line for each page and one for the sum, and the exit code."""
    total = sum(counted.values())
    long = [count > MOST_OF_A_PAGE for count in counted.values()]
    verdict = f"{total - most:,} more than {most:,}: shorten pages" if total > most else f"at most {most:,}"
    lines = [f"{count:6,}  {page}{_excess(count)}" for page, count in counted.items()]
    return "\n".join([*lines, f"{total:6,}  words, {verdict}"]), int(total > most or any(long))


def _excess(count: int) -> str:
    """Say how many words a page has too many."""
    return f": {count - MOST_OF_A_PAGE:,} more than {MOST_OF_A_PAGE:,}" if count > MOST_OF_A_PAGE else ""


def _words_of_name(page: Path) -> set[str]:
    """The folders of a page, and what its name has between points: docs/es/a.md and a.es.md are Spanish."""
    return {*page.parts[:-1], *page.stem.split(".")[1:]}


if __name__ == "__main__":
    text, code = listing({page.relative_to(ROOT): count for page, count in words().items()})
    print(text)
    sys.exit(code)
