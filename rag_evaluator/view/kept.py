"""`Kept`: what takes long to make, kept while the files that it is made from stay as they are."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The values asked for last; one is made at a time.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._values: OrderedDict[Hashable, tuple[Hashable, Value]] = OrderedDict()

    def of(self, key: Hashable, stamp: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, made anew where the stamp is another one."""
        with self._lock:
            known = self._values.pop(key, None)
            value = known[1] if known is not None and known[0] == stamp else make()
            self._values[key] = stamp, value
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return value
