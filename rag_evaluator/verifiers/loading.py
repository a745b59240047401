"""A verifier from a folder: transformers' own classes, safetensors, no remote code, no weight left random."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ModelError
from rag_evaluator.models.hub import contents_of, in_one_line, loading
from rag_evaluator.verifiers.families import Family, settings_of

# Any in this module: objects of transformers.

KEY, BASE_KEY = "verifier.model", "verifier.base"
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "spiece.model", "vocab.json")
PREFIX, EMBEDDINGS = "t5.", ("transformer.shared.weight", "transformer.encoder.embed_tokens.weight")


def load(folder: Path, family: Family, name: str, base: Path | None) -> tuple[Any, Any]:
    """Tokenizer and model of a verifier, see `load_plain`.

    Args:
        name: of the family.
        base: the folder that has configuration and tokenizer of a model that has only weights, as HHEM.
    """
    if name == "hhem" and base:
        return _loaded(folder, KEY, base, lambda: _hhem(folder, base))
    return load_plain(folder, family.model, KEY)


def load_plain(folder: Path, model: str, key: str) -> tuple[Any, Any]:
    """Tokenizer and model, in evaluation mode, on a GPU if there is one.

    Args:
        model: class of transformers that has its weights.
        key: of the configuration, named in errors.

    Raises `ModelError`.
    """
    return _loaded(folder, key, folder, lambda: _native(folder, model, key))


def _loaded(folder: Path, key: str, tokenizer: Path, model: Callable[[], Any]) -> tuple[Any, Any]:
    import torch

    try:
        with loading(str(folder)):
            return _tokenizer(tokenizer), model().eval().to("cuda" if torch.cuda.is_available() else "cpu")
    except ModelError:
        raise
    except Exception as error:  # safetensors, tokenizers and transformers each raise kinds of their own
        raise ModelError(f"{key}: {folder} cannot be loaded: {in_one_line(error)}.") from error


def check_folder(folder: Path, key: str, tokenizer: Path | None = None, tokenizer_key: str = "") -> None:
    """Raises `ModelError` for a folder without safetensors, or without a tokenizer there or in a folder of its own."""
    if not any(folder.glob("*.safetensors")):
        raise ModelError(f"{key}: {folder} has no *.safetensors file. {contents_of(folder)}")
    place = tokenizer or folder
    if not any((place / file).is_file() for file in TOKENIZERS):
        raise ModelError(f"{tokenizer_key or key}: {place} has no tokenizer. {contents_of(place)}")


def check_files(folder: Path, name: str, base: Path | None) -> None:
    """Raises `ModelError` for what is missing, before anything is loaded."""
    if name != "hhem" and base is not None:
        raise ModelError(f"{BASE_KEY}: it is for HHEM alone, and {folder} is a {name}. Remove it.")
    if name == "hhem" and (base is None or settings_of(base, BASE_KEY).get("model_type") != "t5"):
        raise ModelError(
            f"{BASE_KEY}: HHEM's folder has neither the configuration of its model nor a tokenizer. Give the folder "
            f"of flan-t5-base; received {base}."
        )
    check_folder(folder, KEY, base, BASE_KEY if base else KEY)


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "right"
    return tokenizer


def _native(folder: Path, name: str, key: str) -> Any:
    import transformers

    model, report = getattr(transformers, name).from_pretrained(
        folder,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        dtype="float32",
        output_loading_info=True,
    )
    _refuse_random(folder, report, key)
    return model


def _refuse_random(folder: Path, report: Mapping[str, Any], key: str) -> None:
    """Raises `ModelError` if weights of the model were in no file, and so are random."""
    missing = sorted(report.get("missing_keys") or ())
    wrong = sorted(str(key[0] if isinstance(key, tuple) else key) for key in report.get("mismatched_keys") or ())
    if missing or wrong:
        keys = [*missing, *wrong]
        raise ModelError(
            f"{key}: {folder} has not all weights of this model, {len(keys)} would be random: "
            f"{', '.join(keys[:4])}. It is a model without the trained head, or the file is damaged."
        )


def _hhem(folder: Path, base: Path) -> Any:
    """HHEM-2.1: a T5 encoder with a classifier of tokens; keys begin with `t5.`, embeddings are stored once."""
    from safetensors.torch import load_file
    from transformers import AutoConfig, T5ForTokenClassification

    config = AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False, num_labels=2)
    model = T5ForTokenClassification(config)
    stored = {key: value for path in sorted(folder.glob("*.safetensors")) for key, value in load_file(path).items()}
    weights = {key.removeprefix(PREFIX): value for key, value in stored.items()}
    shared, tied = EMBEDDINGS
    if shared in weights:
        weights.setdefault(tied, weights[shared])
    sizes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    wrong = [key for key, value in weights.items() if key in sizes and tuple(value.shape) != sizes[key]]
    if wrong:
        raise ModelError(
            f"verifier.base: {base} is a model of another size: {wrong[0]} is {tuple(weights[wrong[0]].shape)} in "
            f"{folder}, and {sizes[wrong[0]]} there. HHEM-2.1-Open needs flan-t5-base."
        )
    report = model.load_state_dict(weights, strict=False)
    _refuse_random(folder, {"missing_keys": report.missing_keys}, "verifier.model")
    return model
