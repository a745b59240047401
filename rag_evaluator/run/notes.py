"""Notes that the processes of a run leave for `status`: who works, since when, how it ended."""

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import psutil

SAME_START = 2.0  # seconds by which two readings of a process's start may differ
LAST = 1e11  # seconds since the epoch: no calendar goes on for ever


def now() -> float:
    """Seconds since the epoch, to the millisecond."""
    return round(time.time(), 3)


@dataclass(frozen=True)
class WorkerNote:
    """What a process says of itself in `workers/<process>.json`.

    Attributes:
        worker: its number, `3/16`.
        began: seconds since the epoch; `at`: when it wrote last.
        run: what the workers of one start share, see `workers.run_id`.
        ended: how it ended; None while it works.
        host, pid, started: the process; `started` in seconds since the epoch, as numbers of processes are used again.
        engine: what judges, and why so, for people.
    """

    worker: str
    began: float
    at: float
    run: str | None = None
    ended: str | None = None
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    started: float = field(default_factory=lambda: psutil.Process().create_time())
    engine: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, path: Path) -> "WorkerNote | None":
        """The note in a file; None where there is none or it cannot be understood."""
        try:
            data = json.loads(path.read_bytes())
            note = cls(**{part.name: data[part.name] for part in fields(cls)})
            times = (note.began, note.at, note.started)
            texts = (note.worker, note.host, note.run or "", note.ended or "")
            understood = (
                all(isinstance(time, int | float) and 0 <= time < LAST for time in times)
                and all(isinstance(text, str) for text in texts)
                and type(note.pid) is int
                and note.pid >= 0
                and isinstance(note.engine, dict)
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return note if understood else None

    @property
    def is_here(self) -> bool:
        """Whether it works, or worked, on this machine."""
        return self.host == socket.gethostname()

    @property
    def is_gone(self) -> bool:
        """Whether the process has certainly ended: it said so, or it was on this machine and is not there any more."""
        if self.ended is not None:
            return True
        if not self.is_here:
            return False
        try:
            return bool(abs(psutil.Process(self.pid).create_time() - self.started) > SAME_START)
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:  # somebody else's process: it lives
            return False
