"""What a command shows of its progress: a bar on a terminal, else a line now and then on standard error."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Column

from rag_evaluator.config import Command
from rag_evaluator.files import State, Watch, duration, figures_of, printable, write_to

SAFE = "Ctrl-C is safe; the same command continues"
FIRST = 0.7  # seconds: a command that takes less shows no bar
TICK = 0.25  # between two looks of a bar
_watches: list[Watch] = []


@contextmanager
def watching(command: Command) -> Iterator[None]:
    """Show the progress of a command while it lasts."""
    is_continued = command.stoppable or command.continued
    if not is_continued and not command.long:
        yield
        return
    watch = _watch(is_continued)
    _watches.append(watch)
    try:
        with watch:
            yield
    finally:
        _watches.remove(watch)


def hide_bar() -> None:
    """Take the bar away before something is printed; it comes back where work goes on."""
    for watch in _watches:
        watch.close()


def end_watching() -> None:
    """Show nothing any more: the process ends."""
    for watch in _watches:
        watch.end()


def _watch(is_continued: bool) -> Watch:
    stream = sys.stderr
    if stream is not None and stream.isatty():
        bar = TerminalBar(is_continued)
        return Watch(bar.show, bar.close, first=TICK, apart=TICK)
    return Watch(write_to(stream))


class _Terminal(Console):
    """The cursor stays: whatever ends the process, the user has it."""

    def show_cursor(self, show: bool = True) -> bool:
        return False


class TerminalBar:
    """A bar on the terminal.

    Args:
        continued: whether the same command continues one that was stopped.
    """

    def __init__(self, continued: bool) -> None:
        self.console = _Terminal(stderr=True)
        self.make: Callable[[], Progress] = lambda: Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[figures]}", markup=False, table_column=Column(no_wrap=True)),
            console=self.console,
            auto_refresh=False,
            expand=True,  # the figures have their room, what is done has the rest
            transient=True,
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
        )
        self.hint = SAFE if continued else ""
        self.progress: Progress | None = None
        self.gone = False
        self._began = time.monotonic()
        self._lock = threading.RLock()

    def show(self, state: State) -> None:
        is_active = bool(state.phase or state.noun)
        if not is_active and (self.gone or time.monotonic() - self._began < FIRST):
            return
        with self._lock:
            if self.progress is None:
                self.progress = self.make()
                self.progress.add_task("", total=None, figures="")
            if self.hint and state.total is not None and state.done < state.total:
                self.console.print(self.hint, markup=False, highlight=False)
                self.hint = ""
            self.progress.update(
                self.progress.task_ids[0],
                description=printable(state.phase or state.noun or "working"),
                completed=state.done,
                total=None if state.phase else state.total,
                figures=", ".join([duration(state.elapsed), *figures_of(state)]),
            )
            self.progress.start()  # once; a line of nothing is never shown
            self.progress.refresh()

    def close(self) -> None:
        """Take the bar away; it comes back with the next phase, or the next cells."""
        with self._lock:
            self.gone = True
            if self.progress is not None:
                self.progress.stop()
                self.progress = None
