"""The machine that models run on: its cores, its GPUs, their memory."""

import gc
import os
import sys

from rag_evaluator.files import JsonDict


def usable_cores() -> int:
    """Cores that this process may use, by its affinity, the quota of its cgroup and Slurm's `--cpus-per-task`."""
    from joblib import cpu_count

    return min(int(cpu_count()), int(os.environ.get("SLURM_CPUS_PER_TASK") or sys.maxsize))


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
