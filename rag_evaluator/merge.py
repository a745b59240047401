"""Writes the result files from finished chunks, by whoever of the workers comes last."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import Sample, open_dataset
from rag_evaluator.errors import ResultsError
from rag_evaluator.journal import Journal, WorkerJournal, now, writing
from rag_evaluator.merged import Merged
from rag_evaluator.plan import data_digest
from rag_evaluator.results import Results
from rag_evaluator.scores import Score
from rag_evaluator.tables import FILES, write_table

QUIET_SECONDS = 30.0  # a merge of another worker that has not moved for so long is taken over
LOOK_SECONDS = 0.3


def merge(journal: WorkerJournal, samples: Sequence[Sample], note: Mapping[str, str | None]) -> None:
    """Write the result files. Raises `MissingChunksError`, or `ResultsError` for a chunk that is damaged or foreign.

    Args:
        note: `run`, what the workers of this run share, as a later run tries again to make missing scores; `seal`, see
            `seal_of`.
    """
    table = Merged(journal, samples)
    write_table(table, journal.results)
    journal.note_merged({"again": table.again, **note, "ended": now()})


def merge_once(journal: WorkerJournal, samples: Sequence[Sample], note: Mapping[str, str | None]) -> None:
    """`merge`, unless another worker is at it: then wait for it, and take over if it does not move any more."""
    claim = journal.folder / "tmp" / "merging"
    while not is_finished(journal):
        try:
            with writing(claim):
                claim.touch(exist_ok=False)
        except FileExistsError:
            if not _moves(claim, journal):
                claim.unlink(missing_ok=True)
            continue
        try:
            merge(journal, samples, note)
        finally:
            claim.unlink(missing_ok=True)


def is_finished(journal: Journal) -> bool:
    """Whether the result files of this plan have been written and are there."""
    return journal.merged() is not None and all((journal.results / name).is_file() for name in FILES)


def read_summary(journal: Journal) -> dict[str, dict[str, Any]]:
    """What `summary.json` says."""
    summary: dict[str, dict[str, Any]] = json.loads((journal.results / "summary.json").read_bytes())
    return summary


def samples_of(journal: Journal) -> Sequence[Sample]:
    """The rows a journal is about. Raises `ResultsError` if they are not what was scored."""
    source = journal.about.get("config", {}).get("dataset")
    if not source:
        raise ResultsError(f"{journal.results}: its rows were given from Python: merge with RAGEvaluator.evaluate.")
    samples = open_dataset(Path(source), journal.plan.columns)
    if data_digest(source) != journal.plan.data:
        raise ResultsError(f"{source}: not the rows that were scored: the file has changed since.")
    return samples


def _moves(claim: Path, journal: Journal) -> bool:
    """Wait while another process writes; False once nothing has happened for a while."""
    seen: list[tuple[str, int]] | None = None
    since = time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        if not claim.exists():
            return True
        with suppress(FileNotFoundError):  # just finished
            state = [(path.name, path.stat().st_size) for path in journal.results.glob(".writing-*/*")]
            if state != seen:
                seen, since = state, time.monotonic()
        time.sleep(LOOK_SECONDS)
    return False


def read_results(journal: Journal, samples: Sequence[Sample]) -> Results:
    """The results of a finished run. The judgements stay on disk until they are asked for."""
    scores: dict[str, list[Score]] = {name: [] for name in journal.plan.signatures}
    table = Merged(journal, samples)
    for row in table:
        for name, score in row.scores.items():
            scores[name].append(score)
    return Results(samples, scores, journal.plan.signatures, table.manifest, journal)
