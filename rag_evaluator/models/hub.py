"""Models on this machine, in a folder or in the Hugging Face cache: found, told apart; their memory.

A fingerprint covers the whole content of a model. It is read in parallel and remembered, so that a start takes no
minutes.
"""

import gc
import json
import logging
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_evaluator.config.sections import DEMO
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.errors import ModelError, ResultsError
from rag_evaluator.files.atomic import SHORT, file_digest, short_digest, write_text
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.files.weights import refuse_pointers


def find_model(model: str, offline: bool, key: str = "judge.model", marks: Sequence[str] = ("config.json",)) -> str:
    """The folder of a model, or its hub id when the network may be used.

    Args:
        key: of the configuration, named in errors.
        marks: a folder with one of these files is a model.

    Raises `ModelError` when it is neither a model folder nor, offline, in the Hugging Face cache.
    """
    if model == DEMO:
        return str(DEMO_JUDGE)
    folder = Path(model)
    if folder.is_dir():
        if not any((folder / mark).is_file() for mark in marks):
            missing = " or ".join(marks)
            raise ModelError(f"{key}: {folder} is not a model folder: it has no {missing}. {contents_of(folder)}")
        refuse_pointers(folder, key)
        return str(folder)
    refuse_no_folder(model, key)
    return _cached(model, key) if offline else model


def refuse_no_folder(model: str, key: str = "judge.model") -> None:
    """Raises `ModelError` for a path that is no folder; a name without a path may be a hub id."""
    folder = Path(model)
    if (folder.is_absolute() or model.startswith((".", "~"))) and not folder.is_dir():
        raise ModelError(
            f"{key}: no such folder: {model}. Give a model folder, a hub id, or 'demo', the toy. "
            "Where it is on another machine, run this there."
        )


def read_settings(path: Path, key: str) -> dict[str, Any]:
    """The JSON object in a file of a model's folder. Raises `ModelError`. Any: JSON.

    Args:
        key: of the configuration, named in errors.
    """
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{key}: {path} cannot be read as JSON: {error}.") from None
    if not isinstance(settings, dict):
        raise ModelError(f"{key}: {path} is no JSON object.")
    return settings


def load_failure(error: Exception) -> str:
    """A library's error in one line, and what to do."""
    return f"{in_one_line(error)}. Check the model's files and model_kwargs."


def in_one_line(error: Exception) -> str:
    """A library's error with its kind, without a full stop."""
    message = " ".join(str(error).split())[:400].rstrip(".!")
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _cached(model: str, key: str) -> str:
    """The folder of a hub id in the cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return str(snapshot_download(model, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, FileNotFoundError):
        server = "judge: {engine: server, url: http://127.0.0.1:11434/v1}"
        of_server = f" If a server runs it (Ollama, vLLM), write {server} (docs/engines.md)."
        raise ModelError(
            f"{key}: '{model}' is no folder here and is not in the Hugging Face cache, and offline: true forbids to "
            "download it. Give the model's folder, or 'demo', the toy; or download it once on a machine with network."
            + (of_server if key == "judge.model" else "")
        ) from None


def contents_of(folder: Path) -> str:
    """What a folder holds, in a sentence of a message."""
    names = sorted(path.name for path in folder.iterdir())[:8]
    return f"It holds: {', '.join(names)}." if names else "It is empty."


def usable_cores() -> int:
    """Cores that this process may use, by its affinity, the quota of its cgroup and Slurm's `--cpus-per-task`."""
    from joblib import cpu_count

    return min(int(cpu_count()), int(os.environ.get("SLURM_CPUS_PER_TASK") or sys.maxsize))


def devices() -> dict[str, Any]:  # Any: JSON
    """The version of torch, its threads, the cores for them, and each GPU with its memory in bytes."""
    import torch

    numbers = range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    found = [torch.cuda.get_device_properties(number) for number in numbers]
    gpus = [{"name": gpu.name, "memory": gpu.total_memory} for gpu in found]
    return {"torch": torch.__version__, "gpus": gpus, "threads": torch.get_num_threads(), "cores": usable_cores()}


def free_memory() -> None:
    """Collect what is not used, and give what torch keeps on GPUs for later back, so that others find it free."""
    import torch

    for _ in range(2):  # models hold themselves in cycles; what finalizers of the first pass let go falls in the second
        gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


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
