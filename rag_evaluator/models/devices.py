"""What torch can use on this machine, as JSON."""

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
    found: dict[str, Any] = {
        "device": f"cuda:{number}",
        "name": about.name,
        "memory": about.total_memory,
        "capability": f"{about.major}.{about.minor}",
        "bf16": about.major >= 8 or torch.version.hip is not None,
    }
    try:
        free, _ = torch.cuda.mem_get_info(number)
    except RuntimeError as error:  # another process holds it for itself, or it is out of order
        return {**found, "free": None, "error": str(error).splitlines()[0]}
    return {**found, "free": free}
