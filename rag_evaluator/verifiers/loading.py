"""A model from a folder: transformers' own classes, safetensors, no remote code, no weight left random."""

from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from rag_evaluator.config import model_path
from rag_evaluator.errors import ModelError
from rag_evaluator.files import ACTIVITY
from rag_evaluator.hub import contents_of, find_model, in_one_line
from rag_evaluator.judge import on_model_thread

from .batches import BatchSize

# Any in this module: objects of transformers.

TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "spiece.model", "vocab.json")
"""Files of which one must be there: without them transformers makes up a vocabulary, and says nothing."""


def model_folder(model: str | Path, key: str) -> Path:
    """The folder of a model, or that of a hub id in the cache.

    Args:
        key: of the configuration, named in errors.

    Raises `ModelError`.
    """
    place = model_path(str(model), Path.cwd())
    if Path(place).is_absolute() and not Path(place).is_dir():
        raise ModelError(f"{key}: no such folder: {model}. Give a folder, or the id of a model in the cache.")
    return Path(find_model(place, True, key))


class FolderModel:
    """A model of a folder that is looked at first, and loaded with the first question.

    Args:
        key: of the configuration, named in errors.
        kind: class of transformers that has its weights.
        most: tokens that it reads at most, as its authors have it.
        base: a folder with the configuration and the tokenizer, where `folder` has weights alone.

    Raises `ModelError` for a folder without safetensors or tokenizer.
    """

    def __init__(
        self, folder: Path, key: str, kind: str, most: int, batch_size: BatchSize, base: Path | None = None
    ) -> None:
        self.folder = folder
        self.base = base
        self.batch_size = batch_size
        self._key = key
        self._kind = kind
        self._most = most
        self._lock = RLock()
        if not any(folder.glob("*.safetensors")):
            raise ModelError(f"{key}: {folder} has no *.safetensors file. {contents_of(folder)}")
        place = base or folder
        if not any((place / file).is_file() for file in TOKENIZERS):
            raise ModelError(f"{key}: {place} has no tokenizer. {contents_of(place)}")

    @on_model_thread
    def load(self) -> None:
        """Load the weights now, not with the first question. Raises `ModelError`."""
        with self._lock:
            _ = self._loaded

    @cached_property
    def window(self) -> int:
        """Tokens that the model reads at most.

        DeBERTa with relative positions alone has no such limit: its authors read 2048, with 512 in config.json.
        """
        config = self._loaded[1].config
        positions: int | None = getattr(config, "max_position_embeddings", None)
        is_relative = getattr(config, "relative_attention", False) and not config.position_biased_input
        if positions is None or is_relative:
            return self._most
        return min(self._most, positions - (2 if config.model_type.endswith("roberta") else 0))  # counted from 2

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model, in evaluation mode, on a GPU if there is one. Raises `ModelError`."""
        import torch
        import transformers

        local = {"local_files_only": True, "trust_remote_code": False}
        place = self.base or self.folder
        try:
            with ACTIVITY.phase(f"loading {self.folder}"):
                tokenizer = transformers.AutoTokenizer.from_pretrained(place, **local)
                tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
                of_base: dict[str, Any] = {}
                if self.base is not None:
                    config = transformers.AutoConfig.from_pretrained(place, num_labels=2, **local)
                    of_base = {"config": config, "key_mapping": {r"^t5\.": ""}}  # as HHEM's authors name its weights
                model, report = getattr(transformers, self._kind).from_pretrained(
                    self.folder,
                    use_safetensors=True,
                    dtype="float32",
                    output_loading_info=True,
                    ignore_mismatched_sizes=True,  # named below
                    **of_base,
                    **local,
                )
                model.eval().to("cuda" if torch.cuda.is_available() else "cpu")
        except Exception as error:  # safetensors, tokenizers and transformers each raise kinds of their own
            raise ModelError(f"{self._key}: {self.folder} cannot be loaded: {in_one_line(error)}.") from error
        if missing := sorted([*report["missing_keys"], *(key[0] for key in report["mismatched_keys"])]):
            raise ModelError(
                f"{self._key}: {self.folder} has not all weights of this model, {len(missing)} would be random: "
                f"{', '.join(missing[:4])}. It has no trained head, a file is damaged, or its base is another model's."
            )
        return tokenizer, model
