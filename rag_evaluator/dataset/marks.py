"""Values that are no longer what the input had; the reason is reported where a metric needs them, and nowhere else."""

from typing import Any


class Unwritable(str):
    """Text in place of a value that JSON cannot hold.

    reason: what it was: 'a value of type bytes, which JSON cannot hold'.
    """

    reason: str

    def __new__(cls, text: str, reason: str) -> "Unwritable":
        made = super().__new__(cls, text)
        made.reason = reason
        return made

    def __reduce__(self) -> tuple[type["Unwritable"], tuple[str, str]]:  # for copies on disk
        return Unwritable, (str(self), self.reason)


class Repeated(list[Any]):
    """The values of a column that the row has several times. Any: whatever the user's columns hold."""


class Differing(list[Any]):
    """The values of a column in the lines of one question, which should be equal where a metric needs the column.

    reason: which lines differ, and what to do.
    """

    reason: str = ""
