"""Processors, memory, disks and Slurm of this machine."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psutil

COMMANDS = ("sbatch", "srun", "squeue", "scontrol", "sacct", "scancel")
JOB = (
    "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_RESTART_COUNT", "SLURM_PROCID",
    "SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU",
    "SLURM_GPUS_ON_NODE",
)  # fmt: skip  # numbers; the others name people, machines and projects
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
PATIENCE = 10.0  # seconds
LEAST = {"memory": 2 << 30, "disk": 1 << 30}  # bytes with which not even a small model fits
Json = dict[str, Any]  # Any: JSON


def processors() -> Json:
    """Threads of the machine, and those that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"threads": os.cpu_count(), "allowed": allowed}


def memory() -> Json:
    """Bytes: of the machine, available now, and the limit of a container or job, if there is one."""
    found = psutil.virtual_memory()
    limit = _limit()
    return {
        "total": found.total,
        "available": found.available,
        "limit": limit if limit is not None and limit < found.total else None,
    }


def _limit() -> int | None:
    for path in map(Path, LIMITS):
        try:
            text = path.read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdigit() else None
    return None


def disks() -> Json:
    """Free bytes, and whether we may write, here and where temporary files go."""
    import tempfile

    places = {"this folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    return {name: {"path": str(path), **disk(path)} for name, path in places.items()}


def disk(path: Path) -> Json:
    return {"free": shutil.disk_usage(path).free, "writable": os.access(path, os.W_OK)}


def slurm() -> Json:
    """Its version, which commands are there, and of the job that we are in the numbers."""
    commands = [name for name in COMMANDS if shutil.which(name)]
    job = {name: os.environ[name] for name in JOB if name in os.environ}
    return {"version": _version() if "sbatch" in commands else None, "commands": commands, "job": job or None}


def _version() -> str | None:
    try:
        done = subprocess.run(["sbatch", "--version"], capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
