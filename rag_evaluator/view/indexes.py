"""`Indexes`: the index of each table that somebody looks at, made anew when its rows have changed."""

import tempfile
from itertools import count
from pathlib import Path
from threading import Lock

from rag_evaluator.view.index import RowIndex, Tabled
from rag_evaluator.view.state import Stamp, stamp_of

KEPT = 4  # an index holds texts of its rows: about half the disk space of scores.jsonl
ROWS = ("scores.jsonl", "summary.json", "manifest.json")  # files that an index depends on
Key = tuple[tuple[Path, ...], str | None]


class Indexes:
    """Indexes in a temporary folder of this process."""

    def __init__(self) -> None:
        self._lock, self._numbers = Lock(), count()
        self._folder = tempfile.TemporaryDirectory(prefix="rag-evaluator-view-", ignore_cleanup_errors=True)
        self._known: dict[Key, tuple[list[Stamp], RowIndex]] = {}

    def of(self, tabled: Tabled) -> RowIndex:
        """The index of a table as it is now; it may be in the making. Raises `ResultsError`."""
        key = tuple(run.folder for run in tabled.runs), tabled.on
        stamps = [stamp_of(run.folder, ROWS) for run in tabled.runs]
        with self._lock:
            before = self._known.pop(key, None)
            if before is not None and before[0] != stamps:
                before[1].close()
                before = None
            index = self._begin(tabled) if before is None else before[1]
            self._known[key] = stamps, index
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

    def _begin(self, tabled: Tabled) -> RowIndex:
        index = RowIndex(tabled, Path(self._folder.name) / f"{next(self._numbers)}.sqlite")
        index.start()
        return index
