"""Records of rows that the generation in force leaves out: kept beside it, so that a run with more rows finds them.

journal/spare/<process>.jsonl       records as in `scores/`; of no chunk, found by their key
"""

from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from rag_evaluator.files.jsonl import Appender
from rag_evaluator.run.lines import Line, encode
from rag_evaluator.run.plan import Plan

SPARE = "spare"
MEASURED = "measured.json"  # what it took to make them, if that was a trial


def spare_files(place: Path) -> list[Path]:
    """The files of a stage's journal; `place` is its folder."""
    return sorted((place / SPARE).glob("*.jsonl"))


def open_spare(place: Path, process: str) -> Appender:
    """The file of this process, to be written."""
    (place / SPARE).mkdir(parents=True, exist_ok=True)
    return Appender(place / SPARE / f"{process}.jsonl")


def keep_spare(place: Path, process: str, plan: Plan, lines: Iterable[Line]) -> None:
    """Keep what a plan could use of an older generation if it took more rows; on disk when this returns."""
    useful = (line for line in lines if plan.columns.get(line.key.column) == line.key.signature)
    first = next(useful, None)
    if first is None:
        return
    with closing(open_spare(place, process)) as file:
        for line in (first, *useful):
            file.append(encode(plan.task, plan.stage, line.index, line.key, line.record))
        file.sync()


def remove_spare(place: Path) -> None:
    """Forget these records: they are made anew, or every row has its own."""
    with suppress(OSError):  # files of others stay
        for path in spare_files(place):
            path.unlink(missing_ok=True)
        (place / SPARE / MEASURED).unlink(missing_ok=True)
        (place / SPARE).rmdir()
