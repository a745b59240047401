"""Which of several workers this process is, read from its environment, and the notes that workers write."""

import os
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import psutil
from pydantic import Field, NonNegativeInt, TypeAdapter, ValidationError

from rag_evaluator.errors import ConfigError

SAME_START = 2.0  # seconds by which two readings of a process's start may differ
Moment = Annotated[float, Field(ge=0, lt=1e11)]  # seconds since the epoch
DEVICES = "CUDA_VISIBLE_DEVICES"


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
    began: Moment
    at: Moment
    run: str | None = None
    ended: str | None = None
    host: str = field(default_factory=socket.gethostname)
    pid: NonNegativeInt = field(default_factory=os.getpid)
    started: Moment = field(default_factory=lambda: psutil.Process().create_time())
    engine: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "WorkerNote | None":
        """The note in a file; None where there is none or it cannot be understood."""
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes(), strict=True)
        except (OSError, ValidationError):
            return None

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


@dataclass(frozen=True)
class Worker:
    """Worker `number` of `count`, counted from 0; it begins with the chunks k where k mod count = number.

    A number beyond the count (some elements of an array run again) has no chunks of its own and only helps.
    """

    number: int = 0
    count: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


ALONE = Worker()


def parse_worker(text: str) -> Worker:
    """`3/16` as the fourth of sixteen. Raises `ConfigError`."""
    match = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if match is None or not int(match[1]) < int(match[2]):
        raise ConfigError(f"--worker {text}: expected NUMBER/COUNT, numbers from 0, for instance 0/4 to 3/4 for four.")
    return Worker(int(match[1]), int(match[2]))


def find_worker() -> Worker:
    """The worker of this process: element of a Slurm array x process of srun.

    Not `SLURM_NTASKS`: outside of srun it tells how many tasks there could be.
    """
    number = 0
    count = 1
    if "SLURM_PROCID" in os.environ and "SLURM_STEP_NUM_TASKS" in os.environ:
        number = _number("SLURM_PROCID")
        count = _number("SLURM_STEP_NUM_TASKS")
    if "SLURM_ARRAY_TASK_ID" in os.environ:
        elements = _number("SLURM_ARRAY_TASK_COUNT", 1)
        step = _number("SLURM_ARRAY_TASK_STEP", 1) or 1
        first = _number("SLURM_ARRAY_TASK_MIN", 0)
        number += (_number("SLURM_ARRAY_TASK_ID") - first) // step * count
        count *= elements
    return Worker(number, max(count, 1))


def run_id() -> str | None:
    """What the workers of one start share: the number of their job. None for processes started by hand."""
    names = ("SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID")
    return next((f"{name}={os.environ[name]}" for name in names if name in os.environ), None)


def is_restart() -> bool:
    """Whether Slurm runs this job again after a node was lost, it was preempted or requeued."""
    return _number("SLURM_RESTART_COUNT", 0) > 0


def process_name(worker: Worker) -> str:
    """A file name that no other process has at the same time: worker, host, job, restart, process."""
    parts = (
        f"w{worker.number}of{worker.count}",
        re.sub(r"[^\w-]", "-", socket.gethostname()),
        os.environ.get("SLURM_JOB_ID", "0"),
        os.environ.get("SLURM_RESTART_COUNT", "0"),
        str(os.getpid()),
    )
    return ".".join(parts)


def share_devices(worker: Worker = ALONE) -> str | None:
    """The part of the visible GPUs that is this process's, as a value for `CUDA_VISIBLE_DEVICES`; None: leave it.

    Several processes on a node share its GPUs evenly. Slurm may have given each its own already.

    Args:
        worker: started by hand. It cannot know how many others are on its host, so it takes an even part by its number;
            one GPU that was chosen for it stays.
    """
    tasks = re.match(r"\d+", os.environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    local = _number("SLURM_LOCALID", 0)
    size = int(tasks[0]) if tasks else 1
    if DEVICES in os.environ:
        devices = [device for device in os.environ[DEVICES].split(",") if device]
    else:
        devices = [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]
    if size < 2 and worker.count > 1 and len(devices) > (DEVICES in os.environ):
        share = max(1, len(devices) // worker.count)
        start = worker.number % (len(devices) // share) * share
        return ",".join(devices[start : start + share])
    if size < 2 or len(devices) < size or local >= size:
        return None
    return ",".join(devices[local * len(devices) // size : (local + 1) * len(devices) // size])


def _number(name: str, default: int | None = None) -> int:
    text = os.environ.get(name, "")
    if not text and default is not None:
        return default
    if not text.isdigit():
        raise ConfigError(f"the environment variable {name} is {text!r}: expected a number. Correct or unset it.")
    return int(text)
