"""Has the result files written from finished chunks, by whoever of the workers comes last."""

from contextlib import suppress

from rag_evaluator.files import ACTIVITY, writing

from .journal import TMP, Journal
from .stage import Stage, Table
from .status import Finished, describe_files, is_complete, note_finished
from .workers import now

LONGEST_SECONDS = 600.0  # a worker of another machine that writes results for so long is taken for dead


def merge(journal: Journal, stage: Stage, run: str | None) -> None:
    """Write the result files. Raises `MissingChunksError`, or `ResultsError` for a chunk that is damaged or foreign.

    Args:
        run: what the workers of this start share, as a later one tries again to make missing records.
    """
    with ACTIVITY.phase(f"writing results to {journal.results}"):
        names = stage.write(Table(journal, stage), journal.results)
    again = [chunk for chunk in range(journal.plan.chunks) if journal.read_footer(chunk).get("again")]
    files = describe_files(journal.results, names)
    note_finished(journal, Finished(journal.digest, again, run, now(), files))


def merge_once(journal: Journal, stage: Stage, run: str | None) -> None:
    """`merge`, unless another worker is at it: then wait for it. Merging twice does no harm: both write the same."""
    from filelock import SoftFileLock, Timeout  # works on file systems of clusters, too

    lock = SoftFileLock(journal.folder / TMP / "merging")
    while not is_complete(journal):
        with (
            writing(journal.folder),
            ACTIVITY.phase("looking whether results are written"),
            suppress(Timeout),
        ):
            lock.acquire(LONGEST_SECONDS)  # a lock of a process of this machine that has ended is broken
        try:
            if not is_complete(journal):
                merge(journal, stage, run)
        finally:
            lock.release()
