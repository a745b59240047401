"""Where models are cached, how large that is; variables of the environment whose values give nobody away."""

import os
import time
from pathlib import Path
from typing import Any

from rag_evaluator.health.machine import disk

PATIENCE = 5.0  # seconds for the size of a cache, which may hold millions of files on a slow disk
PLACES = (
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "TRANSFORMERS_CACHE",
    "TORCH_HOME",
    "XDG_CACHE_HOME",
    "TMPDIR",
)
VALUES = (
    "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
    "PYTHONHASHSEED", "PYTHONUTF8", "LANG", "LC_ALL", "TZ", "COLUMNS", "NO_COLOR", "TERM", "VLLM_USE_V1",
    "VLLM_CPU_KVCACHE_SPACE", "VLLM_BATCH_INVARIANT",
)  # fmt: skip
ONLY_SET = (
    "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "NO_PROXY", "PYTHONPATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "RAG_EVALUATOR_TOKEN",
)  # fmt: skip  # that they are set may matter; what they say is nobody's business
Json = dict[str, Any]  # Any: JSON


def environment() -> Json:
    """Values of variables that are known to be harmless, and names of others that are set."""
    return {
        "values": {name: os.environ[name] for name in (*PLACES, *VALUES) if name in os.environ},
        "set": [name for name in ONLY_SET if name in os.environ or name.lower() in os.environ],
    }


def cache() -> Json:
    """The folder where the Hugging Face libraries look for models."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface")  # noqa: PTH118
    path = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub").expanduser()
    if not path.is_dir():
        return {"path": str(path), "there": False}
    size, whole = _size(path)
    models = len(list(path.glob("models--*")))
    return {"path": str(path), "there": True, "bytes": size, "all": whole, "models": models, **disk(path)}


def _size(folder: Path) -> tuple[int, bool]:
    """Bytes of the files below, links not counted, and whether these are all: the time is limited."""
    until, size = time.monotonic() + PATIENCE, 0
    for place, _, names in os.walk(folder, onerror=None):
        for name in names:
            try:
                found = os.lstat(os.path.join(place, name))  # noqa: PTH118  # millions of them
            except OSError:
                continue
            size += found.st_size if found.st_nlink and not os.path.islink(os.path.join(place, name)) else 0  # noqa: PTH114, PTH118
        if time.monotonic() > until:
            return size, False
    return size, True
