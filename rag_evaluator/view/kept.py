"""`Kept`: what takes long to make, kept while the files that it is made from stay as they are."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass
class _Place(Generic[Value]):
    """Where a value is; the lock is held while it is made."""

    lock: Lock = field(default_factory=Lock)
    known: tuple[Hashable, Value] | None = None


class Kept(Generic[Value]):
    """The values asked for last. A value is made once, however many ask for it; others are made meanwhile.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._places: OrderedDict[Hashable, _Place[Value]] = OrderedDict()

    def of(self, key: Hashable, stamp: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made anew where the stamp is another one."""
        with self._lock:
            place = self._places.pop(key, None) or _Place()
            self._places[key] = place
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.lock:
            if place.known is None or place.known[0] != stamp:
                place.known = stamp, make()
            return place.known[1]
