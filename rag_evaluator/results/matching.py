"""Which rows of several runs belong together: by a column, such as `id` or the question."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset import ALIASES, Sample, is_blank, row_names
from rag_evaluator.dataset.columns import accepted_names
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


def value_of(sample: Sample, column: str) -> Any:
    """What a row has in one of its own columns, or in one of ragas' by any accepted name. Any: JSON."""
    if column in sample.row:
        return sample.row[column]
    names = (name for name in ALIASES if column in accepted_names(name))
    return next((sample.columns.get(name) for name in names), None)


def as_key(value: Any) -> str | None:
    """A value as text, to be compared: composed (NFC), trimmed, 7.0 as 7; None for a blank. Any: JSON."""
    if is_blank(value):
        return None
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False, sort_keys=True))


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
