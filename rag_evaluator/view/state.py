"""What all pages of the app share."""

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.view.folders import Folders

KEPT = 8  # runs whose files are known; the offsets of a million rows take 8 MB
Stamp = tuple[tuple[int, int, int], ...]  # number, size and time of change of each file
FILES = ("scores.jsonl", "details.jsonl", "summary.json", "manifest.json", "prompts.json")


@dataclass(frozen=True)
class AppState:
    """The folders that are shown, and to whom.

    Attributes:
        folders: the runs; `folders.find(path)` gives the folder of one, or raises `NotThere`.
        review: whether rows may be reviewed here.
        who: the name under which reviews are written; None asks the browser for it.
    """

    folders: Folders
    review: bool = False
    who: str | None = None
    _open: "OrderedDict[Path, tuple[Stamp, RunFiles]]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def root(self) -> Path:
        """The folder whose runs are shown."""
        return self.folders.root

    def run(self, path: str) -> RunFiles:
        """The files of a run, read anew when they have changed. Raises `NotThere`."""
        folder = self.folders.find(path)
        stamp = stamp_of(folder)
        with self._lock:
            known = self._open.pop(folder, None)
            run = known[1] if known is not None and known[0] == stamp else RunFiles(folder)
            self._open[folder] = stamp, run
            while len(self._open) > KEPT:
                self._open.popitem(last=False)
        return run


def stamp_of(folder: Path, files: tuple[str, ...] = FILES) -> Stamp:
    """By what changed files of a run are known."""
    return tuple(_stamp(folder / name) for name in files)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (-1, -1, -1)
    return found.st_ino, found.st_size, found.st_mtime_ns
