"""What a run is made of: its manifest, the digest by which a start knows that nothing has changed, its report."""

import json
import logging
import platform
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import DEMO, Config, find_language
from rag_evaluator.dataset import REWRITE, data_digest
from rag_evaluator.demo import DEMO_JUDGE, demo_embeddings
from rag_evaluator.errors import ResultsError
from rag_evaluator.files import file_digest, gguf_of, short_digest
from rag_evaluator.hub import fingerprint
from rag_evaluator.metrics import Metrics
from rag_evaluator.prompts import PACKAGED, pack_files
from rag_evaluator.resources import __version__, command
from rag_evaluator.results import PART, PROMPT_TEXTS, SCORES, Run
from rag_evaluator.run import Journal, is_complete, note_finished, note_rewritten, read_finished

if TYPE_CHECKING:
    from rag_evaluator.prompts import Prompts

REPORT = "report.html"
DESCRIBED_BY = ("config.json", "modules.json", "adapter_config.json")  # a model, of any kind
QUICK = 1000  # rows; a longer report is not written again by the way
logger = logging.getLogger(__name__)
PACKAGES = (
    "ragas",
    "transformers",
    "torch",
    "llguidance",
    "langchain-huggingface",
    "sentence-transformers",
)


def write_own_report(folder: Path) -> bool:
    """Write the report of a run into its results folder; False, with a warning, where that was not possible."""
    from rag_evaluator.report import write_document  # templates and charts: not for commands that write none

    try:
        write_document([folder], folder / REPORT)
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


def describe(
    config: Config,
    signature_lines: Mapping[str, str],
    prompts: "Prompts",
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


def _prompt_texts(prompts: "Prompts") -> dict[str, dict[str, Any]]:
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


def run_digest_of(config: Config, chosen: Metrics) -> str | None:
    """16 hexadecimal digits that change with anything a run depends on; more than its signatures hold.

    Args:
        chosen: the metrics of the configuration.

    None where it cannot be told so quickly: a model that is no folder, rows that are no file.
    """
    metrics = chosen.values()
    if any("function" in metric.options for metric in metrics):  # whose text only a module tells
        return None
    folders = []
    if config.judge.history == REWRITE or any(metric.judge for metric in metrics):
        judge = DEMO_JUDGE if config.judge.model == DEMO else Path(config.judge.model)
        folders.append(gguf_of(judge) or judge)
        folders += [] if config.judge.adapter is None else [Path(config.judge.adapter)]
    if any(metric.embeddings for metric in metrics):
        folders.append(demo_embeddings() if config.embeddings.model == DEMO else Path(config.embeddings.model))
    if config.verifier.has_folder and any(metric.verifier == "model" for metric in metrics):
        named = (config.verifier.model, config.verifier.base)
        folders += [Path(model) for model in named if model is not None]
    folders += [Path(str(metric.reranker.model)) for metric in metrics if metric.reranker is not None][:1]
    if config.dataset is None or not config.dataset.exists() or not all(map(_is_model, folders)):
        return None
    template = Path(config.judge.chat_template)
    language = find_language(config.language).name
    packs = [path for folder in (config.prompts_dir, *PACKAGED) for path in pack_files(folder, language)]
    files = [*packs, template] if template.is_file() else packs
    files += [] if config.questions_from is None else [config.questions_from / SCORES]
    try:
        parts = {
            "config": config.model_dump(mode="json", include={*Config.model_fields}),
            "versions": versions(),
            "models": [fingerprint(folder) for folder in folders],
            "files": [file_digest(file) for file in files],
            "data": data_digest(config.dataset),
        }
    except OSError:  # the run that follows says so
        return None
    return short_digest(json.dumps(parts, sort_keys=True))


def _is_model(path: Path) -> bool:
    """Whether a path is a file, or a folder with a configuration; of any other folder all below it would be read."""
    return path.is_file() or any((path / name).is_file() for name in DESCRIBED_BY)


def is_scored(config: Config, digest: str | None) -> bool:
    """Whether there is a finished run of this digest, in which no score is worth another try."""
    if digest is None or not (config.results_dir / "journal" / "manifest.json").is_file():
        return False
    try:
        journal = Journal(config.results_dir)
        is_read = bool(Run(config.results_dir).summary)
    except ResultsError:  # the run that follows says so, or writes the summary again
        return False
    note = read_finished(journal)
    if not is_read or note is None or note.again or not is_complete(journal):
        return False
    if config.report and REPORT not in note.files:  # it could not be written
        return False
    return note.seal == digest


def seal(folder: Path, digest: str | None) -> None:
    """Note in a finished run what it was made of, so that the next start need not find out."""
    if digest is None:
        return
    journal = Journal(folder)
    if (note := read_finished(journal)) is not None:
        note_finished(journal, replace(note, seal=digest))
