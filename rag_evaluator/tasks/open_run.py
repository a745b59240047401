"""`open_run`: a finished run by its results folder; one that is not finished, or was changed since, is refused."""

from pathlib import Path

from rag_evaluator.errors import ResultsError
from rag_evaluator.resources import command
from rag_evaluator.results.manifest import SCORES, changed
from rag_evaluator.results.rows import DETAILS
from rag_evaluator.results.run import Run
from rag_evaluator.run.journal import MAIN_TASK, Journal, journals_in
from rag_evaluator.run.status import differing_files, read_finished

SUMMARY = "summary.json"
READ = {"manifest.json", SUMMARY, SCORES, DETAILS}  # by whoever reads scores


def open_run(folder: Path) -> Run:
    """A run whose scores may be used.

    Raises `ResultsError` for a folder without scores, a run that is not finished, and files that are not as written.
    """
    journals = _journals(folder)
    _refuse_unfinished(folder, journals)
    _require_scores(folder)
    run = Run(folder)
    run.check()
    noted = _noted_files(journals)
    for name in differing_files(folder, {name: noted[name] for name in noted if name in READ}):
        raise changed(folder / name, "it has been changed since")
    return run


def _journals(folder: Path) -> list[Journal]:
    """The journals of the evaluation itself."""
    journals = journals_in(folder) if (folder / "journal").is_dir() else ()
    return [journal for journal in journals if journal.plan.task == MAIN_TASK]


def _refuse_unfinished(folder: Path, journals: list[Journal]) -> None:
    for journal in journals:
        if read_finished(journal) is None:
            raise ResultsError(f"{folder}: this run is not finished: {_what_is_left(journal)}")


def _require_scores(folder: Path) -> None:
    if not folder.is_dir():
        raise ResultsError(
            f"{folder}: no such folder. Give the results folder of a run, <output_dir>/<name>, or a file of scores."
        )
    if not (folder / SCORES).is_file():
        raise ResultsError(
            f"{folder}: no scores here ({SCORES} is missing). Give the results folder of a finished evaluation."
        )


def _noted_files(journals: list[Journal]) -> dict[str, list[object]]:
    """Name -> size, time of change and digest, as noted when the file was written."""
    notes = [note.files for note in map(read_finished, journals) if note is not None]
    return {name: list(stamp) for files in notes for name, stamp in files.items()}


def _what_is_left(journal: Journal) -> str:
    """What is missing of an unfinished run, and what to do about it."""
    missing = len(journal.missing())
    if not missing:
        return f"its result files have not been written. Write them: {command('merge', journal.results)}"
    chunks = journal.plan.chunks
    return f"{missing} of {chunks} chunks are missing. Start it again to continue it, then repeat this command."
