"""Files of models that hold no weights: pointers of Git LFS, safetensors that are damaged or not complete."""

import json
from collections.abc import Iterator
from pathlib import Path

from rag_evaluator.errors import ModelError

from .jsonl import Json

POINTER = b"version https://git-lfs"
POINTER_SIZE = 1024  # bytes; a pointer is smaller


def refuse_pointers(folder: Path, key: str = "judge.model") -> None:
    """Raises `ModelError` where Git has left a pointer in place of a file: the folder, or one file.

    Args:
        key: of the configuration, named in errors.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else [folder]:
        if path.is_file() and path.stat().st_size < POINTER_SIZE and path.read_bytes().startswith(POINTER):
            raise ModelError(
                f"{key}: {path} is a pointer of Git LFS and not the file itself. Fetch it with git lfs pull, or "
                "download it again."
            )


def saved_tensors(folder: Path) -> Iterator[Json]:
    """`dtype`, `shape` and `data_offsets` of each tensor of a folder's safetensors, from the headers of the files.

    Raises `ModelError` for a file that is damaged or not complete.
    """
    for path in sorted(folder.glob("*.safetensors")):
        size = path.stat().st_size - 8
        try:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                header = json.loads(file.read(length)) if length <= size else {}
            tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
            offsets = [tensor["data_offsets"] for tensor in tensors if tensor["dtype"]]
            ends = [end for start, end in offsets if start <= end]
            is_whole = length + max(ends, default=0) <= size
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            is_whole = False
        if not is_whole:
            raise ModelError(f"judge.model: {path} is damaged or not complete. Download it again.")
        yield from tensors
