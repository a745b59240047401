"""Gives back the memory of models that nobody uses any more, and says how much was used."""

import gc
import sys


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
