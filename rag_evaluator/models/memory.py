"""Devices and their memory: what there is, how much was used, and giving back that of models nobody uses any more."""

import gc
import sys
from typing import Any


def devices() -> dict[str, Any]:  # Any: JSON
    """Version and build of torch, its threads, and each device with its memory in bytes."""
    import torch

    cuda = [_cuda(number) for number in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "mps": torch.backends.mps.is_available(),
        "devices": cuda,
    }


def _cuda(number: int) -> dict[str, Any]:
    import torch

    about = torch.cuda.get_device_properties(number)
    report: dict[str, Any] = {
        "device": f"cuda:{number}",
        "name": about.name,
        "memory": about.total_memory,
        "capability": f"{about.major}.{about.minor}",
        "bf16": about.major >= 8 or torch.version.hip is not None,
    }
    try:
        free, _ = torch.cuda.mem_get_info(number)
    except RuntimeError as error:  # another process holds it for itself, or it is out of order
        return {**report, "free": None, "error": str(error).splitlines()[0]}
    return {**report, "free": free}


def free_memory() -> None:
    """Collect what is not used, and give what torch keeps on GPUs for later back, so that others find it free."""
    import torch

    for _ in range(2):  # models hold themselves in cycles; what finalizers of the first pass let go falls in the second
        gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def most_memory() -> tuple[int | None, int | None]:
    """The most bytes that this process has used so far: of the machine and of its GPUs; None: not known, or no GPU."""
    try:
        import resource
    except ImportError:  # Windows
        return None, None
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return used, None
    return used, sum(torch.cuda.max_memory_allocated(number) for number in range(torch.cuda.device_count()))
