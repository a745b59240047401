"""Gives back the memory of models that nobody uses any more."""

import gc


def free_memory() -> None:
    """Collect what is not used, and give what torch keeps on GPUs for later back, so that others find it free."""
    import torch

    for _ in range(2):  # models hold themselves in cycles; what finalizers of the first pass let go falls in the second
        gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
