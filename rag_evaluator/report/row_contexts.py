"""The contexts of a row as a page shows them: each with the verdicts on it alone, and whether it was left out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluator.report.row_scores import MetricView
from rag_evaluator.report.shown_text import ShownText, shown
from rag_evaluator.results.meanings import SIGNS, Tone

Json = Mapping[str, Any]  # Any: JSON
SCORES = "scores.jsonl"


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


def context_views(column: str, columns: Json, metrics: Iterable[MetricView], dropped: Json) -> tuple[ContextView, ...]:
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
