"""A scored row, as the result files hold it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class Table(Protocol):
    """What can be written: rows in the order of the input."""

    @property
    def metrics(self) -> Sequence[str]: ...

    @property
    def manifest(self) -> Mapping[str, Any]: ...

    def columns(self) -> Sequence[str]:
        """Every column of any row, input columns first."""

    def __iter__(self) -> Iterator[Scored]: ...


def details_line(sample: Sample, metric: str, score: Mapping[str, Any], signature: str | None) -> bytes:
    """A score, as `Score.to_json` has it, as its line in the journal, in a chunk and in `details.jsonl`."""
    fields = {name: score[name] for name in ("value", "reason", "contexts", "judgements")}
    key = {"row": sample.index, "sample": sample.digest, "metric": metric}
    return json_line({**key, **fields, "signature": signature})


def dropped_contexts(sample: Sample, scores: Mapping[str, Score]) -> dict[str, list[int]]:
    """Metric -> positions of the contexts that were left out, as they did not fit into the judge's window."""
    count = len(sample.columns.get("retrieved_contexts", ()))
    return {
        name: list(range(len(score.contexts), count))
        for name, score in scores.items()
        if score.contexts is not None and len(score.contexts) < count
    }


def scored_row(sample: Sample, scores: Mapping[str, Score]) -> dict[str, Any]:
    """The input row with a column added per metric, None where the score is missing, and what contexts were dropped."""
    row = {**sample.row, **{name: None if score.missing else score.value for name, score in scores.items()}}
    dropped = dropped_contexts(sample, scores)
    return {**row, DROPPED: dropped} if dropped else row


def as_text(value: Any) -> Any:
    """Lists and objects as JSON, as the readers of CSV and XLSX expect them back."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
