"""What a command leaves behind, as cells that can be compared: place -> value.

A place is a file and the keys that lead to a value, such as `summary.json faithfulness/mean`; what a command prints is
`output`. Times, versions and paths are not part of a cell: they change without a change of code.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl

Cells = dict[str, Any]  # place -> text, number, true, false or null
VOLATILE = frozenset(
    "age_seconds at available batch_sizes cpu_seconds created date digest duration ended environment eta_seconds "
    "finished free free_main host ignored libraries machine modified peak_memory pid process rate "
    "seconds seen source started time times updated versions workers".split()
)
_WORDS = re.compile(  # places of sentences
    r"(\.html|\.xml) |^output$| instructions/|sentences/\d+$|^output checks/\d+/text$|"
    r"[ /](ci_warning|change|error|flags|meaning|next|no_reason|notes|outcome|reasons?|reasons_[ab]|rules|says|warning|"
    r"why)(/|$)"
)
_ANSWERS = "/response/"  # what the judge wrote is a figure
_VERSION = re.compile(
    r"\b(rag-evaluator|ragas|transformers|torch|rag_evaluator)([:= ]{1,2})\d+(\.\d+)+\S*?(?=[|\s,;)]|$)"
)
_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\S*)|\b\d+(\.\d+)? (s|seconds|min|MiB|GiB|GB)\b|\d\d:\d\d:\d\d"
)
_NO_RESULTS = {".npy", "", "written.json"}  # vectors of a corpus, its lock, times and digests of files
_SKIPPED_TAGS = {"script", "style", "svg"}


def is_words(place: str) -> bool:
    """Whether a cell is wording, not a figure."""
    return bool(_WORDS.search(place)) and _ANSWERS not in place


def cells_of_path(path: Path, name: str, hidden: Mapping[str, str]) -> Cells:
    """Return the cells of a file, by its suffix, or of all result files below a folder, the journal left out.

    What is not there has none.

    Args:
        hidden: text, such as a path -> what takes its place.
    """
    if path.is_dir():
        inner = (child for child in sorted(path.rglob("*")) if "journal" not in child.parts and child.is_file())
        children = [child for child in inner if not {child.suffix, child.name} & _NO_RESULTS]
        return {
            place: value
            for child in children
            for place, value in cells_of_path(child, str(child.relative_to(path)), hidden).items()
        }
    if not path.exists():
        return {}
    content = _READERS.get(path.suffix, Path.read_text)(path)
    return dict(_leaves(steady(content, hidden), f"{name} "))


def cells_of_output(text: str, hidden: Mapping[str, str]) -> Cells:
    """What a command printed: by key where it is JSON, else one text."""
    try:
        return dict(_leaves(steady(json.loads(text), hidden), "output "))
    except json.JSONDecodeError:
        return {"output": steady(text, hidden)}


def steady(value: Any, hidden: Mapping[str, str]) -> Any:
    """`value` without what changes from run to run: times, versions, paths."""
    if isinstance(value, dict):
        return {steady(key, hidden): steady(item, hidden) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [steady(item, hidden) for item in value]
    if isinstance(value, str):
        for path, name in hidden.items():
            value = value.replace(path, name)
        return _TIMES.sub("TIME", _VERSION.sub(r"\1\2VERSION", value))
    return value


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Each value that is no list and no object, with its place; an empty one is a value."""
    if value and isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, f"{place}{'' if place.endswith(' ') else '/'}{key}")
    else:
        yield place, value


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _jsonl(path: Path) -> Any:
    """Number of the line, and its metric where it has one -> the object."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {f"{number} {line.get('metric', '')}".strip(): line for number, line in enumerate(lines)}


def _table(path: Path) -> Any:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def _workbook(path: Path) -> Any:
    return {
        sheet.title: [[str(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
        for sheet in openpyxl.load_workbook(path).worksheets
    }


def _page(path: Path) -> Any:
    """The text that a reader sees, by section."""
    page = _Sections()
    page.feed(path.read_text(encoding="utf-8"))
    return {f"{number} {heading}": "\n".join(texts) for number, (heading, texts) in enumerate(page.sections)}


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


_READERS: Mapping[str, Callable[[Path], Any]] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _table,
    ".xlsx": _workbook,
    ".html": _page,
}
