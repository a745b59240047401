"""What a call from Python shows of its progress: a callback, a bar in notebooks, lines in a log of level INFO."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from markupsafe import escape

from rag_evaluator.progress import ACTIVITY, Progress, State, automatic
from rag_evaluator.progress.lines import Lines, line_of
from rag_evaluator.progress.watch import CallbackDisplay, Display, Displays, Watch

logger = logging.getLogger("rag_evaluator.progress")


@contextmanager
def shown(progress: Progress, noun: str) -> Iterator[Progress]:
    """The counts of a call, for its callback and whoever shows more of it.

    Args:
        progress: as the caller gave it; one with a method `show(state)` is called from a thread of its own, too.
        noun: what is counted.
    """
    with ExitStack() as stack:
        counted = stack.enter_context(ACTIVITY.counted(noun))
        if displays := _displays(progress):
            stack.enter_context(Watch(Displays(*displays)))

        def at(done: int, total: int) -> None:
            counted(done, total)
            progress(done, total)

        yield at


def _displays(progress: Progress) -> list[Display]:
    displays: list[Display] = []
    if progress is automatic and in_notebook():
        displays.append(NotebookBar())
    if callable(show := getattr(progress, "show", None)):
        displays.append(CallbackDisplay(show))
    if progress is automatic and logger.isEnabledFor(logging.INFO):
        displays.append(Lines(lambda line: logger.info("%s", line)))
    return displays


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar below the cell that is running.

    It is HTML that is exchanged in place: bars made of widgets need ipywidgets, in the notebook and in what shows it.
    """

    def __init__(self) -> None:
        from IPython.display import display

        self.display: Any = display  # IPython has no types
        self.handle: Any = None
        self.last, self.began = "", time.monotonic()

    def show(self, state: State) -> None:
        if line_of(state) == self.last:
            return
        self.last = line_of(state)
        if self.handle is None:
            self.handle = self.display(_BarState(state), display_id=True)
        else:
            self.handle.update(_BarState(state))

    def close(self) -> None:
        """Leave the figures, without a bar."""
        if self.handle is not None:
            state = replace(ACTIVITY.state(), elapsed=time.monotonic() - self.began)
            self.handle.update(_BarState(state, with_bar=False))


class _BarState:
    """A state as a notebook shows it."""

    def __init__(self, state: State, with_bar: bool = True) -> None:
        self.line = line_of(state)
        self.bar = _bar(state) if with_bar else ""

    def __repr__(self) -> str:
        return self.line

    def _repr_html_(self) -> str:
        return f"<div>{self.bar}<small>{escape(self.line)}</small></div>"


def _bar(state: State) -> str:
    done, total = state.phase_steps if state.phase else (state.done, state.total or 0)
    known = f' value="{done}" max="{total}"' if total else ""
    return f"<progress{known}></progress> "
