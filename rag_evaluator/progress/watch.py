"""Shows what this process is doing from a thread of its own, which comes to its turn whatever the others wait for."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from rag_evaluator.progress import ACTIVITY, Activity, State

TICK = 0.25  # seconds
WINDOW = 300.0  # seconds over which the rate is measured
logger = logging.getLogger(__name__)


class Display(Protocol):
    """What shows a state."""

    def show(self, state: State) -> None: ...

    def close(self) -> None: ...


class Watch:
    """Has a display show the activity of this process; as a context it begins and ends with its block.

    Args:
        tick: seconds between two looks.

    Ending it waits for a display that is at work, but not for long: the thread ends with the process, and nothing is
    shown afterwards.
    """

    def __init__(self, display: Display, tick: float = TICK, activity: Activity = ACTIVITY) -> None:
        self.display, self.tick, self.activity = display, tick, activity
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._began, self._pace = time.monotonic(), Pace()
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
        self.display.close()

    def state(self) -> State:
        """The activity with its rate, the time left and the time since the beginning."""
        now, state = time.monotonic(), self.activity.state()
        rate = self._pace.rate(now, state)
        left = None if not rate or state.total is None else (state.total - state.done) / rate
        return replace(state, rate=rate, seconds_left=left, elapsed=now - self._began)

    def _run(self) -> None:
        while not self._ended.wait(self.tick):
            with self._lock:
                if self._ended.is_set():
                    return
                try:
                    self.display.show(self.state())
                except Exception:  # the work is worth more than what is shown of it
                    logger.debug("progress cannot be shown", exc_info=True)
                    return


class Pace:
    """Cells a second in the last minutes. Time of loading is no time of work: with each phase it begins anew."""

    def __init__(self, window: float = WINDOW) -> None:
        self.window = window
        self._marks: deque[tuple[float, int]] = deque()

    def rate(self, now: float, state: State) -> float | None:
        """None where nothing has been done yet."""
        if state.phase or state.total is None:
            self._marks.clear()
            return None
        if not self._marks or self._marks[-1][1] != state.done:
            self._marks.append((now, state.done))
        while len(self._marks) > 2 and self._marks[1][0] <= now - self.window:
            self._marks.popleft()
        since, before = self._marks[0]
        return (state.done - before) / (now - since) if state.done > before and now > since else None


class Displays:
    """Displays beside each other."""

    def __init__(self, *displays: Display) -> None:
        self.displays = displays

    def show(self, state: State) -> None:
        for display in self.displays:
            display.show(state)

    def close(self) -> None:
        for display in self.displays:
            display.close()


class CallbackDisplay:
    """A display of somebody else's: an object with a method `show(state)`."""

    def __init__(self, show: Callable[[State], None]) -> None:
        self.show = show

    def close(self) -> None:
        """It is not ours to close."""
