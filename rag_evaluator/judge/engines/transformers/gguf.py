"""GGUF files as transformers loads them: unpacked, once; what it would read wrongly is refused before that."""

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from packaging.version import Version
from rich.filesize import decimal

from rag_evaluator.errors import ModelError
from rag_evaluator.files import GgufHeader, Json, JsonDict, check_weights, read_header
from rag_evaluator.hub import fingerprint
from rag_evaluator.judge.encoding.chat import PLACE

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OLDEST = "5.23"  # transformers, as in the extra gguf of pyproject.toml: older ones were not tested
LONG = 4096  # values; lists of the settings have one for each layer
TOKENS = "tokenizer.ggml.tokens"  # their number is a setting of the model
ROPE = "rope_freqs.weight"  # what Llama 3 divides the frequencies of its rope by
logger = logging.getLogger(__name__)
SERVE = "Serve it with llama.cpp or Ollama, and set judge.engine: server and judge.url (docs/engines.md)"


def check_gguf(path: Path) -> GgufHeader:
    """The header of a file.

    Raises `ModelError` for a file that transformers would load as another model than it is, or cannot load here.
    """
    header = read_header(path)
    lacking = [] if find_spec("gguf") else ["gguf"]
    if Version(version("transformers")) < Version(OLDEST):
        lacking.append(f"'transformers>={OLDEST}'")
    if lacking:
        raise ModelError(f"judge.model: {path} cannot be unpacked yet: pip install {' '.join(lacking)}.")
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
def unpacking(header: GgufHeader, kwargs: Json) -> Iterator[tuple[str, JsonDict]]:
    """What from_pretrained takes to unpack a file: an empty folder, and the arguments.

    In the file's own folder transformers would read tokenizer and settings of other models.
    """
    from transformers import AutoConfig, GgufConfig

    arguments: JsonDict = {"gguf_file": str(header.path.resolve())}
    place = {name: value for name, value in kwargs.items() if name in PLACE}
    with TemporaryDirectory() as empty, _read_once():
        settings = AutoConfig.from_pretrained(empty, **arguments, **place)  # given, so that it is read once: it is slow
        yield empty, {**arguments, "config": settings, "quantization_config": GgufConfig(dequantize=True), **kwargs}


@contextmanager
def _read_once() -> Iterator[None]:
    """Read a file once and fast within it: transformers asks gguf thrice, and for a map of names at each module."""
    import gguf

    slow: Any = gguf.GGUFReader
    names = gguf.get_tensor_name_map

    class Reader(slow):  # type: ignore[misc]
        def __init__(self, path: str) -> None:
            super().__init__(path)
            for name, field in self.fields.items():
                if len(field.data) > LONG and name != TOKENS:
                    field.data.clear()  # the tokenizer, which transformers reads in another way

        @property
        def data(self) -> Any:  # Any: an array, as gguf has it
            return self._data

        @data.setter
        def data(self, mapped: Any) -> None:
            self._data = mapped.view(np.ndarray)  # a memmap makes each of a million values slow

    module: Any = gguf
    module.GGUFReader = cache(Reader)
    module.get_tensor_name_map = cache(names)
    try:
        yield
    finally:
        module.GGUFReader = slow
        module.get_tensor_name_map = names


def kept_folder(header: GgufHeader, dtype: str, size: int, write: Callable[[Path], None]) -> Path | None:
    """Return the folder of the unpacked model, beside the cache of the hub; None where it cannot be kept.

    Args:
        size: bytes that it takes.
        write: makes it, where it is not there yet. It is there as a whole or not at all.
    """
    from filelock import FileLock
    from huggingface_hub.constants import HF_HOME

    parts = header.path.stem, fingerprint(header.path), dtype, version("transformers")
    folder = Path(HF_HOME) / "rag_evaluator" / "-".join(parts)
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < size:
            raise OSError(f"less than {decimal(size)} are free")
        with FileLock(f"{folder}.lock"):  # another worker may be at it
            if not folder.is_dir():
                shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
                write(partial)
                partial.rename(folder)
    except (OSError, NotImplementedError) as error:  # the latter where there are no locks
        logger.warning("%s is unpacked at each start: it cannot be kept in %s (%s)", header.path, folder.parent, error)
        return None
    logger.warning(
        "%s was unpacked; to start faster, %s are kept in %s (judge.keep_unpacked: false keeps nothing)",
        header.path,
        decimal(size),
        folder,
    )
    return folder


def save_unpacked(model: "PreTrainedModel", tokenizer: Any, folder: Path) -> None:
    """Write an unpacked model as a usual folder. Any: transformers gives tokenizers no common type."""
    unpacked: Any = model
    unpacked.hf_quantizer = None  # save_pretrained refuses models that have one
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def keep_own_tokens(tokenizer: Any, header: GgufHeader) -> None:
    """Take out what the file has no weights for: transformers adds <|endoftext|> to the tokens of a Llama 3.

    Any: transformers gives tokenizers no common type.
    """
    size = len(header.settings[TOKENS])
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
