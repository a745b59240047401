"""Tells in a moment, without ragas or a model library, that nothing has changed since a run was finished."""

import json
from pathlib import Path
from typing import Any

from rag_evaluator.config import Config
from rag_evaluator.config_sections import DEMO
from rag_evaluator.demo import DEMO_JUDGE, demo_embeddings
from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import file_digest, short_digest
from rag_evaluator.metrics.chosen import chosen_metrics
from rag_evaluator.models.fingerprint import fingerprint
from rag_evaluator.resources import packaged
from rag_evaluator.results.kept_prompts import are_kept
from rag_evaluator.results.summary import read_summary
from rag_evaluator.run.finished import is_complete, read_finished
from rag_evaluator.run.journal import Journal
from rag_evaluator.run.manifest import versions
from rag_evaluator.run.plan import data_digest
from rag_evaluator.tasks.own_report import REPORT


def run_digest_of(config: Config, data: str | None = None) -> str | None:
    """16 hexadecimal digits that change with anything a run depends on; more than its signatures hold.

    Args:
        data: digest of the rows that are being scored; None reads the dataset.

    None where it cannot be told so quickly: a model that is no folder, rows that are no file.
    """
    metrics = chosen_metrics(config).values()
    if any("function" in metric.options for metric in metrics):  # whose text only a module tells
        return None
    folders = []
    if any(metric.judge for metric in metrics):
        folders.append(DEMO_JUDGE if config.judge.model == DEMO else Path(config.judge.model))
        folders += [] if config.judge.adapter is None else [Path(config.judge.adapter)]
    if any(metric.embeddings for metric in metrics):
        folders.append(demo_embeddings() if config.embeddings.model == DEMO else Path(config.embeddings.model))
    if config.dataset is None or not config.dataset.exists() or not all(folder.is_dir() for folder in folders):
        return None
    template = Path(config.judge.chat_template)
    packs = [path for folder in (config.prompts_dir, packaged("prompts")) for path in sorted(folder.glob("*.json"))]
    files = [*packs, *([template] if template.is_file() else [])]
    parts: dict[str, Any] = {
        "config": config.model_dump(mode="json", exclude={"keep_prompts", "certificate"}),
        "versions": versions(),
        "models": [fingerprint(folder) for folder in folders],
        "files": [file_digest(file) for file in files],
        "data": data or data_digest(config.dataset),
    }
    return short_digest(json.dumps(parts, sort_keys=True))


def find_finished(config: Config) -> Journal | None:
    """The journal of a finished run of exactly this configuration, in which no score is worth another try."""
    if not (config.results_dir / "journal" / "manifest.json").is_file():
        return None
    try:
        journal = Journal(config.results_dir)
        read_summary(config.results_dir)
    except ResultsError:  # the run that follows says so, or writes the summary again
        return None
    note = read_finished(journal)
    if note is None or note.seal is None or note.again or not is_complete(journal):
        return None
    if config.report and REPORT not in note.files:  # it could not be written
        return None
    if config.keep_prompts and not are_kept(config.results_dir, journal.plan.chunks):
        return None
    return journal if note.seal == run_digest_of(config) else None
