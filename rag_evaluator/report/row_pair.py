"""The same row in two runs, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rag_evaluator.report.pages import render
from rag_evaluator.report.row_scores import MetricView
from rag_evaluator.report.row_view import RowView, columns_of, row_view
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.shown_text import ShownText, short

Value = TypeVar("Value")


@dataclass(frozen=True)
class PairMetric:
    """A metric on every side, None where a run has none."""

    name: str
    sides: tuple[MetricView | None, ...]

    @property
    def values(self) -> tuple[float | None, ...]:
        """The score of each side."""
        return tuple(side.own.value if side else None for side in self.sides)

    @property
    def difference(self) -> float | None:
        """The last score less the first; None where one is missing."""
        first, last = self.values[0], self.values[-1]
        return None if first is None or last is None else last - first

    @property
    def told(self) -> bool:
        return any(side is not None and side.told for side in self.sides)


@dataclass(frozen=True)
class Side:
    """A run; `view`: its row, None if it has none."""

    run: str
    row: int | None
    view: RowView | None


@dataclass(frozen=True)
class PairView:
    """Sides with what they share.

    Attributes:
        question, reference, columns: those of all sides; None where they differ: then each side has its own.
        same_contexts: whether all sides have the same ones.
    """

    sides: tuple[Side, ...]
    metrics: tuple[PairMetric, ...]
    question: ShownText | None
    reference: ShownText | None
    columns: tuple[tuple[str, ShownText], ...] | None
    same_contexts: bool


def pair_html(runs: Sequence[RunFiles], rows: Sequence[int | None]) -> str:
    """A row in two runs, `None` for a run without it. Raises as `row_html`."""
    return render("row_pair.html", pair=pair_view(runs, rows))


def pair_view(runs: Sequence[RunFiles], rows: Sequence[int | None]) -> PairView:
    """The sides in the order of the runs; each response is compared with that of the other run."""
    responses = [_response(run, row) for run, row in zip(runs, rows, strict=True)]
    sides = []
    for place, (run, row) in enumerate(zip(runs, rows, strict=True)):
        others = [text for other, text in enumerate(responses) if other != place and text is not None]
        view = None if row is None else row_view(run, row, against=others)
        named = [other.name for other in runs].count(run.name) == 1
        sides.append(Side(short(run.name if named else run.folder.name), row, view))
    views = [side.view for side in sides if side.view is not None]
    return PairView(
        tuple(sides),
        tuple(_metrics([side.view for side in sides])),
        _shared([view.question for view in views]),
        _shared([view.reference for view in views]),
        _shared([view.columns for view in views]),
        len(views) > 1 and _shared([tuple(context.text for context in view.retrieved) for view in views]) is not None,
    )


def _response(run: RunFiles, row: int | None) -> str | None:
    return None if row is None else columns_of(run, run.row(row)).get("response")


def _metrics(views: Sequence[RowView | None]) -> Iterator[PairMetric]:
    found = [{metric.name: metric for metric in view.metrics} if view else {} for view in views]
    for name in dict.fromkeys(name for side in found for name in side):
        yield PairMetric(name, tuple(side.get(name) for side in found))


def _shared(values: Sequence[Value]) -> Value | None:
    return values[0] if values and all(value == values[0] for value in values) else None
