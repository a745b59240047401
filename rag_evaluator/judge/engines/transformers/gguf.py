"""GGUF files as transformers loads them: unpacked; what it would read wrongly is refused before that."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from packaging.version import Version

from rag_evaluator.errors import ModelError
from rag_evaluator.files import GgufHeader, check_weights, read_header
from rag_evaluator.judge.encoding.chat import PLACE

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OLDEST = "5.23"  # transformers, as in the extra gguf of pyproject.toml: older ones were not tested
ROPE = "rope_freqs.weight"  # what Llama 3 divides the frequencies of its rope by
SERVE = "Serve it with llama.cpp or Ollama, and set judge.engine: server and judge.url (docs/engines.md)"


def check_gguf(path: Path) -> GgufHeader:
    """The header of a file.

    Raises `ModelError` for a file that transformers would load as another model than it is, or cannot load here.
    """
    header = read_header(path)
    if find_spec("gguf") is None or Version(version("transformers")) < Version(OLDEST):
        raise ModelError(
            f"judge.model: to unpack {path} needs the packages gguf and transformers {OLDEST} or newer: pip install "
            f"gguf 'transformers>={OLDEST}'."
        )
    from gguf.constants import GGML_QUANT_SIZES

    check_weights(header, GGML_QUANT_SIZES)
    if unread := _unread(header):
        raise ModelError(f"judge.model: {path} has {unread}, which transformers does not read. {SERVE}.")
    return header


def _unread(header: GgufHeader) -> str | None:
    """What changes positions, and with it the answers, and is left out by transformers without a word."""
    for name in header.shapes:
        if name.startswith("rope_f") and (name, header.architecture) != (ROPE, "llama"):
            return name
    scaled = (f"{header.architecture}.rope.{name}" for name in ("scaling.factor", "scale_linear"))
    return next((f"{name} {factor}" for name in scaled if (factor := header.settings.get(name, 1)) != 1), None)


@contextmanager
def pretrained(
    source: str, header: GgufHeader | None, kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What from_pretrained takes for a model: its folder or hub id, and the arguments.

    For a GGUF file it is an empty folder: in the file's own transformers would read tokenizer and settings of others.

    Args:
        kwargs: Any: whatever the user gave.
    """
    if header is None:
        yield source, dict(kwargs)
        return
    from transformers import AutoConfig, GgufConfig

    arguments: dict[str, Any] = {"gguf_file": str(header.path.resolve())}
    place = {name: value for name, value in kwargs.items() if name in PLACE}
    with TemporaryDirectory() as empty:
        settings = AutoConfig.from_pretrained(empty, **arguments, **place)  # given, so that it is read once: it is slow
        yield empty, {**arguments, "config": settings, "quantization_config": GgufConfig(dequantize=True), **kwargs}


def keep_own_tokens(tokenizer: Any, header: GgufHeader) -> None:
    """Take out what the file has no weights for: transformers adds <|endoftext|> to the tokens of a Llama 3.

    Any: transformers gives tokenizers no common type.
    """
    size = len(header.settings["tokenizer.ggml.tokens"])
    if all(number < size for number in tokenizer.added_tokens_decoder):
        return
    from tokenizers import Tokenizer

    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    parts["added_tokens"] = [token for token in parts["added_tokens"] if token["id"] < size]
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(parts))


def complete_rope(model: "PreTrainedModel", header: GgufHeader) -> None:
    """Give a Llama 3 the frequencies that it was trained with: transformers leaves their divisors out."""
    if ROPE in header.shapes:
        divisors = np.fromfile(header.path, np.float32, header.shapes[ROPE][0], offset=header.starts[ROPE])
        rotary: Any = model.get_submodule("model.rotary_emb")
        rotary.inv_freq /= rotary.inv_freq.new_tensor(divisors)
