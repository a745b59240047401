"""The same row in two runs, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluator.report.pages import render
from rag_evaluator.report.row_view import RowView, columns_of, row_view
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.shown_text import ShownText


@dataclass(frozen=True)
class PairScore:
    """A metric's scores, one for each side, and last less first where both are there."""

    metric: str
    values: tuple[float | None, ...]
    difference: float | None


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
        question, reference: those of all sides; None where there is none, or they differ: then each side has its own.
    """

    sides: tuple[Side, ...]
    scores: tuple[PairScore, ...]
    question: ShownText | None
    reference: ShownText | None


def pair_html(runs: Sequence[RunFiles], rows: Sequence[int | None]) -> str:
    """A row in two runs, `None` for a run without it. Raises as `row_html`."""
    return render("row_pair.html", pair=pair_view(runs, rows))


def pair_view(runs: Sequence[RunFiles], rows: Sequence[int | None]) -> PairView:
    """The sides in the order of the runs; each response is compared with that of the other run."""
    responses = [_response(run, row) for run, row in zip(runs, rows, strict=True)]
    sides = []
    for place, (run, row) in enumerate(zip(runs, rows, strict=True)):
        others = [text for other, text in enumerate(responses) if other != place and text is not None]
        against = others[0] if others else ""
        view = None if row is None else row_view(run, row, against=against if others else None)
        sides.append(Side(run.name, row, view))
    views = [side.view for side in sides if side.view is not None]
    return PairView(
        tuple(sides),
        tuple(_scores([side.view for side in sides])),
        _shared([view.question for view in views]),
        _shared([view.reference for view in views]),
    )


def _response(run: RunFiles, row: int | None) -> str | None:
    return None if row is None else columns_of(run, run.row(row)).get("response")


def _scores(views: Sequence[RowView | None]) -> list[PairScore]:
    found = [{metric.name: metric.own.value for metric in view.metrics} if view else {} for view in views]
    names = dict.fromkeys(name for values in found for name in values)
    scores = []
    for name in names:
        values = tuple(side.get(name) for side in found)
        first, last = values[0], values[-1]
        change = None if first is None or last is None or len(values) < 2 else last - first
        scores.append(PairScore(name, values, change))
    return scores


def _shared(texts: Sequence[ShownText | None]) -> ShownText | None:
    return texts[0] if texts and all(text == texts[0] for text in texts) else None
