"""The machine that models run on: its cores, its GPUs, their memory."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from rag_evaluator.files import JsonDict

OWN = Path("/proc/self/cgroup")
CGROUPS = {  # controllers of a line in /proc/self/cgroup -> where its files are; names of limit, usage, counts
    "": ("/sys/fs/cgroup", "memory.max", "memory.current", ""),
    "memory": ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),  # version 1
}


def usable_cores() -> int:
    """Cores that this process may use, by its affinity, the quota of its cgroup and Slurm's `--cpus-per-task`."""
    from joblib import cpu_count

    return min(int(cpu_count()), int(os.environ.get("SLURM_CPUS_PER_TASK") or sys.maxsize))


def main_memory() -> tuple[int, int]:
    """Bytes that this process may have in all, and that are free: of the machine, or of its cgroups if that is less."""
    machine = psutil.virtual_memory()
    known = [(machine.total, machine.available), *_limits()]
    return min(total for total, _ in known), max(0, min(free for _, free in known))


def _limits() -> Iterator[tuple[int, int]]:
    """The limit of each cgroup that has one, and what is free of it; files that may be forgotten count as free."""
    for line in OWN.read_text(encoding="utf-8").splitlines() if OWN.exists() else ():
        _, controllers, path = line.split(":", 2)
        root, limit, used, prefix = CGROUPS.get(controllers, ("", "", "", ""))
        counted = f"{prefix}inactive_file ", f"{prefix}active_file "
        folder = Path(root, path.strip("/"))
        for place in (folder, *folder.parents) if root else ():
            with suppress(OSError, ValueError):  # a level without files of its own, or without a limit: "max"
                most = int((place / limit).read_text(encoding="utf-8"))
                lines = (place / "memory.stat").read_text(encoding="utf-8").splitlines()
                files = sum(int(line.split()[1]) for line in lines if line.startswith(counted))
                yield most, most - int((place / used).read_text(encoding="utf-8")) + files


def devices() -> JsonDict:
    """The version of torch, its threads, the cores for them, and each GPU with its memory in bytes."""
    import torch

    found = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    gpus = [{"name": gpu.name, "memory": gpu.total_memory} for gpu in found]
    return {"torch": torch.__version__, "gpus": gpus, "threads": torch.get_num_threads(), "cores": usable_cores()}


def free_memory() -> None:
    """Collect what is not used, and give what torch keeps on GPUs for later back, so that others find it free."""
    import torch

    for _ in range(2):  # models hold themselves in cycles; what finalizers of the first pass let go falls in the second
        gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
