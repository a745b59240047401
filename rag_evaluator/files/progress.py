"""How a long work tells how far it is: counts for a callback, and for whoever shows more what it is doing just now.

`Watch` shows it from a thread of its own, as a line of text for log files (`write_to`) or otherwise.
"""

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

logger = logging.getLogger("rag_evaluator.progress")  # the name in the docs
Progress = Callable[[int, int], None]
"""Called with (done, total)."""

CHECKING = "checking rows, prompts and models"
WIDTH = 120  # characters of a line
FIRST = 2.0  # seconds: a command that takes less writes no line
ENOUGH = 4  # cells made, from which a rate is told: a slow judge makes the first ones alone
APART = 15.0  # seconds between two lines; imports may keep all threads waiting for some seconds more


def silent(done: int, total: int) -> None:
    """The progress of those who want none."""


def automatic(done: int, total: int) -> None:
    """The progress where nobody asked for one: lines on standard error."""


@dataclass(frozen=True)
class State:
    """What this process is doing.

    Attributes:
        phase: what is done just now beside the counted work; empty: the counted work itself.
        phase_seconds: how long already.
        noun: what is counted: scores, questions; empty: nothing is counted yet.
        done, total: cells made by anybody, and all; total None: not known yet.
        missing: cells that this process could not make.
        tokens: that the judge has read and written in this process, as far as its engine counts them.
        rate: cells a second since the last phase; None: not known yet, as fewer than `ENOUGH` are made.
        elapsed: seconds since the beginning.
    """

    phase: str = ""
    phase_seconds: float = 0.0
    noun: str = ""
    done: int = 0
    total: int | None = None
    missing: int = 0
    tokens: int = 0
    rate: float | None = None
    elapsed: float = 0.0


class Activity:
    """What the work in this process tells of itself; read by other threads at any time.

    Attributes:
        missing, tokens: see `State`; whoever makes one adds it.
    """

    def __init__(self) -> None:
        self._phases: list[tuple[str, float]] = []  # what is done beside the counted work, and since when
        self._counts: tuple[str, int, int | None] = ("", 0, None)
        self._since = (0.0, 0)  # when the last phase ended, and what was done by then: loading is no work
        self.missing = self.tokens = 0

    @contextmanager
    def counted(self, noun: str) -> Iterator[Progress]:
        """Cells of this name are counted inside, by calls with (done, total)."""
        before = self._counts
        if not before[0]:
            self.missing = self.tokens = 0
        self._counts = (noun, 0, None)
        self._since = (time.monotonic(), 0)

        def at(done: int, total: int) -> None:
            self._counts = (noun, done, total)

        try:
            yield at
        finally:
            self._counts = before

    @contextmanager
    def phase(self, text: str) -> Iterator[None]:
        """Something that takes long is done inside, such as loading a model; phases may be inside each other."""
        logger.info("%s", text)
        phase = (text, time.monotonic())
        self._phases.append(phase)
        try:
            yield
        finally:
            self._phases.remove(phase)
            self._since = (time.monotonic(), self._counts[1])

    def state(self, began: float = 0.0) -> State:
        """What is done at this moment; `began`: when the work did, on the monotonic clock."""
        now = time.monotonic()
        (noun, done, total) = self._counts
        (since, before) = self._since
        [(phase, at)] = self._phases[-1:] or [("", now)]
        is_known = done - before >= min(ENOUGH, (total or 2) / 2) and now > since and not phase
        rate = (done - before) / (now - since) if is_known else None
        return State(phase, now - at, noun, done, total, self.missing, self.tokens, rate, now - began)


ACTIVITY = Activity()
"""That of this process."""


def duration(seconds: float) -> str:
    """`1 d 03:20:00`, or without the day."""
    days, rest = divmod(int(seconds), 86_400)
    hours, rest = divmod(rest, 3600)
    clock = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock


def line_of(state: State) -> str:
    """`00:01:05 scores 120/960 (12 %), 3.4/s, 00:04:07 left, 2 missing, 51234 tokens`, without control characters."""
    clock = duration(state.elapsed)
    figures = figures_of(state)
    if figures:
        share = f" ({math.floor(100 * state.done / (state.total or 1))} %)" if state.total else ""
        figures[0] = f"{state.noun} {figures[0]}{share}"
    counts = ", ".join(figures)
    if counts and not state.phase:
        return shortened(f"{clock} {counts}", WIDTH)
    tail = f" (for {duration(state.phase_seconds)})" if state.phase else ""
    tail += f"; {counts}" if counts else ""
    return f"{clock} {shortened(state.phase or 'working', WIDTH - len(clock) - 1 - len(tail))}{tail}"


def figures_of(state: State) -> list[str]:
    """The counted work, during a phase without what changes only with it; none if nothing is counted yet."""
    if state.total is None:
        return []
    counts = f"{state.done}/{state.total}"
    missing = f"{state.missing} missing"
    if state.phase:
        return [counts, missing]
    parts = [
        counts,
        pace(state.rate) if state.rate else "",
        f"{duration((state.total - state.done) / state.rate)} left" if state.rate else "",
        missing,
        f"{state.tokens} tokens" if state.tokens else "",
    ]
    return list(filter(None, parts))


def pace(rate: float) -> str:
    """Cells a second, or a minute or an hour where they are few."""
    for seconds, unit in ((1, "s"), (60, "min")):
        if rate * seconds >= 1:
            return f"{rate * seconds:.1f}/{unit}"
    return f"{rate * 3600:.1f}/h"


def shortened(text: str, width: int) -> str:
    """A text as `printable` has it, its middle left out if it is too long."""
    text = printable(text)
    if len(text) <= width:
        return text
    start = (width - 3) // 2
    return f"{text[:start]}...{text[len(text) - (width - 3 - start) :]}"


def printable(text: str) -> str:
    """A text on one line; what a terminal would obey is as it is in Python."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def write_to(stream: TextIO | None) -> Callable[[State], None]:
    """What writes states as lines to a stream, at once; nothing where it is closed.

    The file is written without the stream's own lock: a thread that waits for a reader must not keep the process from
    ending.
    """

    def write(state: State) -> None:
        encoding = getattr(stream, "encoding", None) or sys.getdefaultencoding()
        text = shortened(line_of(state).encode(encoding, "backslashreplace").decode(encoding), WIDTH) + "\n"
        with suppress(OSError, ValueError, AttributeError):
            try:
                number = stream.fileno()  # type: ignore[union-attr]  # None where there is no standard error
            except OSError:  # a stream in memory
                stream.write(text)  # type: ignore[union-attr]
            else:
                os.write(number, text.encode(encoding))

    return write


class Watch:
    """Has the activity of this process shown; as a context it begins and ends with its block.

    Args:
        show: shows a state.
        close: takes away what is shown.
        first: seconds before it is shown first.
        apart: seconds between two times.

    Ending it waits for `show`, but not for long: the thread ends with the process, and nothing is shown afterwards.
    """

    def __init__(
        self,
        show: Callable[[State], None],
        close: Callable[[], None] = lambda: None,
        first: float = FIRST,
        apart: float = APART,
    ) -> None:
        self.show = show
        self.close = close
        self.first = first
        self.apart = apart
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Show nothing any more."""
        self._ended.set()
        if self._lock.acquire(timeout=1.0):
            self._lock.release()
        self.close()

    def _run(self) -> None:
        pause = self.first
        while not self._ended.wait(pause):
            pause = self.apart
            with self._lock:
                if self._ended.is_set():
                    return
                try:
                    self.show(ACTIVITY.state(self._began))
                except Exception:  # the work is worth more than what is shown of it
                    logger.debug("progress cannot be shown", exc_info=True)
                    return
