"""`open_run`: a finished run by its results folder; one that is not finished, or was changed since, is refused."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rag_evaluator.dataset import REWRITTEN, CheckedRows, Sample, Samples, value_of
from rag_evaluator.errors import ResultsError
from rag_evaluator.resources import command
from rag_evaluator.results import DETAILS, QUESTION, SCORES, Run, changed
from rag_evaluator.run import MAIN_TASK, Journal, differing_files, journals_in, read_finished

logger = logging.getLogger(__name__)
SUMMARY = "summary.json"
READ = {"manifest.json", SUMMARY, SCORES, DETAILS}  # by whoever reads scores


def open_run(folder: Path) -> Run:
    """A run whose scores may be used.

    Raises `ResultsError` for a folder without scores, a run that is not finished, and files that are not as written.
    """
    if not folder.is_dir():
        raise ResultsError(
            f"{folder}: no such folder. Give the results folder of a run, <output_dir>/<name>, or a file of scores."
        )
    noted: dict[str, Sequence[object]] = {}  # size, time of change and digest, as noted when the file was written
    for journal in journals_in(folder) if (folder / "journal").is_dir() else ():
        if journal.plan.task == MAIN_TASK:
            note = read_finished(journal)
            if note is None:
                raise ResultsError(f"{folder}: this run is not finished: {_what_is_left(journal)}")
            noted |= {name: seen for name, seen in note.files.items() if name in READ}
    if not (folder / SCORES).is_file():
        raise ResultsError(
            f"{folder}: no scores here ({SCORES} is missing). Give the results folder of a finished evaluation."
        )
    run = Run(folder)
    run.check()
    for name in differing_files(folder, noted):
        raise changed(folder / name, "it has been changed since")
    return run


def with_rewrites(rows: CheckedRows, folder: Path | str | None) -> CheckedRows:
    """The rows with what the judge of a finished run has made of their questions; None: no run.

    Raises `ResultsError` for a run that has rewritten none of them; a warning counts those that it lacks.
    """
    if folder is None:
        return rows
    rewrites = {value_of(sample, QUESTION): sample.row.get(REWRITTEN) for sample in open_run(Path(folder)).samples}

    def rewritten(sample: Sample) -> Sample:
        text = rewrites.get(value_of(sample, QUESTION)) if sample.needs_rewrite else None
        if text is None:
            return sample
        return replace(sample, row={**sample.row, REWRITTEN: text}, columns={**sample.columns, QUESTION: text})

    samples = Samples(map(rewritten, rows.whole))
    if REWRITTEN not in samples.names:
        raise ResultsError(
            f"{folder} has rewritten none of these questions. Give a run of these rows to questions_from."
        )
    if left := sum(sample.needs_rewrite for sample in samples):
        logger.warning("%s lacks %s of the questions: the judge rewrites these", folder, left)
    return replace(rows, whole=samples)


def _what_is_left(journal: Journal) -> str:
    """What is missing of an unfinished run, and what to do about it."""
    missing = len(journal.missing())
    if not missing:
        return f"its result files have not been written. Write them: {command('merge', journal.results)}"
    chunks = journal.plan.chunks
    return f"{missing} of {chunks} chunks are missing. Start it again to continue it, then repeat this command."
