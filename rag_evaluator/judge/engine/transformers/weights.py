"""The weights of a model's folder, as the headers of its safetensors describe them, and where they are loaded to."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.config_sections import JudgeConfig

FILL = 0.8  # of a GPU's free memory for the weights
SAVED = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
LOADED = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class SavedTensor:
    """A tensor in a file of weights.

    Attributes:
        dtype: as safetensors names it.
        size: bytes in the file.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int


def saved_tensors(path: Path) -> Iterator[SavedTensor]:
    """The tensors of a safetensors file, from its header. Raises OSError or ValueError for a damaged file."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    for name, tensor in header.items():
        if name != "__metadata__":
            start, end = tensor["data_offsets"]
            yield SavedTensor(name, tensor["dtype"], tuple(tensor["shape"]), end - start)


def weight_bytes(folder: Path, dtype: str) -> int:
    """Bytes of a folder's weights once they are loaded, from the headers of its safetensors; 0 if there are none."""
    loaded = LOADED.get(dtype)
    total = 0
    for path in folder.glob("*.safetensors"):
        for tensor in saved_tensors(path):
            saved = SAVED.get(tensor.dtype)  # quantised weights stay as they are
            total += tensor.size * loaded // saved if loaded and saved else tensor.size
    return total


def device_map(config: JudgeConfig, folder: Path) -> Any:
    """The configured device map; `auto` is one GPU where the model fits one, since each GPU more makes passes wait.

    Of the free memory of a GPU the weights may fill `FILL`; the rest is for keys and values. Any: a name, a dict or
    None, as accelerate takes them.
    """
    import torch

    if not torch.accelerator.is_available():
        return None
    if config.device_map != "auto" or not torch.cuda.is_available() or torch.cuda.device_count() < 2:
        return config.device_map
    free = [torch.cuda.mem_get_info(device)[0] for device in range(torch.cuda.device_count())]
    needed = weight_bytes(folder, config.dtype)
    return {"": free.index(max(free))} if 0 < needed <= FILL * max(free) else "auto"
