"""What tells models apart: the fingerprint of a model, and lines of named parts made with it.

A fingerprint covers the whole content of a model. It is read in parallel and remembered, so that a start takes no
minutes.
"""

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ModelError, ResultsError
from rag_evaluator.files.atomic import write_text
from rag_evaluator.files.digest import file_digest, short_digest
from rag_evaluator.files.progress import ACTIVITY

WEIGHTS = {".safetensors", ".bin", ".pt"}
OTHERS = {".json", ".jinja", ".model", ".txt", ".tiktoken", ".py"}  # configuration, tokenizer, template, code
WORTH_REMEMBERING = 1 << 20  # bytes; a smaller file is read faster than looked up
FRESH = 2 * 10**9  # nanoseconds; a file as young as this may be written again without a change of its times
READERS = 8  # threads; hashing releases the GIL
SHA256 = re.compile(r"[0-9a-f]{64}")
State = tuple[int, ...]  # size, mtime_ns, ctime_ns, inode
logger = logging.getLogger(__name__)
UNNAMED = "(unnamed)"  # in place of the name of a model that has none


def fingerprint(folder: str | Path) -> str:
    """16 hexadecimal digits that change with a model: path, size and content of its weights and of its other files.

    A copy has the same. Of a hub id that is not on disk it is the id itself. Raises `ModelError` for a file that cannot
    be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        return str(folder)
    try:
        with ACTIVITY.phase(f"looking whether {folder} has changed"):
            return _fingerprint(folder)
    except OSError as error:
        raise ModelError(f"{error.filename or folder}: cannot be read: {error.strerror or error}.") from error


def file_fingerprint(path: Path) -> str:
    """The same of one file, for instance a GGUF. Raises `ModelError`."""
    try:
        return _digests([path])[0][:16]
    except OSError as error:
        raise ModelError(f"{error.filename or path}: cannot be read: {error.strerror or error}.") from error


def _fingerprint(folder: Path) -> str:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in WEIGHTS | OTHERS and path.is_file())
    lines = (
        json.dumps([path.relative_to(folder).as_posix(), path.stat().st_size, digest]) + "\n"
        for path, digest in zip(paths, _digests(paths), strict=True)
    )
    return short_digest("".join(lines))


def _digests(paths: Iterable[Path]) -> list[str]:
    """SHA-256 of each file; those of large ones are kept in the user's cache folder."""
    known = _read_cache()
    fresh: dict[str, tuple[State, str]] = {}

    def digest(path: Path) -> str:
        if (named := _blob_digest(path)) is not None:
            return named
        place, state = str(path.resolve()), _state(path)
        if place in known and known[place][0] == state:
            return known[place][1]
        before = _now()
        content = file_digest(path)
        settled = max(state[1:3]) < before - FRESH and _state(path) == state
        if settled and state[0] >= WORTH_REMEMBERING:
            fresh[place] = (state, content)
        return content

    with ThreadPoolExecutor(READERS) as readers:
        digests = list(readers.map(digest, paths))
    if fresh:
        _write_cache(fresh)
    return digests


def _blob_digest(path: Path) -> str | None:
    """The digest by which the hub's cache names a large file; None where it does not."""
    if not path.is_symlink():
        return None
    blob = path.readlink()
    return blob.name if blob.parent.name == "blobs" and SHA256.fullmatch(blob.name) else None


def _state(path: Path) -> State:
    """What changes when a file is written; a program can set mtime, but not ctime."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def _now() -> int:
    return time.time_ns()


def _cache_path() -> Path:
    """Raises RuntimeError where the user has no home."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return (
        (Path(folder) if Path(folder).is_absolute() else Path.home() / ".cache") / "rag_evaluator" / "fingerprints.json"
    )


def _read_cache() -> dict[str, tuple[State, str]]:
    """Path -> state and digest; what is not as it was written is left out."""
    try:
        content = json.loads(_cache_path().read_bytes())
        return {path: entry for path, value in content.items() if (entry := _entry(value)) is not None}
    except (OSError, RuntimeError, ValueError, AttributeError) as error:
        logger.debug("no fingerprints are remembered: %s", error)
        return {}


def _entry(value: object) -> tuple[State, str] | None:
    match value:
        case [[int(), int(), int(), int()] as state, str(digest)] if SHA256.fullmatch(digest):
            return tuple(state), digest
    return None


def _write_cache(fresh: Mapping[str, tuple[State, str]]) -> None:
    """Add digests to what is in the cache by now, without those of files that are gone.

    Of two processes that write at the same moment one may win; the other's files are read once more some day.
    """
    try:
        path = _cache_path()
        entries = {place: entry for place, entry in {**_read_cache(), **fresh}.items() if Path(place).exists()}
        write_text(path, json.dumps(entries))
    except (OSError, RuntimeError, ResultsError) as error:
        logger.debug("fingerprints are not remembered: %s", error)


def identity_of(model: Any, inner: Any) -> str | None:
    """Fingerprint of the folder a loaded model came from, or of the name it goes by.

    Args:
        model: what users give: a pipeline, an embedding, a ragas LLM.
        inner: the model inside it, or the name of one, as a ragas LLM has it.

    None if it has neither, or an adapter that its folder does not hold. A model whose weights were changed after it was
    loaded is not noticed: it must be saved to a folder of its own.
    """
    if has_adapter(inner):
        return None
    names = (
        getattr(model, "model_id", None),
        getattr(model, "model_name", None),
        inner if isinstance(inner, str) else getattr(inner, "name_or_path", None),
    )
    name = next((str(name) for name in names if name), None)
    return None if name is None else fingerprint(name)


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
