"""A scored row, as the result files hold it, and what writes such rows to a file."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rag_evaluator.dataset import Sample
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.score import Score

DROPPED = "dropped_contexts"


class Scored(Protocol):
    """One row with its scores."""

    @property
    def sample(self) -> Sample: ...

    @property
    def scores(self) -> Mapping[str, Score]: ...

    def details(self) -> Iterable[bytes]:
        """The lines of `details.jsonl`."""

    def judged_scores(self) -> Mapping[str, Score]:
        """The scores with their judgements."""


class Table(Protocol):
    """What can be written: rows in the order of the input."""

    @property
    def metrics(self) -> Sequence[str]: ...

    @property
    def manifest(self) -> Mapping[str, Any]: ...

    def columns(self) -> Sequence[str]:
        """Every column of any row, input columns first."""

    def __iter__(self) -> Iterator[Scored]: ...


@dataclass(frozen=True)
class Heading:
    """What is known of a table before its first row."""

    columns: Sequence[str]
    metrics: Sequence[str]
    manifest: Mapping[str, Any]


Add = Callable[[Scored], object]  # takes each row, in order
Writer = Callable[[Path, Heading], AbstractContextManager[Add]]  # the file is whole when the context ends without error


def heading_of(table: Table) -> Heading:
    return Heading(list(table.columns()), list(table.metrics), table.manifest)


def ignore(scored: Scored) -> None:
    """For a file that holds nothing of the rows."""


def details_lines(sample: Sample, metric: str, score: Score, signature: str | None) -> Iterator[bytes]:
    """A score as its lines in `details.jsonl`: one, or one for each repeat."""
    key = {"row": sample.index, "sample": sample.digest, "metric": metric}
    if not score.repeated:
        yield json_line({**key, **score.to_json(), "signature": signature})
    for repeat, made in enumerate(score.repeated):
        yield json_line({**key, "repeat": repeat, **made.to_json(), "signature": signature})


def dropped_contexts(scored: Scored) -> dict[str, list[int]]:
    """Metric -> positions of the contexts that were left out, as they did not fit into the judge's window."""
    count = len(scored.sample.columns.get("retrieved_contexts", ()))
    return {
        name: list(range(len(score.contexts), count))
        for name, score in scored.scores.items()
        if score.contexts is not None and len(score.contexts) < count
    }


def scored_row(scored: Scored) -> dict[str, Any]:
    """The input row with a column added per metric, None where the score is missing, and what contexts were dropped."""
    values = {name: None if score.missing else score.value for name, score in scored.scores.items()}
    row, dropped = {**scored.sample.row, **values}, dropped_contexts(scored)
    return {**row, DROPPED: dropped} if dropped else row


def cells_of(scored: Scored, columns: Sequence[str]) -> list[Any]:
    """The row as a table's cells, None where a column has nothing."""
    row = scored_row(scored)
    return [_as_text(row.get(column)) for column in columns]


def _as_text(value: Any) -> Any:
    """Lists and objects as JSON, as the readers of CSV and XLSX expect them back."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
