"""Which rows of several runs belong together: by a column, such as `id` or the question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_evaluator.dataset import Sample, row_names
from rag_evaluator.dataset.keys import as_key, value_of
from rag_evaluator.errors import ResultsError, did_you_mean
from rag_evaluator.results.saved import SavedScores

ID, QUESTION = "id", "user_input"


@dataclass(frozen=True)
class Matched:
    """The rows of one run by what they are matched on.

    Attributes:
        places: key -> the rows that have it, in order: several answers to one question share theirs.
        without: rows that have no key.
    """

    places: dict[str, list[int]]
    without: int


def match(runs: Sequence[SavedScores], on: str | None = None) -> tuple[str, list[Matched]]:
    """The column that rows are matched on, and the rows of each run by it.

    Args:
        on: a column; None takes `id` if each row of every run has its own, else the question.

    Raises `ResultsError` for a column that a run does not have.
    """
    if on is None:
        on = ID if all(map(_has_ids, runs)) else QUESTION
    return on, [_by_key(run, on) for run in runs]


def nothing_in_common(a: SavedScores, b: SavedScores, on: str) -> ResultsError:
    """The error where no row of one run belongs to a row of the other."""
    return ResultsError(
        f"{a.name} and {b.name} have no row in common: no '{on}' of one is in the other. Choose the column "
        "that tells which rows belong together with --on (on= in Python)."
    )


def keys_of(samples: Iterable[Sample], column: str) -> list[str | None]:
    return [as_key(value_of(sample, column)) for sample in samples]


def require_column(run: SavedScores, column: str, use: str) -> None:
    """Raises `ResultsError` if no row of a run has something in a column; `use` is what the column was given for."""
    if all(key is None for key in keys_of(run.samples, column)):
        raise ResultsError(
            f"{run.name}: no row has something in '{column}', {use}.{did_you_mean(column, row_names(run.samples))}"
        )


def _has_ids(run: SavedScores) -> bool:
    keys = keys_of(run.samples, ID)
    return None not in keys and len(set(keys)) == len(keys)


def _by_key(run: SavedScores, on: str) -> Matched:
    require_column(run, on, "by which rows are matched (--on, on=)")
    places: dict[str, list[int]] = {}
    keys = keys_of(run.samples, on)
    for place, key in enumerate(keys):
        if key is not None:
            places.setdefault(key, []).append(place)
    return Matched(places, keys.count(None))
