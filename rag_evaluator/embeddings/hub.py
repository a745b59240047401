"""Finds a model on this machine, in a folder or in the Hugging Face cache, and has it loaded quietly."""

import gc
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.config.offline import is_verbose
from rag_evaluator.config.sections import DEMO
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.errors import ModelError
from rag_evaluator.files.progress import ACTIVITY

_lock = threading.Lock()
_loading: list[tuple[int, bool]] = []  # how talkative transformers was before each load that is under way


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
        return str(folder)
    refuse_no_folder(model, key)
    return _cached(model, key) if offline else model


def refuse_no_folder(model: str, key: str = "judge.model") -> None:
    """Raises `ModelError` for a path that is no folder; a name without a path may be a hub id."""
    folder = Path(model)
    if (folder.is_absolute() or model.startswith((".", "~"))) and not folder.is_dir():
        raise ModelError(f"{key}: no such folder: {model}. Give a model folder, a hub id, or 'demo'.")


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


@contextmanager
def loading(model: str) -> Iterator[None]:
    """A model is loaded inside: progress says so, and transformers shows neither bars nor notes, but with `--verbose`.

    Of loads at the same time the last one gives transformers its level back.
    """
    from transformers.utils import logging as library

    with ACTIVITY.phase(f"loading {model}"):
        if is_verbose():
            yield
            return
        with _lock:
            _loading.append(_loading[0] if _loading else (library.get_verbosity(), library.is_progress_bar_enabled()))
            library.set_verbosity_error()
            library._tqdm_active = False  # the public function would also change the bars of huggingface_hub
        try:
            yield
        finally:
            with _lock:
                level, bars = _loading.pop()
                if not _loading:
                    library.set_verbosity(level)
                    library._tqdm_active = bars


def load_failure(error: Exception) -> str:
    """A library's error in one line, and what to do."""
    return f"{in_one_line(error)}. Check the model's files and model_kwargs."


def in_one_line(error: Exception) -> str:
    """A library's error with its kind, without a full stop."""
    message = " ".join(str(error).split())[:400].rstrip(".!")
    return f"{type(error).__name__}: {message}"


def _cached(model: str, key: str) -> str:
    """The folder of a hub id in the cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return str(snapshot_download(model, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, FileNotFoundError):
        raise ModelError(
            f"{key}: '{model}' is no folder here and is not in the Hugging Face cache, and offline: true forbids to "
            "download it. Give the model's folder, or download it once on a machine with network."
        ) from None


def contents_of(folder: Path) -> str:
    """What a folder holds, in a sentence of a message."""
    names = sorted(path.name for path in folder.iterdir())[:8]
    return f"It holds: {', '.join(names)}." if names else "It is empty."


def devices() -> dict[str, Any]:  # Any: JSON
    """Version and build of torch, its threads, and each device with its memory in bytes."""
    import torch

    cuda = [_cuda(number) for number in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "threads": torch.get_num_threads(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "mps": torch.backends.mps.is_available(),
        "devices": cuda,
    }


def _cuda(number: int) -> dict[str, Any]:
    import torch

    about = torch.cuda.get_device_properties(number)
    report: dict[str, Any] = {
        "device": f"cuda:{number}",
        "name": about.name,
        "memory": about.total_memory,
        "capability": f"{about.major}.{about.minor}",
        "bf16": about.major >= 8 or torch.version.hip is not None,
    }
    try:
        free, _ = torch.cuda.mem_get_info(number)
    except RuntimeError as error:  # another process holds it for itself, or it is out of order
        return {**report, "free": None, "error": str(error).splitlines()[0]}
    return {**report, "free": free}


def free_memory() -> None:
    """Collect what is not used, and give what torch keeps on GPUs for later back, so that others find it free."""
    import torch

    for _ in range(2):  # models hold themselves in cycles; what finalizers of the first pass let go falls in the second
        gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def most_memory() -> tuple[int | None, int | None]:
    """The most bytes that this process has used so far: of the machine and of its GPUs; None: not known, or no GPU."""
    try:
        import resource
    except ImportError:  # Windows
        return None, None
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return used, None
    return used, sum(torch.cuda.max_memory_allocated(number) for number in range(torch.cuda.device_count()))
