"""What a page shows of one row of a run, as values: `row_view` reads them from the run's files."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rag_evaluator.dataset import open_dataset
from rag_evaluator.dataset.columns import TEXTS as TEXT_COLUMNS
from rag_evaluator.dataset.columns import ColumnNames
from rag_evaluator.dataset.readers.record import InputRecord
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.report.meanings import SIGNS, Tone
from rag_evaluator.report.row_judgements import SOURCE, JudgementView, Scored, judgement_views
from rag_evaluator.report.row_questions import PromptView, prompt_views
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.shown_text import ShownText, short, shown, shown_pieces
from rag_evaluator.report.word_diff import Unit, difference
from rag_evaluator.results.panel_names import BETWEEN, judges_of
from rag_evaluator.results.rows import DROPPED

Json = Mapping[str, Any]  # Any in this module: JSON
SCORES = "scores.jsonl"


@dataclass(frozen=True)
class Attempt:
    """A score as it was made once.

    Attributes:
        repeat: number of the repeat, from 1; None where it was made once.
        reason: why it is missing, else None.
        outcome: what the value stands for, of a metric that names that.
        prompts_missing: why there are no more prompts.
    """

    repeat: int | None
    value: float | None
    reason: ShownText | None
    outcome: str | None
    judgements: tuple[JudgementView, ...]
    prompts: tuple[PromptView, ...]
    prompts_missing: str


@dataclass(frozen=True)
class ScoreView:
    """What one judge, or the only one, says of a metric; `judge`: its name in a panel, else empty."""

    judge: str
    value: float | None
    attempts: tuple[Attempt, ...]

    @property
    def missing(self) -> ShownText | None:
        """Why there is no score."""
        reasons = (attempt.reason for attempt in self.attempts if attempt.reason)
        return next(reasons, None) if self.value is None else None

    @property
    def told(self) -> bool:
        """Whether there is more to show than the value."""
        return any(made.judgements or made.reason or made.outcome or made.repeat for made in self.attempts)


@dataclass(frozen=True)
class MetricView:
    """A metric of the row.

    Attributes:
        section: by which links find it in the row; a name may have signs that no id has.
        stage: `retrieval` or `generation`; empty where nobody knows.
        share: where the score is on the metric's range, or above 0 where that begins below, from 0 to 1; None where
            nobody knows the range.
        judges: one for each judge of a panel.
    """

    name: str
    section: str
    stage: str
    share: float | None
    better: str
    own: ScoreView
    judges: tuple[ScoreView, ...]

    @property
    def told(self) -> bool:
        return self.own.told or any(judge.told for judge in self.judges)


@dataclass(frozen=True)
class MarkSource:
    """Who said it of a context; `count`: how many times, where a score was made several times."""

    metric: str
    section: str
    judge: str
    confidence: str
    count: int


@dataclass(frozen=True)
class ContextMark:
    """What was said of a context."""

    tone: Tone
    word: str
    sources: tuple[MarkSource, ...]

    @property
    def sign(self) -> str:
        return SIGNS[self.tone]


@dataclass(frozen=True)
class ContextView:
    """A context; `dropped`: the metrics whose judge it was not shown to, as it did not fit the window."""

    text: ShownText
    marks: tuple[ContextMark, ...]
    dropped: tuple[str, ...]
    score: float | None


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
    metrics = _metrics(run, row, values, columns, questions)
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
        retrieved=_contexts("retrieved_contexts", columns, metrics, dropped),
        expected=_contexts("reference_contexts", columns, metrics, {}),
        metrics=metrics,
        columns=tuple(_others(values, run, columns, mapping)),
    )


def columns_of(run: RunFiles, values: Json) -> dict[str, Any]:
    """The columns of a row under ragas' names; empty where they cannot be read."""
    mapping = {name: column for name, column in (run.config.get("columns") or {}).items() if name in values}
    with suppress(RagEvaluatorError):
        return dict(open_dataset([values], mapping)[0].columns)
    return {}


def _text(text: Any) -> ShownText | None:
    return None if text is None else shown(str(text), SCORES)


def _metrics(run: RunFiles, row: int, values: Json, columns: Json, questions: bool) -> tuple[MetricView, ...]:
    """The metrics in the order of the run; those of a panel's judges within the metric that they judge."""
    lines: dict[str, list[Json]] = {}
    for line in run.details(row):
        lines.setdefault(str(line["metric"]), []).append(line)
    prompts: Json = {}
    with suppress(ResultsError):
        prompts = run.prompts if questions else {}
    judges = judges_of(run.manifest)

    def score(name: str, metric: str, judge: str = "") -> ScoreView:
        about = _about(run, metric)
        made = tuple(_attempt(line, metric, about, columns, prompts, questions) for line in lines.get(name, ()))
        return ScoreView(judge, _number(values.get(name)), made)

    names = run.metrics
    own = [name for name in names if name.partition(BETWEEN)[2] not in judges or BETWEEN not in name]
    return tuple(
        MetricView(
            name,
            f"m{place}",
            str(_about(run, name).get("stage") or ""),
            _share(_number(values.get(name)), _about(run, name).get("range")),
            str(_about(run, name).get("better") or ""),
            score(name, name),
            tuple(score(full, name, judge) for judge in judges if (full := f"{name}{BETWEEN}{judge}") in names),
        )
        for place, name in enumerate(own)
    )


def _about(run: RunFiles, metric: str) -> Json:
    about = run.manifest.get("metrics", {}).get(metric)
    return about if isinstance(about, Mapping) else {}


def _attempt(line: Json, metric: str, about: Json, columns: Json, prompts: Json, questions: bool) -> Attempt:
    judgements = line.get("judgements") or ()
    views = judgement_views(Scored(metric, about, columns, judgements))
    sent, missing = prompt_views(line, columns, prompts) if questions else ((), "")
    reason, repeat = line.get("reason"), line.get("repeat")
    views = [replace(view, error=None) if reason and _says(view, str(reason)) else view for view in views]
    return Attempt(
        None if repeat is None else repeat + 1,
        _number(line.get("value")),
        shown(str(reason), SOURCE) if reason else None,
        short(line["outcome"]) if line.get("outcome") else None,
        tuple(views),
        sent,
        missing,
    )


def _says(view: JudgementView, reason: str) -> bool:
    """Whether the error of a judgement is the reason why the score is missing, which is shown already."""
    return view.error is not None and view.error == shown(reason, SOURCE)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None


def _share(value: float | None, ends: Any) -> float | None:
    if value is None or not isinstance(ends, Sequence) or len(ends) != 2 or not ends[0] < ends[1]:
        return None
    low, high = max(ends[0], 0.0), ends[1]
    return min(max((value - low) / (high - low), 0.0), 1.0) if low < high else None


def _contexts(column: str, columns: Json, metrics: Iterable[MetricView], dropped: Json) -> tuple[ContextView, ...]:
    texts = columns.get(column) or ()
    scores = columns.get("document_score") or ()
    marks: dict[int, dict[tuple[Tone, str], Counter[tuple[str, str, str, str]]]] = {}
    for place, said, source in _marks(column, metrics):
        marks.setdefault(place, {}).setdefault(said, Counter())[source] += 1
    return tuple(
        ContextView(
            shown(text, SCORES),
            tuple(
                ContextMark(*said, tuple(MarkSource(*source, count) for source, count in sources.items()))
                for said, sources in marks.get(place, {}).items()
            ),
            tuple(metric for metric, places in dropped.items() if place in places),
            scores[place] if column == "retrieved_contexts" and place < len(scores) else None,
        )
        for place, text in enumerate(texts)
    )


def _marks(
    column: str, metrics: Iterable[MetricView]
) -> Iterator[tuple[int, tuple[Tone, str], tuple[str, str, str, str]]]:
    """Every verdict on a single context: its place, what it says, and who says it."""
    for metric in metrics:
        for score in (metric.own, *metric.judges):
            for judgement in (judgement for made in score.attempts for judgement in made.judgements):
                if judgement.context and judgement.context[0] == column:
                    for verdict in judgement.verdicts:
                        confidence = verdict.confidence if len(score.attempts) == 1 else ""
                        source = metric.name, metric.section, score.judge, confidence
                        yield judgement.context[1], (verdict.tone, verdict.word), source


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
