"""Quantised weights: how a user asks for them, and whether they can be loaded on this machine."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from rag_evaluator.errors import ModelError
from rag_evaluator.models.hub import in_one_line

SHORT = ("load_in_4bit", "load_in_8bit")  # what transformers 4 took beside other arguments
COMPANIONS = ("bnb_4bit_", "llm_int8_")
KEY = "quantization_config"
Json = Mapping[str, Any]


def with_quantisation(kwargs: Json) -> dict[str, Any]:
    """Arguments of from_pretrained: `load_in_4bit` and what belongs to it as the `quantization_config` they mean.

    Any: whatever the user gave.
    """
    short = {name: value for name, value in kwargs.items() if name.startswith((*SHORT, *COMPANIONS))}
    others = {name: value for name, value in kwargs.items() if name not in short}
    if any(short.get(name) for name in SHORT):
        others.setdefault(KEY, {"quant_method": "bitsandbytes", **short})
    return others


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
