"""The tokenizer of a model, with the chat template that its folder has for it, and the window of both."""

import json
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ModelError
from rag_evaluator.models.hub import load_failure

PLACE = ("local_files_only", "trust_remote_code", "revision", "subfolder", "cache_dir", "token", "code_revision")
"""Arguments of from_pretrained that say where files are read, and not how weights are loaded."""
PROCESSOR = ("chat_template.json", "processor_config.json")
"""Files in which older vision-text models have their template."""


def read_tokenizer(source: str, **kwargs: Any) -> Any:
    """The fast tokenizer of a folder or hub id. Raises `ModelError`. Any: transformers gives no common type.

    Args:
        kwargs: of from_pretrained, those of `PLACE` count.
    """
    from transformers import AutoTokenizer

    place = {name: kwargs[name] for name in PLACE if name in kwargs}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **place)
    except Exception as error:  # each kind of tokenizer raises errors of its own
        raise ModelError(f"judge.model: the tokenizer of {source} cannot be loaded: {load_failure(error)}") from error
    check_tokenizer(tokenizer)
    if not tokenizer.chat_template:
        tokenizer.chat_template = _template_of_processor(source, place)
    return tokenizer


def check_tokenizer(tokenizer: Any) -> None:
    """Refuse a tokenizer that is no fast one. Raises `ModelError`."""
    from transformers import PreTrainedTokenizerFast

    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        kind = type(tokenizer).__name__
        raise ModelError(f"judge.model: {kind} is no fast tokenizer. Convert it to a tokenizer.json once, and save it.")


def _template_of_processor(source: str, place: dict[str, Any]) -> str | None:
    """The template in a file that only a processor reads: nothing else would find it."""
    from transformers.utils.hub import cached_file

    readable = {name: value for name, value in place.items() if name not in ("trust_remote_code", "code_revision")}
    for name in PROCESSOR:
        path = cached_file(source, name, _raise_exceptions_for_missing_entries=False, **readable)
        try:
            template = json.loads(Path(path).read_bytes()).get("chat_template") if path else None
        except (ValueError, AttributeError):
            raise ModelError(f"judge.model: {path} is no JSON object. Copy the model's file once more.") from None
        if isinstance(template, str):
            return template
    return None


def window_of(config: Any, tokenizer: Any) -> int:
    """Tokens of prompt and answer together that a model can read; the smaller of what its files say."""
    text_config = config.get_text_config()
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    sizes = [getattr(text_config, name, None) for name in names] + [tokenizer.model_max_length]
    known = [size for size in sizes if isinstance(size, int) and 0 < size < 10**9]
    return min(known) if known else 10**9
