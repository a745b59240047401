"""A LoRA adapter that is merged into the weights of its base model when both are loaded."""

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engine.folders import WEIGHTS, AdapterFolder
from rag_evaluator.judge.engine.transformers.weights import is_quantised, saved_tensors
from rag_evaluator.models.hub import in_one_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LOADER = "the engine transformers"
PART = re.compile(r"base_model\.model\.(.+)\.lora_([AB])\.weight")


def find_adapter(config: JudgeConfig) -> AdapterFolder | None:
    """The configured adapter, None if there is none. Raises `ModelError` for one that cannot be merged."""
    adapter = AdapterFolder.of(config, LOADER)
    if adapter is not None and find_spec("peft") is None:
        raise ModelError(
            "judge.adapter: to merge an adapter needs the package peft: pip install peft. Or "
            "merge it elsewhere with merge_and_unload() and save_pretrained(), and give the folder of the result as "
            "judge.model."
        )
    return adapter


def check_base(adapter: AdapterFolder, folder: Path, model: Mapping[str, Any], kwargs: Mapping[str, Any]) -> None:
    """Raises `ModelError` for a base model that the adapter cannot be merged into, as far as its files show.

    Args:
        folder: of the base model.
        model: its `config.json`. Any: JSON.
        kwargs: of from_pretrained.
    """
    if is_quantised(model, kwargs):
        raise ModelError(
            f"judge.adapter: the weights of {folder} are or will be quantised, and an adapter merged into them would "
            f"not be the one that was trained. Take the base model without quantisation ({adapter.base}), or judge "
            "with engine: vllm, which loads the adapter beside the weights."
        )
    if misfit := _misfit(adapter, folder):
        raise _not_for_this(adapter, misfit)


def merge_adapter(model: "PreTrainedModel", adapter: AdapterFolder) -> "PreTrainedModel":
    """The model with the adapter's weights added to its own. Raises `ModelError` if they do not fit."""
    from peft import PeftConfig, PeftModel

    try:
        settings = PeftConfig.from_pretrained(str(adapter.folder))
        settings.inference_mode = True
        both = PeftModel(model, settings)
        loaded = both.load_adapter(str(adapter.folder), "default")
        result: PreTrainedModel = both.merge_and_unload(safe_merge=True)
    except Exception as error:  # torch, safetensors and peft each raise kinds of their own
        raise _not_for_this(adapter, in_one_line(error)) from error
    _check_all_used(adapter, loaded.unexpected_keys, loaded.missing_keys)
    result.peft_config = settings  # it is not the model of its folder any more
    return result


def _check_all_used(adapter: AdapterFolder, unexpected: Sequence[str], missing: Sequence[str]) -> None:
    for names, what in ((unexpected, "the model has no layer for"), (missing, "the adapter lacks")):
        if names:
            raise _not_for_this(adapter, f"{what} {len(names)} weights ({', '.join(sorted(names)[:3])})")


def _misfit(adapter: AdapterFolder, folder: Path) -> str | None:
    """The first layer that has another shape in the base model, of those that go by the same name in both files."""
    try:
        base = {tensor.name: tensor.shape for path in folder.glob("*.safetensors") for tensor in saved_tensors(path)}
        parts = list(saved_tensors(adapter.folder / WEIGHTS))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"a file of weights is damaged ({in_one_line(error)})"
    for part in parts:
        match = PART.fullmatch(part.name)
        weight = base.get(f"{match[1]}.weight", ()) if match else ()
        if match is None or len(weight) != 2 or len(part.shape) != 2:
            continue
        outputs, inputs = reversed(weight) if adapter.settings.get("fan_in_fan_out") else weight
        size, made_for = (inputs, part.shape[1]) if match[2] == "A" else (outputs, part.shape[0])
        if size != made_for:
            side = "inputs" if match[2] == "A" else "outputs"
            return f"{match[1]} has {size} {side} in the model, and {made_for} in the adapter"
    return None


def _not_for_this(adapter: AdapterFolder, why: str) -> ModelError:
    return ModelError(
        f"judge.adapter: {adapter.folder} does not fit judge.model: {why}. Give the model that it was trained on "
        f"({adapter.base}), or the adapter's own files once more."
    )
