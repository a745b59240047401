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


class Repeated(list[Any]):
    """The values of a column that the row has several times. Any: whatever the user's columns hold."""
