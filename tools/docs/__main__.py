"""`python -m tools.docs`: build the documentation as a site, in site/ or the folder that is named.

First all sources are put into one folder: the pages of docs/, the pages that are made of the program, and the files
outside docs/ that these link to. Then the site generator reads that folder. So it needs no plugin of ours.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.docs import commands, links, python_names

STAGE = links.ROOT / "build" / "docs"
MADE: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": commands.page,
    "reference/python.md": python_names.page,
}
OTHERS = "*"  # in `nav`: all pages of docs/ that it does not name
HIDDEN = ("design/",)  # in the site, where pages link to it, and not in `nav`
FOLDER = "/"  # the end of a folder's name in `nav`: all of its pages that it does not name


def stage(folder: Path = STAGE) -> Path:
    """Write all sources of the site into a folder; returns the configuration of the generator."""
    shutil.rmtree(folder, ignore_errors=True)
    own = [path for path in sorted(links.DOCS.rglob("*")) if path.is_file()]
    readme = links.ROOT / "README.md"
    for path in [*own, readme, *links.outside([readme, *_pages(own)])]:
        target = _made(folder / "docs" / links.place(path))
        if path.suffix == ".md":
            target.write_text(links.site_text(path), encoding="utf-8")
        else:
            shutil.copy(path, target)
    for place, page in MADE.items():
        _made(folder / "docs" / place).write_text(page(), encoding="utf-8")
    settings, _, nav = (links.ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    names = [name for name in map(links.place, _pages(own)) if not name.startswith(HIDDEN)]
    filled = yaml.safe_dump({"nav": filled_nav(yaml.safe_load(nav), names)}, sort_keys=False, allow_unicode=True)
    (folder / "mkdocs.yml").write_text(f"{settings}\n{filled}", encoding="utf-8")
    return folder / "mkdocs.yml"


def filled_nav(nav: list[Any], pages: list[str]) -> list[Any]:
    """The navigation with all pages in place of `OTHERS` and folders. Any: YAML."""
    named = set(_named(nav))
    folders = tuple(name for name in named if name.endswith(FOLDER))
    found = {name: [page for page in pages if page.startswith(name) and page not in named] for name in folders}
    found[OTHERS] = [page for page in pages if page not in named and not page.startswith(folders)]
    return _filled(nav, found)


def build(target: Path) -> int:
    """Build the site; the exit code is not 0 if a page has a fault, such as a link that leads nowhere."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([*command, "-f", str(stage()), "-d", str(target)], env=environment, check=False).returncode


def _pages(paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.suffix == ".md"]


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _named(nav: Any) -> Iterator[str]:
    """Every page and folder that a navigation names."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _named(entry)


def _filled(nav: Any, found: Mapping[str, list[str]]) -> Any:
    if isinstance(nav, dict):
        return {title: _filled(entry, found) for title, entry in nav.items()}
    if isinstance(nav, str):
        return nav
    return [
        page
        for entry in nav
        for page in (found.get(entry, [entry]) if isinstance(entry, str) else [_filled(entry, found)])
        if page not in links.DELETED
    ]


if __name__ == "__main__":
    sys.exit(build(Path(*sys.argv[1:2] or ["site"]).resolve()))
