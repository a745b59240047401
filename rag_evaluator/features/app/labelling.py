"""Labels that people give in the app, blind: what they are asked, in order, and the table that `certify` reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.features.app.record import ReviewRecord
from rag_evaluator.features.app.store import ReviewStore
from rag_evaluator.features.certify.table import ANNOTATOR, DRAW, LABEL, METRIC, ROW, SAMPLE, SAMPLED, STATEMENT
from rag_evaluator.features.certify.texts import choices_of, label_of
from rag_evaluator.files.atomic import replace_bytes, safe_names
from rag_evaluator.files.jsonl import json_line
from rag_evaluator.results.certificate import FOLDER
from rag_evaluator.results.judgement import numbers_of
from rag_evaluator.statistics.formulas import Scale

NOT_SAMPLED = "not-sampled"  # in place of the name of a draw
Json = Mapping[str, Any]  # Any: JSON


@dataclass(frozen=True)
class LabelItem:
    """One question to a person.

    Attributes:
        statement: that is labelled, as the judge has written it; None: the whole score.
    """

    row: int
    metric: str
    statement: str | None = None


@dataclass(frozen=True)
class LabelChoice:
    """An answer that is offered.

    Attributes:
        key: that gives it.
        word: `yes`, or a grade.
    """

    key: str
    word: str
    value: float


def choices(scale: Scale, per_statement: bool) -> list[LabelChoice]:
    """The answers to a question, as label sheets offer them: yes and no, or the grades of the scale."""
    words = choices_of("english", 0.0 if per_statement else scale.low, scale.high)
    return [
        LabelChoice(str(word)[0] if isinstance(word, str) else str(word), str(word), label_of(word)) for word in words
    ]


def items_of(rows: Sequence[int], metrics: Sequence[str], details: Mapping[int, Sequence[Json]]) -> list[LabelItem]:
    """What is asked, row by row in the order in which they were drawn.

    Args:
        details: row -> its details, to label statements; an empty one asks for whole scores. A metric
            whose judge wrote no statements is asked for as a whole.
    """
    return [item for row in rows for metric in metrics for item in _items(row, metric, details.get(row, ()))]


def _items(row: int, metric: str, records: Sequence[Json]) -> Iterator[LabelItem]:
    first = next((record for record in records if record["metric"] == metric), None)
    statements = [] if first is None else statements_of(first)
    yield from [LabelItem(row, metric, statement) for statement in statements] or [LabelItem(row, metric)]


def statements_of(record: Json) -> list[str]:
    """The statements on which the judge gave a verdict of yes or no, each once, in order; without the verdicts."""
    statements = (verdict.statement for verdict in numbers_of(record) if verdict.value in (0.0, 1.0))
    return list(dict.fromkeys(statement for statement in statements if statement))


def given_labels(store: ReviewStore, draw: str | None, by: str, digests: Sequence[str]) -> dict[LabelItem, float]:
    """The labels of a person; those that were taken back, and those of rows that are others since, are left out."""
    return {
        LabelItem(record.row, record.field, record.statement): float(record.after)
        for record in _labels(store, draw, by, digests)
        if record.row is not None
    }


def annotators(store: ReviewStore, draw: str | None) -> list[str]:
    """Everybody who has labelled rows of a draw, in the order of their first labels."""
    return list(dict.fromkeys(record.by for record in _of_draw(store, draw)))


def label_path(store: ReviewStore, draw: str | None, by: str) -> Path:
    """The table of a person's labels: `labels/<draw>.<name>.jsonl`; `not-sampled` for rows that were not drawn."""
    names = annotators(store, draw)
    name = safe_names(names)[names.index(by)]
    return store.folder / FOLDER / f"{draw or NOT_SAMPLED}.{name}.jsonl"


def write_label_table(store: ReviewStore, draw: str | None, by: str, digests: Sequence[str]) -> Path:
    """Write the labels of a person again, as `reviews.jsonl` has them, in the long form that `certify` reads.

    Args:
        digests: of the rows of the run.
    """
    with store.locked():
        path = label_path(store, draw, by)
        path.parent.mkdir(exist_ok=True)
        lines = map(json_line, map(_line, _labels(store, draw, by, digests)))
        replace_bytes(path.with_name(f".{path.name}.new"), b"".join(lines), path)
    return path


def _line(record: ReviewRecord) -> dict[str, Any]:
    line = {ROW: record.row, SAMPLE: record.sample, ANNOTATOR: record.by, METRIC: record.field}
    sampled = {SAMPLED: False} if record.draw is None else {DRAW: record.draw}
    return {**line, STATEMENT: record.statement, LABEL: record.after, **sampled}


def _labels(store: ReviewStore, draw: str | None, by: str, digests: Sequence[str]) -> list[ReviewRecord]:
    """The last label of each item, in the order in which items were first labelled."""
    last = {record.key: record for record in _of_draw(store, draw) if record.by == by}
    return [record for record in last.values() if record.after is not None and _is_there(record, digests)]


def _is_there(record: ReviewRecord, digests: Sequence[str]) -> bool:
    """Whether the row is still the one that was labelled."""
    return record.row is not None and record.row < len(digests) and digests[record.row] == record.sample


def _of_draw(store: ReviewStore, draw: str | None) -> Iterator[ReviewRecord]:
    return (record for record in store.records() if record.kind == "label" and record.draw == draw)
