"""`open_run`: a finished run by its results folder; one that is not finished, or was changed since, is refused."""

from collections.abc import Sequence
from pathlib import Path

from rag_evaluator.errors import ResultsError
from rag_evaluator.resources import command
from rag_evaluator.results import DETAILS, SCORES, Run, changed
from rag_evaluator.run import MAIN_TASK, Journal, differing_files, journals_in, read_finished

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


def _what_is_left(journal: Journal) -> str:
    """What is missing of an unfinished run, and what to do about it."""
    missing = len(journal.missing())
    if not missing:
        return f"its result files have not been written. Write them: {command('merge', journal.results)}"
    chunks = journal.plan.chunks
    return f"{missing} of {chunks} chunks are missing. Start it again to continue it, then repeat this command."
