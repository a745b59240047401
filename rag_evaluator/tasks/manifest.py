"""What a run is made of: its manifest, and its report."""

import logging
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config.schema import Config
from rag_evaluator.errors import ResultsError
from rag_evaluator.resources import __version__, command
from rag_evaluator.results.manifest import PART, PROMPT_TEXTS
from rag_evaluator.results.run import Run
from rag_evaluator.run.status import note_rewritten

if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key

REPORT = "report.html"
QUICK = 1000  # rows; a longer report is not written again by the way
logger = logging.getLogger(__name__)


def write_own_report(folder: Path) -> bool:
    """Write the report of a run into its results folder; False, with a warning, where that was not possible."""
    from rag_evaluator.report.document import write_report  # templates and charts: not for commands that write none

    try:
        write_report([folder], folder / REPORT)
    except Exception as error:  # whatever it is: the scores are written, and hours of work
        again = command("report", folder)
        logger.warning(
            "%s: the scores are written, the report is not: %s. To try again: %s",
            folder,
            error if isinstance(error, ResultsError) else repr(error),
            again,
        )
        return False
    return True


def refresh_report(folder: Path) -> None:
    """Write a report anew that is there, after figures were added to its run; not if that would take long."""
    is_quick = (folder / REPORT).is_file() and int(Run(folder).manifest.get("rows") or 0) <= QUICK
    if is_quick and write_own_report(folder):
        note_rewritten(folder, [REPORT])


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
