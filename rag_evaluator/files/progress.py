"""How a long work tells how far it is: counts for a callback, and for whoever shows more what it is doing just now.

`watch` shows it from a thread of its own, `lines` says it in a line of text.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

logger = logging.getLogger(__name__)
Progress = Callable[[int, int], None]
"""Called with (done, total). One that has a method `show(state)`, too, gets a `State` some times a second."""

CHECKING = "checking rows, prompts and models"
LIBRARIES = "loading libraries"  # ragas, torch: seconds


def silent(done: int, total: int) -> None:
    """The progress of those who want none."""


def automatic(done: int, total: int) -> None:
    """The progress where nobody asked for one: a bar in a notebook, else nothing."""


@dataclass
class Phase:
    """What is done before, between and after the counted work, such as loading a model.

    Attributes:
        since: when it began, on the monotonic clock, seconds.
        done, total: of its own steps; total 0: not known.
    """

    text: str
    since: float
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class State:
    """What this process is doing.

    Attributes:
        phase: what is done just now beside the counted work; empty: the counted work itself.
        phase_seconds: how long already.
        phase_steps: (done, total) of its own steps; total 0: not known.
        noun: what is counted: scores, questions; empty: nothing is counted yet.
        done, total: cells made by anybody, and all; total None: not known yet.
        missing: cells that this process could not make.
        tokens: that the judge has read and written in this process, as far as its engine counts them.
        answers: of the judge, as far as it is a model of ours.
        rate: cells a second in the last minutes; None: not known yet.
        seconds_left: None: not known.
        elapsed: seconds since the beginning.
    """

    phase: str = ""
    phase_seconds: float = 0.0
    phase_steps: tuple[int, int] = (0, 0)
    noun: str = ""
    done: int = 0
    total: int | None = None
    missing: int = 0
    tokens: int = 0
    answers: int = 0
    rate: float | None = None
    seconds_left: float | None = None
    elapsed: float = 0.0


class Activity:
    """What the work in this process tells of itself; read by other threads at any time.

    Attributes:
        missing, tokens, answers: see `State`; whoever makes one adds it.
    """

    def __init__(self) -> None:
        self._phases: list[Phase] = []
        self._counts: tuple[str, int, int | None] = ("", 0, None)
        self.missing = self.tokens = self.answers = 0

    @contextmanager
    def counted(self, noun: str) -> Iterator[Progress]:
        """Cells of this name are counted inside, by calls with (done, total)."""
        before = self._counts
        if not before[0]:
            self.missing = self.tokens = self.answers = 0
        self._counts = (noun, 0, None)

        def at(done: int, total: int) -> None:
            self._counts = (noun, done, total)

        try:
            yield at
        finally:
            self._counts = before

    @contextmanager
    def phase(self, text: str) -> Iterator[Phase]:
        """Something that takes long is done inside; phases may be inside each other."""
        logger.info("%s", text)
        phase = Phase(text, time.monotonic())
        self._phases.append(phase)
        try:
            yield phase
        finally:
            self._phases.remove(phase)

    def step(self, done: int, total: int) -> None:
        """How far the innermost phase is, if there is one."""
        if self._phases:
            phase = self._phases[-1]
            phase.done, phase.total = done, total

    def state(self) -> State:
        """At this moment, without what only time can tell: rate, time left, elapsed time."""
        now, (noun, done, total) = time.monotonic(), self._counts
        [phase] = self._phases[-1:] or [Phase("", now)]
        steps = (phase.done, phase.total)
        return State(phase.text, now - phase.since, steps, noun, done, total, self.missing, self.tokens, self.answers)


ACTIVITY = Activity()
"""That of this process."""


def duration(seconds: float) -> str:
    """`1 d 03:20:00`, or without the day."""
    days, rest = divmod(int(seconds), 86_400)
    hours, rest = divmod(rest, 3600)
    clock = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock
