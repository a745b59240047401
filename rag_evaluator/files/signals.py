"""SIGTERM, SIGINT and SIGUSR1: the first asks the run to end soon, a second one ends it at once."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGUSR1") if hasattr(signal, name))  # Windows
GRACE = 20.0  # seconds; Slurm waits 30 between SIGTERM and SIGKILL
ECHO = 1.0  # seconds in which a signal counts as the same: launchers pass on what the terminal sent already


class StopSignal(KeyboardInterrupt):
    """Raised by the first signal where nothing is in flight: while models are loaded and files are written."""


class Stop:
    """Whether the run was asked to stop.

    Args:
        grace: seconds that scores in the making get to be finished.

    Used as a context on the main thread it listens to signals; otherwise it is never asked.

    Attributes:
        asked: name of the signal, None before it came.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self.grace = grace
        self.asked: str | None = None
        self._since = 0.0
        self._patient = False
        self._before: dict[int, Any] = {}
        self.heard: Callable[[str], None] = lambda name: None  # called with a first signal that is waited for
        self.at_once: Callable[[str], None] = lambda how: None  # called before a second signal ends the process

    @property
    def overdue(self) -> bool:
        """Whether the grace time is over."""
        return self.asked is not None and time.monotonic() - self._since >= self.grace

    def __enter__(self) -> "Stop":
        self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Inside, the first signal only sets `asked`; raises `StopSignal` if it has come already."""
        if self.asked:
            raise StopSignal(self.asked)
        self._patient = True
        try:
            yield
        finally:
            self._patient = False

    def _handle(self, number: int, frame: object) -> None:
        if self.asked is None:
            self.asked = signal.Signals(number).name
            self._since = time.monotonic()
            if not self._patient:
                raise StopSignal(self.asked)
            with suppress(Exception):  # nothing may keep what is in progress from being finished
                self.heard(self.asked)
        elif time.monotonic() - self._since > ECHO:
            with suppress(Exception):  # nothing may keep the process from ending
                self.at_once(f"stopped at once by {signal.Signals(number).name}")
            os.write(2, b"stopped at once by a second signal: what was scored is kept.\n")
            os._exit(128 + number)
