"""`OnDisk`: items that are kept in a file, so that memory does not grow with their number."""

import pickle
import tempfile
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import TypeVar, overload

from rag_evaluator.errors import DatasetError

T = TypeVar("T")
IN_MEMORY = 1 << 18  # bytes that are not worth a file


class Indexed(Sequence[T]):
    """Items that are found by their place; a slice of them is a list."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        place = range(len(self))[index]
        return self.at(place) if isinstance(place, int) else list(map(self.at, place))

    @abstractmethod
    def at(self, place: int) -> T:
        """Return the item at a place, from 0."""


class OnDisk(Indexed[T]):
    """Items in a temporary file without a name, read whenever they are used, by several threads at once, too.

    Raises `DatasetError` if the folder for temporary files (`TMPDIR`) is full.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  # it lives as long as the items
        self._places = array("Q", [0])
        self._lock = Lock()
        for data in map(pickle.dumps, items):
            try:
                self._file.write(data)
            except OSError as error:
                advice = f"Rows are kept in {tempfile.gettempdir()}; set TMPDIR to a folder with more space."
                raise DatasetError(f"the rows cannot be kept: {error}. {advice}") from error
            self._places.append(self._places[-1] + len(data))

    def __len__(self) -> int:
        return len(self._places) - 1

    def at(self, place: int) -> T:
        with self._lock:  # a page of the app asks for the same rows in several threads
            self._file.seek(self._places[place])
            data = self._file.read(self._places[place + 1] - self._places[place])
        item: T = pickle.loads(data)
        return item
