"""Which of several workers this process is, read from its environment, and the notes that workers write ."""

import json
import os
import re
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from rag_evaluator.errors import ConfigError

if TYPE_CHECKING:
    from filelock import FileLock

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


DEVICES = "CUDA_VISIBLE_DEVICES"


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


def find_worker(environment: Mapping[str, str] = os.environ) -> Worker:
    """The worker of this process: element of a Slurm array x process of torchrun, accelerate or srun.

    Not `SLURM_NTASKS`: outside of srun it tells how many tasks there could be.
    """
    number, count = 0, 1
    if "RANK" in environment and "WORLD_SIZE" in environment:
        number, count = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
    elif "SLURM_PROCID" in environment and "SLURM_STEP_NUM_TASKS" in environment:
        number, count = _number(environment, "SLURM_PROCID"), _number(environment, "SLURM_STEP_NUM_TASKS")
    if "SLURM_ARRAY_TASK_ID" in environment:
        elements = _number(environment, "SLURM_ARRAY_TASK_COUNT", 1)
        step = _number(environment, "SLURM_ARRAY_TASK_STEP", 1) or 1
        first = _number(environment, "SLURM_ARRAY_TASK_MIN", 0)
        number += (_number(environment, "SLURM_ARRAY_TASK_ID") - first) // step * count
        count *= elements
    return Worker(number, max(count, 1))


def run_id(environment: Mapping[str, str] = os.environ) -> str | None:
    """What the workers of one start share: the number of their job. None for processes started by hand."""
    for name in ("SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"):
        if environment.get(name, "none") != "none":
            return f"{name}={environment[name]}"
    return None


def is_restart(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether Slurm runs this job again after a node was lost, it was preempted or requeued."""
    return _number(environment, "SLURM_RESTART_COUNT", 0) > 0


def process_name(worker: Worker, environment: Mapping[str, str] = os.environ) -> str:
    """A file name that no other process has at the same time: worker, host, job, restart, process."""
    parts = (
        f"w{worker.number}of{worker.count}",
        re.sub(r"[^\w-]", "-", socket.gethostname()),
        environment.get("SLURM_JOB_ID", "0"),
        environment.get("SLURM_RESTART_COUNT", "0"),
        str(os.getpid()),
    )
    return ".".join(parts)


def share_devices(environment: Mapping[str, str] = os.environ, worker: Worker = ALONE) -> str | None:
    """The part of the visible GPUs that is this process's, as a value for `CUDA_VISIBLE_DEVICES`; None: leave it.

    Several processes on a node share its GPUs evenly. Slurm may have given each its own already.

    Args:
        worker: started by hand. It cannot know how many others are on its host, so it takes GPUs that none of them
            holds; one GPU that was chosen for it stays.

    Raises `ConfigError` when all GPUs of the host have a worker.
    """
    local, size = _number(environment, "LOCAL_RANK", 0), _number(environment, "LOCAL_WORLD_SIZE", 0)
    if not size:
        tasks = re.match(r"\d+", environment.get("SLURM_STEP_TASKS_PER_NODE", ""))
        local, size = _number(environment, "SLURM_LOCALID", 0), int(tasks[0]) if tasks else 1
    if DEVICES in environment:
        devices = [device for device in environment[DEVICES].split(",") if device]
    else:
        devices = [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]
    if size < 2 and worker.count > 1 and len(devices) > (DEVICES in environment):
        return ",".join(_claim(devices, worker))
    if size < 2 or len(devices) < size or local >= size:
        return None
    return ",".join(devices[local * len(devices) // size : (local + 1) * len(devices) // size])


_CLAIMED: list["FileLock"] = []  # of files: a process that ends, however it ends, gives its GPUs back


def _claim(devices: Sequence[str], worker: Worker) -> Sequence[str]:
    """An even part of the devices that no other worker of this user on this host has; its own by number, if free."""
    size = max(1, len(devices) // worker.count)
    parts = [devices[start : start + size] for start in range(0, len(devices) - size + 1, size)]
    for turn in range(len(parts)):
        part = parts[(worker.number + turn) % len(parts)]
        locks = [_locked(device) for device in part]
        held = [lock for lock in locks if lock is not None]
        if len(held) == len(part):
            _CLAIMED.extend(held)
            return part
        for lock in held:
            lock.release()
    raise ConfigError(
        f"--worker {worker}: each of the {len(devices)} GPUs of this host ({', '.join(devices)}) has a worker already. "
        f"Start fewer workers here, or set {DEVICES} to the one GPU that this one shall share (to nothing for the CPU)."
    )


def _locked(device: str) -> "FileLock | None":
    """The lock of a GPU, or None if another process has it."""
    from filelock import FileLock, Timeout

    name = re.sub(r"[^\w-]", "-", device)
    lock = FileLock(Path(tempfile.gettempdir()) / f"rag-evaluator-{os.getuid()}-gpu-{name}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def _number(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environment.get(name, "")
    if not text and default is not None:
        return default
    if not text.isdigit():
        raise ConfigError(f"the environment variable {name} is {text!r}: expected a number. Correct or unset it.")
    return int(text)
