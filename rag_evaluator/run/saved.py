"""The scores of a finished run, read back from its results folder."""

import logging
from pathlib import Path

from rag_evaluator.errors import ResultsError
from rag_evaluator.program import command
from rag_evaluator.results.manifest import read_manifest
from rag_evaluator.results.saved import SavedScores, of_folder, require_scores
from rag_evaluator.results.written import changed, refuse_changed
from rag_evaluator.run.finished import differing_files, read_finished
from rag_evaluator.run.journal import MAIN_TASK, Journal, journals_in

READ = ("manifest.json", "summary.json", "scores.jsonl", "details.jsonl")  # by whoever reads scores
logger = logging.getLogger(__name__)


def finished_scores(folder: Path) -> SavedScores:
    """The scores in a results folder. Raises `ResultsError` as `require_finished` does."""
    require_finished(folder)
    return of_folder(folder)


def require_finished(folder: Path) -> None:
    """Raises `ResultsError` for a folder without scores, an unfinished run, and files that are not as written."""
    refuse_unfinished_run(folder)
    require_scores(folder)
    has_digest = refuse_changed(folder, read_manifest(folder))
    if not refuse_changed_files(folder) and not has_digest:
        logger.warning(
            "%s: written by an older version, which noted no digest of its scores: only its rows were counted.", folder
        )


def refuse_changed_files(folder: Path) -> bool:
    """Raises `ResultsError` for a file that its journal knows in another form; returns whether a journal knows any."""
    notes = [
        read_finished(journal)
        for journal in (journals_in(folder) if (folder / "journal").is_dir() else ())
        if journal.plan.task == MAIN_TASK
    ]
    files = {name: seen for note in notes if note for name, seen in note.files.items() if name in READ}
    for name in differing_files(folder, files):
        raise changed(folder / name, "it has been changed since")
    return "scores.jsonl" in files


def refuse_unfinished_run(folder: Path) -> None:
    """Raises `ResultsError` for an evaluation whose result files have not been written."""
    if (folder / "journal").is_dir():
        for journal in journals_in(folder):
            if journal.plan.task == MAIN_TASK and read_finished(journal) is None:
                raise ResultsError(f"{folder}: this run is not finished: {_what_is_left(journal)}")


def _what_is_left(journal: Journal) -> str:
    """What is missing of an unfinished run, and what to do about it."""
    missing = len(journal.missing())
    if not missing:
        return f"its result files have not been written. Write them: {command('merge', journal.results)}"
    chunks = journal.plan.chunks
    return f"{missing} of {chunks} chunks are missing. Start it again to continue it, then repeat this command."
