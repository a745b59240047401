"""What tells models apart: a fingerprint covers the whole content of one.

It is read in parallel and remembered, so that a start takes no minutes.
"""

import json
import logging
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ModelError, ResultsError
from rag_evaluator.files import ACTIVITY, SHORT, file_digest, short_digest, write_text

WEIGHTS = {".safetensors", ".bin", ".pt"}
OTHERS = {".json", ".jinja", ".model", ".txt", ".tiktoken", ".py"}  # configuration, tokenizer, template, code
WORTH_REMEMBERING = 1 << 20  # bytes; a smaller file is read faster than looked up
FRESH = 2 * 10**9  # nanoseconds; a file as young as this may be written again without a change of its times
READERS = 8  # threads; hashing releases the GIL
SHA256 = re.compile(r"[0-9a-f]{64}")
logger = logging.getLogger(__name__)
UNNAMED = "(unnamed)"  # in place of the name of a model that has none


def fingerprint(folder: str | Path) -> str:
    """16 hexadecimal digits that change with a model: path, size and content of its weights and of its other files.

    A copy has the same. Of a GGUF file it is that of its content, of a hub id that is not on disk the id itself. Raises
    `ModelError` for a file that cannot be read.
    """
    folder = Path(folder)
    if not folder.exists():
        return str(folder)
    try:
        with ACTIVITY.phase(f"looking whether {folder} has changed"):
            if not folder.is_dir():
                return _digest(folder)[:SHORT]
            paths = sorted(path for path in folder.rglob("*") if path.suffix in WEIGHTS | OTHERS and path.is_file())
            with ThreadPoolExecutor(READERS) as readers:
                digests = list(readers.map(_digest, paths))
            names = [[path.relative_to(folder).as_posix(), path.stat().st_size] for path in paths]
    except OSError as error:
        raise ModelError(f"{error.filename or folder}: cannot be read: {error.strerror or error}.") from error
    lines = (json.dumps([*name, digest]) + "\n" for name, digest in zip(names, digests, strict=True))
    return short_digest("".join(lines))


def _digest(path: Path) -> str:
    """SHA-256 of a file; that of a large one is kept in the user's cache folder, by its path and state."""
    state = _state(path)
    before = time.time_ns()
    if state[0] < WORTH_REMEMBERING:
        return file_digest(path)
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # the user has no home
        return file_digest(path)
    kept = cache / "rag_evaluator" / "fingerprints" / short_digest(f"{path.resolve()} {state}")
    with suppress(OSError, ValueError):
        if SHA256.fullmatch(digest := kept.read_text(encoding="ascii")):
            return digest
    digest = file_digest(path)
    if max(state[1:3]) < before - FRESH and _state(path) == state:
        try:
            write_text(kept, digest)
        except ResultsError as error:
            logger.debug("the fingerprint is not kept: %s", error)
    return digest


def _state(path: Path) -> tuple[int, ...]:
    """What changes when a file is written; a program can set mtime, but not ctime."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def identity_of(model: Any, inner: Any) -> str | None:
    """Fingerprint of the folder a loaded model came from, or of the name it goes by.

    Args:
        model: what users give: a pipeline, an embedding, a ragas LLM.
        inner: the model inside it, or the name of one, as a ragas LLM has it.

    None if it has neither, or an adapter that its folder does not hold. A model whose weights were changed after it was
    loaded is not noticed: it must be saved to a folder of its own.
    """
    name = None if has_adapter(inner) else name_of(model, inner)
    return None if name is None else fingerprint(name)


def name_of(model: Any, inner: Any) -> str | None:
    """The folder a loaded model came from, or the name it goes by; None: neither. Arguments as in `identity_of`."""
    names = (
        getattr(model, "model_id", None),
        getattr(model, "model_name", None),
        inner if isinstance(inner, str) else getattr(inner, "name_or_path", None),
    )
    return next((str(name) for name in names if name), None)


def has_adapter(model: Any) -> bool:
    """Whether a peft adapter was added to a loaded model: the folder it came from says nothing of it then."""
    return bool(getattr(model, "peft_config", None))


def arguments_part(key: str, kwargs: Mapping[str, Any]) -> dict[str, str]:
    """The user's arguments to a library, if any: quantisation or another pooling changes the numbers."""
    return {key: ",".join(f"{name}={value}" for name, value in sorted(kwargs.items()))} if kwargs else {}


def as_line(parts: Mapping[str, Any]) -> str:
    """Named parts as one line, in the manner of sacrebleu."""
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def is_unnamed(signature: str) -> bool:
    """Whether a score or an answer depends on a model without a name: no other run may use it."""
    return f":{UNNAMED}" in signature
