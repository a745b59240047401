"""How a long work tells how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


def silent(done: int, total: int) -> None:
    """The progress where nobody asked for it."""
