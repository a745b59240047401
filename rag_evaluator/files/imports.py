"""Imports of libraries that take seconds: ragas, torch, transformers."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .progress import ACTIVITY

OWN_PROCESS = threading.Event()
"""Set in a command that was started as a program, whose process ends with it.

There what an import leaves is never looked through for garbage again, to which a quarter of the CPU time of a short run
went. In the process of somebody else, their own garbage would stay, too.
"""


@contextmanager
def loading_libraries() -> Iterator[None]:
    """Libraries are imported inside; whoever shows what is done says so.

    Nobody looks for garbage meanwhile: what modules define lives on, and looking through it is a fifth of the CPU time
    of these imports. Of several that overlap the first one to begin ends that.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with ACTIVITY.phase("loading libraries"):
            yield
    finally:
        if collects:
            if OWN_PROCESS.is_set():
                gc.freeze()
            gc.enable()
