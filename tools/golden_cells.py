"""What a run leaves behind as cells that can be hashed: files of a folder, JSON on standard output, text of a page.

A cell is a small part of a file (a line of JSONL, a key of a JSON object, a sheet, a section of a page), so that a
difference is named closely. Paths, versions and times are not part of any cell: they change without a change of code.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl

ROOT = Path(__file__).parent.parent
Parts = Mapping[str, Any]  # what a cell is made of, by name: JSON
VOLATILE = frozenset(
    "age_seconds at batch_sizes cpu_seconds created date digest duration ended environment eta_seconds "
    "finished free free_main host ignored libraries machine modified peak_memory pid process rate "
    "seconds seen source started time times updated versions workers".split()
)
_VERSION = re.compile(
    r"\b(rag-evaluator|ragas|transformers|torch|rag_evaluator)([:= ]{1,2})\d+(\.\d+)+\S*?(?=[|\s,;)]|$)"
)
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\S*)|\b\d+(\.\d+)? (s|seconds|min|MiB|GiB)\b|\d\d:\d\d:\d\d")
_NO_RESULTS = {".npy", "", "written.json"}  # vectors of a corpus, its lock, times and digests of files
_SKIPPED_TAGS = {"script", "style", "svg"}


def cells_of_folder(folder: Path, out: Path) -> Iterator[tuple[str, Parts]]:
    """Every result file below `folder`, the journal left out; `out` is the folder of all runs, whose path is hidden."""
    for path in sorted(folder.rglob("*")):
        if (
            path.is_file()
            and "journal" not in path.relative_to(folder).parts
            and not {path.suffix, path.name} & _NO_RESULTS
        ):
            yield from cells_of_file(path, str(path.relative_to(folder)), out)


def cells_of_file(path: Path, name: str, out: Path) -> Iterator[tuple[str, Parts]]:
    """The cells of one file, by its suffix; a file of another kind is one cell of text."""
    for part, value in _READERS.get(path.suffix, _text)(path):
        yield f"{name} {part}".strip(), {"value": steady(value, out)}


def cells_of_output(text: str, out: Path) -> Iterator[tuple[str, Parts]]:
    """What a command printed: by key where it is JSON, else by line."""
    try:
        items = _items(json.loads(text))
    except json.JSONDecodeError:
        items = ((f"line {number}", line) for number, line in enumerate(text.splitlines()))
    for part, value in items:
        yield f"output {part}", {"value": steady(value, out)}


def steady(value: Any, out: Path) -> Any:
    """`value` without what changes from run to run: times, versions, paths."""
    if isinstance(value, dict):
        return {steady(key, out): steady(item, out) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [steady(item, out) for item in value]
    if isinstance(value, str):
        text = value.replace(str(out), "OUT").replace(f"…/{out.name}", "OUT").replace(str(ROOT), "ROOT")
        return _TIMES.sub("TIME", _VERSION.sub(r"\1\2VERSION", text))
    return value


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(key), item) for key, item in value.items() if key not in VOLATILE)
    else:
        yield from ((str(place), item) for place, item in enumerate(value if isinstance(value, list) else [value]))


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    yield from _items(json.loads(path.read_text(encoding="utf-8")))


def _jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        yield f"line {number}", json.loads(line)


def _text(path: Path) -> Iterator[tuple[str, Any]]:
    yield "", path.read_text(encoding="utf-8")


def _workbook(path: Path) -> Iterator[tuple[str, Any]]:
    for sheet in openpyxl.load_workbook(path).worksheets:
        yield f"sheet {sheet.title}", [[str(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]


def _page(path: Path) -> Iterator[tuple[str, Any]]:
    """The text that a reader sees, by section."""
    page = _Sections()
    page.feed(path.read_text(encoding="utf-8"))
    for number, (heading, texts) in enumerate(page.sections):
        yield f"section {number} {heading}", texts


class _Sections(HTMLParser):
    """Collects text below each heading of level 1 to 3; scripts, styles and drawings are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[tuple[str, list[str]]] = [("", [])]
        self._hidden = 0
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _SKIPPED_TAGS
        if tag in {"h1", "h2", "h3"}:
            self._heading = True
            self.sections.append(("", []))

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _SKIPPED_TAGS
        if tag in {"h1", "h2", "h3"}:
            self._heading = False

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if not text or self._hidden:
            return
        heading, texts = self.sections[-1]
        self.sections[-1] = (f"{heading} {text}".strip(), texts) if self._heading else (heading, [*texts, text])


_READERS: Mapping[str, Callable[[Path], Iterator[tuple[str, Any]]]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".xlsx": _workbook,
    ".html": _page,
}
