"""The weights of a model's folder: their memory, as headers of safetensors describe them, quantisation, and device."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.embeddings.hub import find_model, in_one_line
from rag_evaluator.errors import ModelError

FILL = 0.8  # of a GPU's free memory for the weights
SAVED = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
SHORT = ("load_in_4bit", "load_in_8bit")  # what transformers 4 took beside other arguments
COMPANIONS = ("bnb_4bit_", "llm_int8_")
KEY = "quantization_config"
Json = Mapping[str, Any]
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


@dataclass(frozen=True)
class Memory:
    """Bytes.

    Attributes:
        weights: once they are loaded; 0 where they are not known.
        gpus: free on all GPUs together; 0 without one.
        main: free main memory.
    """

    weights: int
    gpus: int
    main: int


def memory_of(config: JudgeConfig, offline: bool) -> Memory:
    """Raises `ModelError` if the model is not there."""
    import torch

    source = Path(find_model(config.model, offline))
    weights = weight_bytes(source, config.dtype) if source.is_dir() else 0
    devices = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    gpus = sum(int(torch.cuda.mem_get_info(device)[0]) for device in devices)
    return Memory(weights, gpus, int(psutil.virtual_memory().available))


def with_quantisation(kwargs: Json) -> dict[str, Any]:
    """Arguments of from_pretrained: `load_in_4bit` and what belongs to it as the `quantization_config` they mean.

    Any: whatever the user gave.
    """
    short = {name: value for name, value in kwargs.items() if name.startswith((*SHORT, *COMPANIONS))}
    arguments = {name: value for name, value in kwargs.items() if name not in short}
    if any(short.get(name) for name in SHORT):
        arguments.setdefault(KEY, {"quant_method": "bitsandbytes", **short})
    return arguments


def is_quantised(model: Json, kwargs: Json) -> bool:
    """Whether the loaded weights will be quantised.

    Args:
        model: the model's `config.json`.
        kwargs: as `with_quantisation` gives them.
    """
    return (_saved(model) or kwargs.get(KEY)) is not None


def check_quantisation(folder: str, model: Json, kwargs: Json) -> None:
    """Raises `ModelError` if transformers cannot load weights that are quantised like this, for want of anything."""
    saved = _saved(model)
    wanted = saved or kwargs.get(KEY)
    if wanted is None:
        return
    from transformers.quantizers.auto import AutoHfQuantizer

    try:
        quantizer = AutoHfQuantizer.from_config(_copy(wanted), pre_quantized=saved is not None)
        quantizer.validate_environment(device_map=kwargs.get("device_map"), weights_only=True)
    except Exception as error:  # each method raises errors of its own
        method = wanted.get("quant_method", "bitsandbytes") if isinstance(wanted, Mapping) else type(wanted).__name__
        if saved is None:
            raise ModelError(
                f"judge.model_kwargs: weights cannot be quantised with {method} here: {in_one_line(error)}. Install "
                "what is missing, or leave that out: judge.dtype: bfloat16 needs half the memory of float32."
            ) from error
        raise ModelError(
            f"judge.model: {folder} has weights quantised with {method} ({KEY} in its config.json), which cannot be "
            f"loaded here: {in_one_line(error)}. Install what is missing, or take the model's unquantised weights."
        ) from error


def _copy(wanted: Any) -> Any:
    """Of what the user gave, a dict or an object of transformers, which may take things out of it."""
    return dict(deepcopy(wanted)) if isinstance(wanted, Mapping) else deepcopy(wanted)


def _saved(model: Json) -> Json | None:
    """How the weights in a folder are quantised, if they are."""
    text = model.get("text_config")
    saved: Json | None = model.get(KEY) or (text.get(KEY) if isinstance(text, Mapping) else None)
    return saved
