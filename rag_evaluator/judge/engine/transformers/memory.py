"""How many sequences fit the memory that the model leaves free, and which errors mean that a device is lost."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import psutil
import torch

from rag_evaluator.errors import JudgeLostError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SHARE = 0.5  # of the free memory may hold keys and values; the rest is for the passes themselves
NO_MEMORY = (  # in lower case, as in the messages of libraries
    "out of memory",  # "CUDA out of memory", "CUDA error: out of memory", HIP, XPU, MPS
    "outofmemory",  # hipErrorOutOfMemory
    "can't allocate memory",  # the CPU
    "status_alloc_failed",  # cuBLAS, cuDNN, hipBLAS, cuSPARSE, cuSOLVER
    "rocblas_status_memory_error",
    "nvml_success == r",  # the CUDA allocator's own assertion, when the device is full
)
NO_DEVICE = (  # after these a device cannot be used any more in this process
    "illegal memory access",
    "illegal address",
    "device-side assert",
    "unspecified launch failure",
    "uncorrectable ecc",
    "hardware error",
    "device lost",
    "gpu is lost",
)
Item = TypeVar("Item")
Answer = TypeVar("Answer")
logger = logging.getLogger(__name__)


def free_bytes(model: "PreTrainedModel") -> int:
    """Bytes that the devices of a loaded model have left, in sum."""
    devices = {parameter.device for parameter in model.parameters()}
    return sum(_free(device) for device in devices)


def _free(device: torch.device) -> int:
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + unused)
    return int(psutil.virtual_memory().available)


class BatchSize:
    """How many sequences are decoded together: at most what the user allows, the memory holds, and errors have left.

    Args:
        most: the user's limit.
        room: bytes for the sequences' keys and values.
        slot_bytes: what one token of one sequence takes of them; 0 if it is not known.
    """

    def __init__(self, most: int, room: int, slot_bytes: int) -> None:
        self.most, self.room, self.slot_bytes = most, room, slot_bytes

    def that_fit(self, length: int) -> int:
        """How many sequences of a length in tokens fit; at least one."""
        needed = self.slot_bytes * length
        return max(1, min(self.most, self.room // needed)) if needed else self.most

    def halving(self, handle: Callable[[Sequence[Item]], list[Answer]], items: Sequence[Item]) -> list[Answer]:
        """`handle(items)`; without enough memory it is called again with half as many, which stays the limit."""
        while True:
            size = min(self.most, len(items))
            try:
                return handle(items)
            except (RuntimeError, MemoryError) as error:
                if size == 1 or not out_of_memory(error):
                    raise
                self.most = size // 2
                logger.warning("out of memory with %d sequences: going on with %d", size, self.most)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()


def out_of_memory(error: BaseException) -> bool:
    """Whether a library failed for lack of memory, on any device; most raise a plain `RuntimeError`."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(sign in text for sign in NO_MEMORY)


@contextmanager
def device_watched() -> Iterator[None]:
    """Raises `JudgeLostError` where a device failed so that every later call will fail, too."""
    try:
        yield
    except RuntimeError as error:
        if not out_of_memory(error) and any(sign in str(error).lower() for sign in NO_DEVICE):
            raise JudgeLostError(f"the device failed: {str(error).splitlines()[0]}") from error
        raise
