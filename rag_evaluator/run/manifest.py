"""The manifest of a run: everything needed to make it again."""

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from rag_evaluator import __version__
from rag_evaluator.config import Config
from rag_evaluator.results.manifest import PART, PROMPT_TEXTS

if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key

PACKAGES = (
    "ragas",
    "transformers",
    "torch",
    "llguidance",
    "langchain-huggingface",
    "sentence-transformers",
)


def describe(
    config: Config,
    signature_lines: Mapping[str, str],
    prompts: Mapping["Key", "TracedPrompt"],
    rows: int,
    metrics: Mapping[str, Any] | None = None,
    part: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The manifest: everything needed to make the run again. No times: the same run gives the same bytes.

    Args:
        part: which rows of the dataset were taken, see `RowChoice`; empty: all.
    """
    return {
        "name": config.name,
        "rows": rows,
        **({PART: dict(part)} if part else {}),
        "signatures": dict(signature_lines),
        "metrics": dict(metrics or {}),
        "config": config.model_dump(mode="json"),
        "prompts": {f"{metric}.{attribute}": prompt.source for (metric, attribute), prompt in prompts.items()},
        "versions": versions(),
        PROMPT_TEXTS: _prompt_texts(prompts),
    }


def _prompt_texts(prompts: Mapping["Key", "TracedPrompt"]) -> dict[str, dict[str, Any]]:
    """Metric -> prompt -> the text around its input, from which and from details its questions are made again."""
    texts: dict[str, dict[str, Any]] = {}
    for (metric, attribute), prompt in prompts.items():
        frames = [asdict(frame) for frame in prompt.frames]
        text = {"language": prompt.language, "source_digest": prompt.source, "frames": frames}
        texts.setdefault(metric, {})[attribute] = text
    return texts


def versions() -> dict[str, str]:
    """Of Python and of what computes the numbers."""
    return {
        "python": platform.python_version(),
        "rag-evaluator": __version__,
        **{name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
