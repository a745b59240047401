"""`Indexes`: the index of each run that somebody looks at, made anew when its rows have changed."""

import tempfile
from itertools import count
from pathlib import Path
from threading import Lock

from rag_evaluator.view.index import RowIndex
from rag_evaluator.view.state import AppState, Stamp, stamp_of

KEPT = 4  # an index holds the texts of its run: as much disk space as scores.jsonl


class Indexes:
    """Indexes in a temporary folder of this process.

    Args:
        state: gives the runs.
    """

    def __init__(self, state: AppState) -> None:
        self._state, self._lock, self._numbers = state, Lock(), count()
        self._folder = tempfile.TemporaryDirectory(prefix="rag-evaluator-view-", ignore_cleanup_errors=True)
        self._known: dict[Path, tuple[Stamp, RowIndex]] = {}

    def of(self, path: str) -> RowIndex:
        """The index of a run as it is now; it may be in the making. Raises `NotThere`, `ResultsError`."""
        run = self._state.run(path)
        stamp = stamp_of(run.folder, ("scores.jsonl", "summary.json", "manifest.json"))
        with self._lock:
            before = self._known.pop(run.folder, None)
            if before is not None and before[0] != stamp:
                before[1].close()
                before = None
            index = self._begin(run.folder, path) if before is None else before[1]
            self._known[run.folder] = stamp, index
            while len(self._known) > KEPT:
                self._known.pop(next(iter(self._known)))[1].close()
        return index

    def close(self) -> None:
        """Remove all of them."""
        with self._lock:
            for _, index in self._known.values():
                index.close()
            self._known.clear()
            self._folder.cleanup()

    def _begin(self, folder: Path, path: str) -> RowIndex:
        index = RowIndex(self._state.run(path), Path(self._folder.name) / f"{next(self._numbers)}.sqlite")
        index.start()
        return index
