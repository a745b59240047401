"""Imports of libraries that take seconds: ragas, torch, transformers."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from rag_evaluator.files.progress import ACTIVITY

LIBRARIES = "loading libraries"


@contextmanager
def loading_libraries() -> Iterator[None]:
    """Libraries are imported inside; whoever shows what is done says so.

    Nobody looks for garbage meanwhile: what modules define lives on, and looking through it is a fifth of the CPU time
    of these imports. Of several that overlap the first one to begin ends that.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with ACTIVITY.phase(LIBRARIES):
            yield
    finally:
        if collects:
            gc.enable()
