"""The runs below a folder, and their files: a path that a browser sends never leads out of that folder."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.results.panel_names import is_panel

DEPTH = 4  # folders below the root in which runs are looked for
RESULTS = ("manifest.json", "summary.json", "scores.jsonl")  # one of them is there when a run has been written
REPORT = "report.html"
READ = (*RESULTS, "details.jsonl", "prompts.json", "reviews.jsonl", REPORT, "journal", "judges")  # what is shown


class NotThere(RagEvaluatorError):
    """No run has this path: a page that is not there (404)."""


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
        """The paths of all runs below the root, in order of their names; a run of a panel's judge is a part of it."""
        return [self.only] if self.only is not None else sorted(self._below(self.root, DEPTH))

    def find(self, path: str) -> Path:
        """The folder of a run. Raises `NotThere` for any path that is not one of a run below the root."""
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..") for part in parts) or "journal" in parts[1:]:
            raise NotThere(path)
        if self.only is not None and path != self.only and not path.startswith(f"{self.only}/judges/"):
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
    """Whether there is a journal of any task, or a panel."""
    journal = folder / "journal"
    return (journal / "manifest.json").is_file() or any(journal.glob("*.*/manifest.json")) or is_panel(folder)
