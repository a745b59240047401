"""GGUF files, the weights of llama.cpp and Ollama: which file a model is, and what its header says."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from rag_evaluator.errors import ModelError

from .weights import refuse_pointers

SUFFIX = ".gguf"
ANY_CASE = "*.[gG][gG][uU][fF]"
OTHER_WEIGHTS = ("*.safetensors", "*.bin")
FORMATS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}  # of numbers, by their kind in the header
# kinds of values that are no numbers
TEXT = 8
LIST = 9
LONGEST = 1 << 24  # bytes of a text; chat templates have some thousand
SHORTEST = 8  # bytes of a text with its length
MOST = 1 << 26  # bytes before the shapes end; those of large vocabularies have some millions
DIMENSIONS = 4  # of a tensor at most
PART = 1 << 20  # bytes that are read at a time
ZEROED = ("attn_output.weight", "ffn_down.weight")  # models that were made longer may have layers that add nothing


def gguf_of(model: str | Path) -> Path | None:
    """The GGUF file that a model is: its path, or the only one in a folder without other weights; None if it is none.

    Raises `ModelError` for several files in a folder.
    """
    path = Path(model)
    if path.suffix.lower() == SUFFIX and not path.is_dir():
        return path
    files = sorted(path.glob(ANY_CASE)) if path.is_dir() else []
    if not files or any(any(path.glob(pattern)) for pattern in OTHER_WEIGHTS):
        return None
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise ModelError(f"judge.model: {path} holds {len(files)} GGUF files ({names}). Give one: {files[0]}.")
    return files[0]


@dataclass(frozen=True)
class GgufHeader:
    """What stands before the weights.

    Attributes:
        path: of the file.
        settings: by name, without lists of numbers. Any: numbers, texts and lists of them.
        shapes: of the tensors, by name.
        kinds: their number formats, as ggml numbers them, by name.
        starts: where their bytes begin in the file, by name.
    """

    path: Path
    settings: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    kinds: Mapping[str, int]
    starts: Mapping[str, int]

    @cached_property
    def architecture(self) -> str:
        return str(self.settings.get("general.architecture"))

    @cached_property
    def parameters(self) -> int:
        return sum(map(prod, self.shapes.values()))


def read_header(path: Path) -> GgufHeader:
    """Return the header of a file. Raises `ModelError` for one that is not there, is no GGUF or is not complete."""
    if not path.is_file():
        raise ModelError(f"judge.model: no such file: {path}. Give a GGUF file, a model folder, a hub id, or 'demo'.")
    refuse_pointers(path)
    try:
        with path.open("rb") as file:
            if (magic := file.read(4)) != b"GGUF":
                raise ModelError(f"judge.model: {path} is no GGUF file: it begins with {magic!r}. Download it again.")
            header = _header(path, file)
    except (OSError, struct.error, KeyError, ValueError, OverflowError) as error:
        raise ModelError(f"judge.model: the header of {path} cannot be read ({error!r}). Download it again.") from error
    if max(header.starts.values(), default=0) >= path.stat().st_size:
        raise _not_complete(path, "weights at its end are missing")
    return header


def check_weights(header: GgufHeader, sizes: Mapping[Any, tuple[int, int]]) -> None:
    """Raise `ModelError` where the end of a tensor is missing, or a matrix has zeros only.

    Args:
        sizes: of each number format how many numbers a block has, and how many bytes. Any: gguf numbers them itself.
    """
    path = header.path
    size = header.path.stat().st_size
    with path.open("rb") as file:
        for name, shape in header.shapes.items():
            if header.kinds[name] not in sizes:
                raise ModelError(f"judge.model: {path}: the number format of {name} is not known. Download it again.")
            numbers, width = sizes[header.kinds[name]]
            length = -(-prod(shape) // numbers) * width
            if header.starts[name] + length > size:
                raise _not_complete(path, f"the end of {name} is missing")
            file.seek(header.starts[name])
            parts = (file.read(min(PART, length - read)) for read in range(0, length, PART))
            if len(shape) > 1 and not name.endswith(ZEROED) and not any(part.strip(b"\0") for part in parts):
                raise _not_complete(path, f"{name} has zeros only")


def _not_complete(path: Path, why: str) -> ModelError:
    return ModelError(f"judge.model: {path} is not complete: {why}. Download it again.")


def _header(path: Path, file: BinaryIO) -> GgufHeader:
    _, tensors, settings = (_number(file, kind) for kind in "IQQ")
    read = {_text(file): _value(file, _number(file, "I")) for _ in range(settings)}
    shapes = {}
    kinds = {}
    offsets = {}
    for _ in range(tensors):
        name = _text(file)
        dimensions = _number(file, "I")
        if dimensions > DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions")
        shapes[name] = tuple(_number(file, "Q") for _ in range(dimensions))
        kinds[name] = _number(file, "I")
        offsets[name] = _number(file, "Q")
    alignment = read.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 1:
        raise ValueError(f"general.alignment {alignment!r}")
    start = -(-file.tell() // alignment) * alignment
    return GgufHeader(path, read, shapes, kinds, {name: start + offset for name, offset in offsets.items()})


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == TEXT:
        return _text(file)
    if kind != LIST:
        return _number(file, FORMATS[kind])
    kind = _number(file, "I")
    count = _number(file, "Q")
    if kind == TEXT:
        if count * SHORTEST > MOST:
            raise ValueError(f"a list of {count} texts")
        return [_text(file) for _ in range(count)]
    file.seek(count * struct.calcsize(f"<{FORMATS[kind]}"), 1)
    return None


def _text(file: BinaryIO) -> str:
    length = _number(file, "Q")
    if length > LONGEST or file.tell() > MOST:
        raise ValueError(f"a text of {length} bytes at byte {file.tell()}")
    return file.read(length).decode("utf-8", "replace")


def _number(file: BinaryIO, kind: str) -> Any:
    return struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))[0]
