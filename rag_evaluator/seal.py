"""Tells in a moment, without ragas or a model library, that nothing has changed since a run was finished."""

import hashlib
import json
from pathlib import Path
from typing import Any

from rag_evaluator.config import DEMO, Config
from rag_evaluator.errors import ResultsError
from rag_evaluator.journal import Journal
from rag_evaluator.manifest import fingerprint, versions
from rag_evaluator.merge import is_finished
from rag_evaluator.metrics import select_metrics
from rag_evaluator.plan import data_digest

PACKAGE = Path(__file__).parent


def seal_of(config: Config) -> str | None:
    """16 hexadecimal digits that change with anything a run depends on; more than its signatures hold.

    None where it cannot be told so quickly: a model that is no folder, rows that are no file.
    """
    metrics = select_metrics(config.metrics, config.place).values()
    folders = []
    if any(metric.judge for metric in metrics):
        folders.append(PACKAGE / "demo" / "judge" if config.judge.model == DEMO else Path(config.judge.model))
    if any(metric.embeddings for metric in metrics) and config.embeddings.model != DEMO:  # else told by its version
        folders.append(Path(config.embeddings.model))
    if config.dataset is None or not config.dataset.exists() or not all(folder.is_dir() for folder in folders):
        return None
    template = Path(config.judge.chat_template)
    files = [*sorted(config.prompts_dir.glob("*.json")), *([template] if template.is_file() else [])]
    parts: dict[str, Any] = {
        "config": config.model_dump(mode="json"),
        "versions": versions(),
        "models": [fingerprint(folder) for folder in folders],
        "files": [hashlib.sha256(file.read_bytes()).hexdigest() for file in files],
        "data": data_digest(config.dataset),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8")).hexdigest()[:16]


def find_finished(config: Config) -> Journal | None:
    """The journal of a finished run of exactly this configuration, in which no score is worth another try."""
    if not (config.results_dir / "journal" / "merged.json").is_file():
        return None
    try:
        journal = Journal(config.results_dir)
    except ResultsError:  # told by the run that follows
        return None
    note = journal.merged() or {}
    seal = note.get("seal")
    sealed = seal is not None and not note.get("again") and is_finished(journal)
    return journal if sealed and seal == seal_of(config) else None
