"""What all pages of the app share: the runs below a folder, their files, and what is kept while these stay as they are.

A path that a browser sends never leads out of that folder.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from rag_evaluator.config import all_features
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.results import DETAILS, SCORES, TIMES, Comparison, Run

Value = TypeVar("Value")
DEPTH = 4  # folders below the root in which runs are looked for
RESULTS = ("manifest.json", "summary.json", SCORES)  # one of them is there when a run has been written
READ = (*RESULTS, DETAILS, TIMES, "prompts.json", "reviews.jsonl", "journal")  # what is shown
MOST_OPEN = 8  # runs whose files are known; the offsets of a million rows take 8 MB
Stamp = tuple[tuple[int, int, int], ...]  # number, size and time of change of each file
FILES = (SCORES, DETAILS, "summary.json", "manifest.json", "prompts.json", TIMES)  # that pages are made from


class NotThere(RagEvaluatorError):
    """No run has this path: a page that is not there (404)."""


class FileCache(Generic[Value]):
    """The values asked for last. One is made at a time, and once, however many ask for it.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._known: dict[Hashable, tuple[Hashable, Value]] = {}  # key -> stamp and value, the last one at the end

    def of(self, key: Hashable, stamp: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made anew where the stamp is another one."""
        with self._lock:
            known = self._known.pop(key, None)
            self._known[key] = known if known is not None and known[0] == stamp else (stamp, make())
            while len(self._known) > self._most:
                del self._known[next(iter(self._known))]
            return self._known[key][1]


@dataclass(frozen=True)
class Folders:
    """The results folders that are shown.

    Attributes:
        root: the folder, without links.
        only: the path of the one run that is shown; None shows all.
    """

    root: Path
    only: str | None = None

    def paths(self) -> list[str]:
        """The paths of all runs below the root, in order of their names."""
        return [self.only] if self.only is not None else sorted(self._below(self.root, DEPTH))

    def find(self, path: str) -> Path:
        """The folder of a run. Raises `NotThere` for any path that is not one of a run below the root."""
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts) or "journal" in parts[1:]:
            raise NotThere(path)
        if self.only is not None and path != self.only:
            raise NotThere(path)
        folder = self.root.joinpath(*parts)
        try:
            if not is_run(folder) or any(self._leads_outside(folder / name) for name in (".", *READ)):
                raise NotThere(path)
        except (OSError, ValueError):  # a name that is too long, or no name at all
            raise NotThere(path) from None
        return folder

    def _leads_outside(self, path: Path) -> bool:
        return not path.resolve().is_relative_to(self.root)

    def _below(self, folder: Path, depth: int) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:  # not for us to read
            return
        for entry in entries:
            place = Path(entry.path)
            if entry.name.startswith(".") or not entry.is_dir() or self._leads_outside(place):
                continue
            if is_run(place):
                yield place.relative_to(self.root).as_posix()
            elif depth > 1 and not entry.is_symlink():
                yield from self._below(place, depth - 1)


def open_folders(results: Path) -> Folders:
    """The runs below a folder, or the run that it is. Raises `ResultsError` where there is no folder."""
    if not results.is_dir():
        raise ResultsError(f"{results}: no such folder. Give the folder of your results, output_dir, or that of a run.")
    root = results.resolve()
    return Folders(root.parent, root.name) if is_run(root) and root.name else Folders(root)


def is_run(folder: Path) -> bool:
    """Whether a run has been written, or has begun, in a folder."""
    return any((folder / name).is_file() for name in RESULTS) or has_begun(folder)


def has_begun(folder: Path) -> bool:
    """Whether there is a journal of any task."""
    journal = folder / "journal"
    return (journal / "manifest.json").is_file() or any(journal.glob("*.*/manifest.json"))


@dataclass(frozen=True)
class AppState:
    """The folders that are shown, and to whom.

    Attributes:
        folders: the runs; `folders.find(path)` gives the folder of one, or raises `NotThere`.
        who: the name of the person who reviews; None: nothing can be changed.
        has_labels: whether `certify`, which draws rows for labels and reads them, is there.
    """

    folders: Folders
    who: str | None = None
    has_labels: bool = "certify" in all_features()
    _runs: FileCache[Run] = field(default_factory=lambda: FileCache(MOST_OPEN))
    _comparisons: FileCache[Comparison] = field(default_factory=lambda: FileCache(4))

    def run(self, path: str) -> Run:
        """The files of a run, read anew when they have changed. Raises `NotThere`."""
        folder = self.folders.find(path)
        return self._runs.of(folder, stamp_of(folder), lambda: Run(folder))

    def comparison(self, paths: Sequence[str]) -> Comparison:
        """Runs compared with the first of them. Raises `NotThere`, and `RagEvaluatorError` if they do not compare."""
        from rag_evaluator.comparison import compare

        folders = tuple(map(self.folders.find, paths))
        return self._comparisons.of(folders, tuple(map(stamp_of, folders)), lambda: compare(*folders))


def stamp_of(folder: Path) -> Stamp:
    """By what changed files of a run are known."""
    return tuple(file_stamp(folder / name) for name in FILES)


def file_stamp(path: Path) -> tuple[int, int, int]:
    """By what a changed file is known; a file that is not there has a stamp, too."""
    try:
        status = path.stat()
    except OSError:
        return (-1, -1, -1)
    return status.st_ino, status.st_size, status.st_mtime_ns
