"""What a page shows of one row of a run, as values: `row_view` reads them from the run's files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.dataset import load_records
from rag_evaluator.dataset.columns import TEXTS as TEXT_COLUMNS
from rag_evaluator.dataset.columns import ColumnNames
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.report.row_contexts import SCORES, ContextView, context_views
from rag_evaluator.report.row_scores import MetricView, metric_views
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.shown_text import ShownText, short, shown, shown_pieces
from rag_evaluator.report.word_diff import Unit, difference
from rag_evaluator.results.rows import DROPPED
from rag_evaluator.reviews.apply import is_cells

Json = Mapping[str, Any]  # Any in this module: JSON


@dataclass(frozen=True)
class RowView:
    """What a page shows of a row; `unit`: what was compared of response and reference, empty where one is not there.

    Attributes:
        equal: whether response and reference are the same.
        columns: what else the row has: name, text.
    """

    number: int
    run: str
    question: ShownText | None
    response: ShownText | None
    reference: ShownText | None
    unit: Unit | None
    equal: bool
    retrieved: tuple[ContextView, ...]
    expected: tuple[ContextView, ...]
    metrics: tuple[MetricView, ...]
    columns: tuple[tuple[str, ShownText], ...]


def row_view(run: RunFiles, row: int, questions: bool = True, against: Sequence[str] | None = None) -> RowView:
    """A row of a run. Raises `IndexError` if there is none of this number, `ResultsError` for damaged files.

    Args:
        questions: whether the prompts are put together.
        against: responses of other runs, with the first of which this one is compared; None: it is compared with the
            reference.
    """
    values, mapping = run.row(row), run.config.get("columns") or {}
    columns = columns_of(run, values)
    metrics = metric_views(run, row, values, columns, questions)
    dropped = values.get(DROPPED) or {}
    response, reference = columns.get("response"), columns.get("reference")
    other = reference if against is None else next(iter(against), None)
    found = difference(response, other) if response is not None and other is not None else None
    marked = found if against is None else None
    return RowView(
        number=row,
        run=short(run.name),
        question=_text(columns.get("user_input")),
        response=shown_pieces(found.first, SCORES) if found else _text(response),
        reference=shown_pieces(marked.second, SCORES) if marked else _text(reference),
        unit=found.unit if found else None,
        equal=found is not None and found.equal,
        retrieved=context_views("retrieved_contexts", columns, metrics, dropped),
        expected=context_views("reference_contexts", columns, metrics, {}),
        metrics=metrics,
        columns=tuple(_others(values, run, columns, mapping)),
    )


def columns_of(run: RunFiles, values: Json) -> dict[str, Any]:
    """The columns of a row under ragas' names; empty where they cannot be read."""
    mapping = {name: column for name, column in (run.config.get("columns") or {}).items() if name in values}
    with suppress(RagEvaluatorError):
        record = InputRecord("", values, is_cells(Path(run.config.get("dataset") or "")))
        return dict(load_records("", [record], mapping, ())[0].columns)
    return {}


def _text(text: Any) -> ShownText | None:
    return None if text is None else shown(str(text), SCORES)


def _others(values: Json, run: RunFiles, columns: Json, mapping: Json) -> Iterator[tuple[str, ShownText]]:
    """The columns that are shown nowhere else, as text or JSON."""
    names, record = ColumnNames(mapping), InputRecord("", values)
    if names.is_log(values):
        names = ColumnNames({**mapping, "reference": "retrieved_contexts"})
    read = {name for column in TEXT_COLUMNS if column in columns for name in names.names_of(column, record)}
    for name, value in values.items():
        if name not in {*run.metrics, DROPPED, *read} and value is not None:
            yield short(name), shown(value if isinstance(value, str) else _as_json(value), SCORES)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
