"""The scores of a finished run, read back from its results folder."""

from pathlib import Path

from rag_evaluator.errors import ResultsError
from rag_evaluator.program import command
from rag_evaluator.results.saved import SavedScores, of_folder
from rag_evaluator.run.finished import read_finished
from rag_evaluator.run.journal import MAIN_TASK, Journal, journals_in


def finished_scores(folder: Path) -> SavedScores:
    """The scores in a results folder. Raises `ResultsError` if it is none, or its run is not finished."""
    refuse_unfinished_run(folder)
    return of_folder(folder)


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
