"""Where each file of the repository is in the site, and links that lead there.

Pages are written for readers of the repository: a link leads from file to file. Files below docs/ keep their places,
the README is the first page, and every other file that a page links to is put below `repository/`.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
OWN_PLACES = {ROOT / "README.md": "index.md"}
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]*)?(?=\))")
OF_FEATURES = ("certify.md", "duel.md", "probe.md", "testset.md")
DELETED = [name for name in OF_FEATURES if not (DOCS / name).is_file()]
"""Pages that were deleted with their features: the site has the words of a link to one, and no link."""
TO_FEATURE = re.compile(rf"\[([^]]*)\]\((?:[^)\s]*/)?({'|'.join(OF_FEATURES)})(?:#[^)\s]*)?\)")


def place(path: Path) -> str:
    """The address of a file in the site."""
    if path in OWN_PLACES:
        return OWN_PLACES[path]
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else f"repository/{path.relative_to(ROOT)}"


def targets(page: Path) -> Iterator[Path]:
    """The files of the repository that a page links to."""
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        if target := _target(page, match[1]):
            yield target


def site_text(page: Path) -> str:
    """The text of a page, with links that are right in the site."""
    folder = posixpath.dirname(place(page))

    def moved(match: re.Match[str]) -> str:
        target = _target(page, match[1])
        return f"{posixpath.relpath(place(target), folder or '.')}{match[2] or ''}" if target else match[0]

    text = page.read_text(encoding="utf-8")
    return LINK.sub(moved, TO_FEATURE.sub(lambda match: match[1] if match[2] in DELETED else match[0], text))


def outside(pages: list[Path]) -> list[Path]:
    """All files outside docs/ that these pages, and the pages among these files, link to."""
    found: dict[Path, None] = {}
    waiting = list(pages)
    while waiting:
        for target in targets(waiting.pop()):
            if not target.is_relative_to(DOCS) and target not in found and target not in OWN_PLACES:
                found[target] = None
                waiting += [target] if target.suffix == ".md" else []
    return sorted(found)


def _target(page: Path, link: str) -> Path | None:
    target = (page.parent / link).resolve()
    return target if target.is_file() and target.is_relative_to(ROOT) else None
