"""What is known of a model's folder before it is loaded, and of its window after."""

from pathlib import Path
from typing import Any

from rag_evaluator.config.paths import model_path
from rag_evaluator.config.sections import DEMO
from rag_evaluator.errors import ModelError
from rag_evaluator.models.hub import find_model
from rag_evaluator.verifiers.batches import BatchSize

# Any in this module: JSON, objects of transformers.


def model_folder(model: str | Path, key: str) -> Path:
    """The folder of a model, or that of a hub id in the cache.

    Args:
        key: of the configuration, named in errors.

    Raises `ModelError`.
    """
    if str(model) == DEMO:
        raise ModelError(f"{key}: 'demo' is a judge. Give a folder, or the id of a model in the Hugging Face cache.")
    place = model_path(str(model), Path.cwd())
    if Path(place).is_absolute() and not Path(place).is_dir():
        raise ModelError(f"{key}: no such folder: {model}. Give a folder, or the id of a model in the cache.")
    folder = Path(find_model(place, True, key))
    if not folder.is_dir():
        raise ModelError(f"{key}: no such folder: {model}.")
    return folder


def window_of(config: Any, window: int) -> int:
    """Tokens that a loaded model reads at most, `window` at most.

    DeBERTa with relative positions alone has no such limit: its authors read 2048, with 512 in config.json.
    """
    positions = getattr(config, "max_position_embeddings", None)
    if getattr(config, "relative_attention", False) and not getattr(config, "position_biased_input", True):
        positions = None
    offset = 2 if getattr(config, "model_type", "").endswith("roberta") else 0  # RoBERTa counts positions from 2
    return window if positions is None else min(window, positions - offset)


def checked_size(batch_size: BatchSize, key: str) -> BatchSize:
    """A size of batches. Raises `ModelError` for what is neither `auto` nor a positive number."""
    is_number = isinstance(batch_size, int) and not isinstance(batch_size, bool) and batch_size > 0
    if batch_size != "auto" and not is_number:
        raise ModelError(f"{key} is {batch_size!r}: expected auto or a positive number.")
    return batch_size
