"""When a run was finished and how long it took: in a file of its own, as all others are the same for the same input."""

import time
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

TIMES = "times.json"
MINUTE = 60


@dataclass(frozen=True)
class Times:
    """What `times.json` says; None: nobody knows.

    Attributes:
        finished: when the last rows were made, in seconds since the epoch.
        seconds: in which at least one worker made rows; loading of models does not count.
        tokens: that the judge read and wrote, as far as its engine counts them.
    """

    finished: float | None = None
    seconds: float | None = None
    tokens: int | None = None

    def words(self) -> list[str]:
        """`2026-11-29 06:43 UTC`, `12 min`, `51,234 tokens`: those that are known."""
        words = []
        if self.finished is not None:
            words.append(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.finished)))
        if self.seconds is not None:
            is_long = self.seconds >= 2 * MINUTE
            words.append(f"{self.seconds / MINUTE:,.0f} min" if is_long else f"{self.seconds:.0f} s")
        if self.tokens:
            words.append(f"{self.tokens:,} tokens")
        return words


def read_times(folder: Path) -> Times:
    """The times of a results folder; unknown where there is no such file, or it cannot be understood."""
    try:
        return TypeAdapter(Times).validate_json((folder / TIMES).read_bytes())
    except (OSError, ValidationError):
        return Times()
