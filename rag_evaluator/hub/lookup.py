"""Models on this machine, in a folder or in the Hugging Face cache: found, and what libraries say of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.config import DEMO
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.errors import ModelError
from rag_evaluator.files import JsonDict, refuse_pointers


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


def read_settings(path: Path, key: str) -> JsonDict:
    """The JSON object in a file of a model's folder. Raises `ModelError`.

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
        server = f'judge: {{engine: server, url: http://127.0.0.1:11434/v1, served_model: "{model}"}}'
        hints = {
            "judge.model": f" If a server runs it (Ollama, vLLM), write {server} (docs/servers.md).",
            "verifier.model": " Without a model: 'judge', or 'words', which counts words.",
        }
        raise ModelError(
            f"{key}: '{model}' is no folder here and is not in the Hugging Face cache, and offline: true forbids to "
            "download it. Give the model's folder, or 'demo', the toy; or download it once on a machine with network."
            + hints.get(key, "")
        ) from None


def contents_of(folder: Path) -> str:
    """What a folder holds, in a sentence of a message."""
    names = sorted(path.name for path in folder.iterdir())[:8]
    return f"It holds: {', '.join(names)}." if names else "It is empty."


def unwrapped(model: Any) -> Any:
    """LangChain's model in the wrapper that ragas had for it; all else as it is. Any: whatever the user gave."""
    inner = getattr(model, "embeddings", None)
    return inner if hasattr(inner, "embed_documents") else getattr(model, "langchain_llm", model)
