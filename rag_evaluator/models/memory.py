"""Gives back the memory of models that nobody uses any more."""

import gc


def free_memory() -> None:
    """Collect what is not used, and give what torch keeps on GPUs for later back, so that others find it free."""
    import torch

    gc.collect()  # models hold themselves in cycles
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
