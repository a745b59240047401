"""The page of one row of a run, and of a row in several runs: what it shows, as values, and fragments of HTML."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rag_evaluator.dataset.columns import TEXTS as TEXT_COLUMNS
from rag_evaluator.dataset.columns import ColumnNames
from rag_evaluator.dataset.readers.json_files import InputRecord
from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.report.pages import ShownText, TextPart, WordDiff, difference, render, short, shown, shown_pieces
from rag_evaluator.report.row_scores import Attempt, MetricView, metric_views
from rag_evaluator.report.row_sentences import Sentences, SentenceView, marked
from rag_evaluator.results.judgement import SIGNS, Tone
from rag_evaluator.results.rows import DROPPED, row_name
from rag_evaluator.results.run import Run, samples_of

Json = Mapping[str, Any]  # Any: JSON
SCORES = "scores.jsonl"
Value = TypeVar("Value")


@dataclass(frozen=True)
class MarkSource:
    """Who said it of a context; `count`: how many times, where a score was made several times."""

    metric: str
    section: str
    confidence: str
    count: int


@dataclass(frozen=True)
class ContextMark:
    """What was said of a context."""

    tone: Tone
    word: str
    sources: tuple[MarkSource, ...]


@dataclass(frozen=True)
class TextMarks:
    """The sentences of a text by one metric; `section`: that of the metric."""

    metric: str
    section: str
    sentences: tuple[SentenceView, ...]

    @property
    def legend(self) -> tuple[tuple[Tone, str], ...]:
        """What the marks mean, each once, in the order of `SIGNS`; of what does not count without the reason."""
        words = {(view.tone, "not counted" if view.tone == "plain" else view.word) for view in self.sentences}
        return tuple(sorted(words, key=lambda meaning: (list(SIGNS).index(meaning[0]), meaning[1])))


@dataclass(frozen=True)
class ContextView:
    """A context.

    Attributes:
        supports: the sentences that it supports: only where it was looked at alone.
        dropped: the metrics whose judge it was not shown to, as it did not fit the window.
    """

    text: ShownText
    marks: tuple[ContextMark, ...]
    supports: tuple[TextMarks, ...]
    dropped: tuple[str, ...]
    score: float | None


def context_views(column: str, columns: Json, metrics: Iterable[MetricView], dropped: Json) -> tuple[ContextView, ...]:
    texts = columns.get(column) or ()
    scores = columns.get("document_score") or ()
    metrics = tuple(metrics)
    supports = tuple(_supports(column, metrics))
    marks: dict[int, dict[tuple[Tone, str], Counter[tuple[str, str, str]]]] = {}
    for place, verdict, source in _marks(column, metrics):
        marks.setdefault(place, {}).setdefault(verdict, Counter())[source] += 1
    return tuple(
        ContextView(
            shown(text, SCORES),
            tuple(
                ContextMark(*verdict, tuple(MarkSource(*source, count) for source, count in sources.items()))
                for verdict, sources in marks.get(place, {}).items()
            ),
            tuple(found for found in (_by_context(made, place) for made in supports) if found.sentences),
            tuple(metric for metric, places in dropped.items() if place in places),
            scores[place] if column == "retrieved_contexts" and place < len(scores) else None,
        )
        for place, text in enumerate(texts)
    )


def _marks(column: str, metrics: Iterable[MetricView]) -> Iterator[tuple[int, tuple[Tone, str], tuple[str, str, str]]]:
    """Every verdict on a single context: its place, what it says, and who says it."""
    for metric in metrics:
        attempts = metric.attempts
        for judgement in (judgement for made in attempts for judgement in made.judgements):
            if judgement.context and judgement.context[0] == column:
                for verdict in judgement.verdicts:
                    source = metric.name, metric.section, verdict.confidence if len(attempts) == 1 else ""
                    yield judgement.context[1], (verdict.tone, verdict.word), source


def _supports(column: str, metrics: Iterable[MetricView]) -> Iterator[TextMarks]:
    """The sentences that a column supports, by metric."""
    for marks, sentences in _judged(metrics):
        if sentences.compared.evidence == column:
            yield replace(marks, sentences=tuple(view for view in marks.sentences if view.supported))


def _by_context(marks: TextMarks, place: int) -> TextMarks:
    """The sentences that one context alone supports."""
    return replace(marks, sentences=tuple(view for view in marks.sentences if view.contexts == (place,)))


def _judged(metrics: Iterable[MetricView]) -> Iterator[tuple[TextMarks, Sentences]]:
    """The sentences of each score; of one that was made several times the first ones."""
    for metric in metrics:
        sentences = next((made.sentences for made in metric.attempts if made.sentences), None)
        if sentences is not None:
            yield TextMarks(metric.name, metric.section, sentences.sentences), sentences


def _marks_of(column: str, metrics: Iterable[MetricView]) -> TextMarks | None:
    """The sentences of a text by the first metric that looked at them; None where none did."""
    return next((marks for marks, sentences in _judged(metrics) if sentences.compared.text == column), None)


@dataclass(frozen=True)
class RowView:
    """What a page shows of a row.

    Attributes:
        number: from 0.
        name: see `row_name`.
        marks: the texts whose sentences are marked, by column.
        diff: of response and reference, or of two responses; None where one is not there.
        columns: what else the row has: name, text.
    """

    number: int
    name: str
    run: str
    question: ShownText | None
    response: ShownText | None
    reference: ShownText | None
    marks: Mapping[str, TextMarks]
    diff: WordDiff | None
    retrieved: tuple[ContextView, ...]
    expected: tuple[ContextView, ...]
    metrics: tuple[MetricView, ...]
    columns: tuple[tuple[str, ShownText], ...]

    @property
    def attempts(self) -> list[Attempt]:
        """All that was made, of any metric."""
        return [attempt for metric in self.metrics for attempt in metric.attempts]

    @property
    def has_sentences(self) -> bool:
        """Whether sentences were judged one by one."""
        return any(attempt.sentences for attempt in self.attempts)

    @property
    def said_by(self) -> str:
        """Who decided what the metrics hold: the judge, the verifier, or both."""
        attempts = self.attempts
        is_verified = any(attempt.is_verified for attempt in attempts)
        is_judged = any(attempt.judgements or (attempt.sentences and not attempt.is_verified) for attempt in attempts)
        names = {"the judge": is_judged or not is_verified, "the verifier": is_verified}
        return " and ".join(name for name, said in names.items() if said)


def row_view(run: Run, row: int, against: Sequence[str] | None = None) -> RowView:
    """A row of a run. Raises `IndexError` if there is none of this number, `ResultsError` for damaged files.

    Args:
        against: responses of other runs, with the first of which this one is compared; None: it is compared with the
            reference.
    """
    values, mapping = run.row(row), run.config.get("columns") or {}
    columns = columns_of(run, values)
    metrics = metric_views(run, row, values, columns)
    dropped = values.get(DROPPED) or {}
    response, reference = columns.get("response"), columns.get("reference")
    other = reference if against is None else next(iter(against), None)
    diff = difference(response, other) if response is not None and other is not None else None
    both = diff if against is None else None
    marks = {column: found for column in ("response", "reference") if (found := _marks_of(column, metrics))}
    return RowView(
        number=row,
        name=row_name(row, values),
        run=short(run.title),
        question=_text(columns.get("user_input")),
        response=_answer(response, diff.first if diff else None, marks.get("response")),
        reference=_answer(reference, both.second if both else None, marks.get("reference")),
        marks=marks,
        diff=diff,
        retrieved=context_views("retrieved_contexts", columns, metrics, dropped),
        expected=context_views("reference_contexts", columns, metrics, {}),
        metrics=metrics,
        columns=tuple(_other_columns(values, run, columns, mapping)),
    )


def columns_of(run: Run, values: Json) -> dict[str, Any]:
    """The columns of a row under ragas' names; empty where they cannot be read."""
    mapping = {name: column for name, column in (run.config.get("columns") or {}).items() if name in values}
    with suppress(RagEvaluatorError):
        return dict(samples_of([values], {**run.config, "columns": mapping})[0].columns)
    return {}


def _text(text: Any) -> ShownText | None:
    return None if text is None else shown(str(text), SCORES)


def _answer(text: str | None, pieces: Sequence[TextPart] | None, marks: TextMarks | None) -> ShownText | None:
    """A response or reference, in the pieces of its comparison and with its sentences."""
    if text is None:
        return None
    parts = [TextPart(str(text))] if pieces is None else pieces
    return shown_pieces(parts if marks is None else marked(parts, marks.sentences), SCORES)


def _other_columns(values: Json, run: Run, columns: Json, mapping: Json) -> Iterator[tuple[str, ShownText]]:
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


@dataclass(frozen=True)
class PairMetric:
    """A metric on every side, None where a run has none."""

    name: str
    sides: tuple[MetricView | None, ...]

    @property
    def values(self) -> tuple[float | None, ...]:
        """The score of each side."""
        return tuple(side.value if side else None for side in self.sides)

    @property
    def difference(self) -> float | None:
        """The last score less the first; None where one is missing."""
        first, last = self.values[0], self.values[-1]
        return None if first is None or last is None else last - first

    @property
    def has_details(self) -> bool:
        return any(side is not None and side.has_details for side in self.sides)


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


def pair_html(runs: Sequence[Run], rows: Sequence[int | None]) -> str:
    """A row in two runs, `None` for a run without it. Raises as `row_html`."""
    return render("row_pair.html", pair=pair_view(runs, rows))


def pair_view(runs: Sequence[Run], rows: Sequence[int | None]) -> PairView:
    """The sides in the order of the runs; each response is compared with that of the other run."""
    responses = [_response(run, row) for run, row in zip(runs, rows, strict=True)]
    sides = []
    for place, (run, row) in enumerate(zip(runs, rows, strict=True)):
        responses_of_others = [text for other, text in enumerate(responses) if other != place and text is not None]
        view = None if row is None else row_view(run, row, against=responses_of_others)
        named = [other.title for other in runs].count(run.title) == 1
        sides.append(Side(short(run.title if named else run.folder.name), row, view))
    views = [side.view for side in sides if side.view is not None]
    return PairView(
        tuple(sides),
        tuple(_pair_metrics([side.view for side in sides])),
        _shared([view.question for view in views]),
        _shared([view.reference for view in views]),
        _shared([view.columns for view in views]),
        len(views) > 1 and _shared([tuple(context.text for context in view.retrieved) for view in views]) is not None,
    )


def _response(run: Run, row: int | None) -> str | None:
    return None if row is None else columns_of(run, run.row(row)).get("response")


def _pair_metrics(views: Sequence[RowView | None]) -> Iterator[PairMetric]:
    by_side = [{metric.name: metric for metric in view.metrics} if view else {} for view in views]
    for name in dict.fromkeys(name for side in by_side for name in side):
        yield PairMetric(name, tuple(side.get(name) for side in by_side))


def _shared(values: Sequence[Value]) -> Value | None:
    return values[0] if values and all(value == values[0] for value in values) else None


def row_html(run: Run, row: int) -> str:
    """A row as `<article class="row" id="row-17" data-row="17">`, with the prompts as they were sent.

    What is equal in the prompts of every row is in `frames_of`.

    Raises `IndexError` if there is no row of this number, `ResultsError` for damaged files.
    """
    return render("row.html", row=row_view(run, row))
