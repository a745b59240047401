"""Rows that are worth a look, found in one pass over the rows of a run and one over its details."""

import heapq
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, NamedTuple

from rag_evaluator.dataset.columns import as_key
from rag_evaluator.errors import RagEvaluatorError, ResultsError
from rag_evaluator.features.app.state import AppState
from rag_evaluator.files.jsonl import read_lines
from rag_evaluator.results.judgement import judgements_of
from rag_evaluator.results.run import Run
from rag_evaluator.statistics.formulas import TIE, Scale

logger = logging.getLogger(__name__)
Json = Mapping[str, Any]  # a row, or a record of the details; Any: JSON
Scales = Mapping[str, Scale]  # of a run's metrics
FINDINGS = "testset_check.jsonl"  # what `testset check` writes
ORDER = (
    "contradict",
    "lowest_confidence",
    "repeats_differ",
    "too_easy",
    "testset_findings",
    "missing",
)
OTHERS = 8  # runs in which a row must be best, too, to be too easy
MOST = 200  # rows of a queue; how many there are in all is counted
HIGH, LOW = 0.75, 0.25  # of a metric's range: from here on, up to here
CONTRADICTIONS: Sequence[tuple[str, str]] = (
    ("faithfulness", "answer_correctness"),
    ("faithfulness", "factual_correctness"),
    ("response_groundedness", "answer_accuracy"),
    ("context_recall", "answer_correctness"),
    ("context_recall", "factual_correctness"),
    ("answer_correctness", "faithfulness"),
    ("factual_correctness", "faithfulness"),
    ("answer_correctness", "answer_relevancy"),
    ("answer_correctness", "context_recall"),
    ("answer_relevancy", "context_relevance"),
)
"""Pairs of metrics: a row with a high score of the first and a low one of the second is odd."""


class QueuedRow(NamedTuple):
    """A row of a queue.

    Attributes:
        urgency: rows with more come first.
        row: from 0.
        why: what is odd, as names with figures: `("faithfulness", 1.0)`.
    """

    urgency: float
    row: int
    why: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True)
class Queue:
    """Rows that are worth a look for one reason.

    Attributes:
        name: its title and reason are in `QUEUES` of review.js.
        rows: the most urgent ones, at most `MOST`.
        total: of all rows.
    """

    name: str
    rows: Sequence[QueuedRow]
    total: int


@dataclass
class MostUrgent:
    """The most urgent of the rows that come along."""

    heap: list[tuple[float, int, QueuedRow]] = field(default_factory=list)
    total: int = 0

    def add(self, queued: QueuedRow | None) -> None:
        if queued is None:
            return
        self.total += 1
        item = (queued.urgency, -queued.row, queued)
        if len(self.heap) < MOST:
            heapq.heappush(self.heap, item)
        else:
            heapq.heappushpop(self.heap, item)

    def queue(self, name: str) -> Queue:
        return Queue(name, [queued for _, _, queued in sorted(self.heap, reverse=True)], self.total)


def row_queues(rows: Iterable[Json], scales: Scales) -> list[Queue]:
    """The queues that the scores alone give."""
    kept = {name: MostUrgent() for name in ROW_RULES}
    for number, row in enumerate(rows):
        for name, rule in ROW_RULES.items():
            kept[name].add(rule(number, row, scales))
    return [part.queue(name) for name, part in kept.items()]


def detail_queues(details: Iterable[Json]) -> list[Queue]:
    """The queues that need what the judge said; `details` in the order of rows."""
    kept = {name: MostUrgent() for name in DETAIL_RULES}
    for number, lines in groupby(details, lambda line: int(line["row"])):
        records = list(lines)
        for name, rule in DETAIL_RULES.items():
            kept[name].add(rule(number, records))
    return [part.queue(name) for name, part in kept.items()]


def too_easy(runs: Sequence[Iterable[Json]], scales: Scales) -> Queue:
    """Rows of the first run that have the best score of every metric, in each run where their question is.

    Metrics such as cosines, which are never quite 1, do not count. Rows of several runs belong together by their `id`,
    else by their question.
    """
    metrics, kept = [metric for metric in scales if scales[metric].kind != "continuous"], MostUrgent()
    best: dict[str, list[int]] = {}
    for number, row in enumerate(runs[0] if metrics else ()):
        if _is_best(row, metrics, scales):
            best.setdefault(_key(row) or f"row {number}", []).append(number)
    for run in runs[1:]:
        for row in run:
            key = _key(row)
            if key in best and not _is_best(row, [metric for metric in metrics if metric in row], scales):
                del best[key]
    for numbers in best.values():
        for number in numbers:
            kept.add(QueuedRow(0.0, number, ()))
    return kept.queue("too_easy")


def findings_queue(findings: Iterable[Json], digests: Sequence[str]) -> Queue:
    """Rows that `testset check` has flagged; what it said of other rows, or of rows as they were before, is left out.

    Args:
        findings: lines of `FINDINGS`.
        digests: of the rows of a run, in order.
    """
    flags, kept = {finding["sample"]: finding["flags"] for finding in findings}, MostUrgent()
    for number, digest in enumerate(digests):
        if row_flags := flags.get(digest):
            kept.add(QueuedRow(len(row_flags), number, tuple((str(flag), None) for flag in row_flags)))
    return kept.queue("testset_findings")


def _is_best(row: Json, metrics: Sequence[str], scales: Scales) -> bool:
    values = [(scales[metric], score_of(row, metric)) for metric in metrics]
    return all(value is not None and _share(scale, value) >= 1 - TIE for scale, value in values)


def _key(row: Json) -> str | None:
    names = ("id", "user_input", "question", "query", "input")
    return next((key for name in names if (key := as_key(row.get(name))) is not None), None)


def _contradict(number: int, row: Json, scales: Scales) -> QueuedRow | None:
    """The two metrics that contradict each other most."""
    candidates = []
    for first, second in CONTRADICTIONS:
        values = [score_of(row, metric) for metric in (first, second)]
        if first in scales and second in scales and None not in values:
            high, low = (
                _share(scales[metric], value or 0.0) for metric, value in zip((first, second), values, strict=True)
            )
            if high >= HIGH and low <= LOW:
                candidates.append(QueuedRow(high - low, number, ((first, values[0]), (second, values[1]))))
    return max(candidates, default=None)


def _missing(number: int, row: Json, scales: Scales) -> QueuedRow | None:
    names = [metric for metric in scales if score_of(row, metric) is None]
    return QueuedRow(len(names), number, tuple((name, None) for name in names)) if names else None


def _lowest_confidence(number: int, records: Sequence[Json]) -> QueuedRow | None:
    """The verdict of which the judge was least sure."""
    candidates = [
        QueuedRow(-confidence, number, ((str(record["metric"]), confidence),))
        for record in records
        for judgement in judgements_of(record)
        for confidence in judgement.confidences
    ]
    return max(candidates, default=None)


def _repeats_differ(number: int, records: Sequence[Json]) -> QueuedRow | None:
    """The metric whose repeated scores differ most."""
    values: dict[str, list[float]] = {}
    for record in records:
        value = _number(record.get("value"))
        if "repeat" in record and value is not None:
            values.setdefault(str(record["metric"]), []).append(value)
    candidates = [
        QueuedRow(max(each) - min(each), number, ((metric, max(each)), (metric, min(each))))
        for metric, each in values.items()
        if max(each) - min(each) > TIE
    ]
    return max(candidates, default=None)


ROW_RULES: Mapping[str, Callable[[int, Json, Scales], QueuedRow | None]] = {
    "contradict": _contradict,
    "missing": _missing,
}
DETAIL_RULES: Mapping[str, Callable[[int, Sequence[Json]], QueuedRow | None]] = {
    "lowest_confidence": _lowest_confidence,
    "repeats_differ": _repeats_differ,
}


def scales_in(run: Run) -> Scales:
    """The scales of a run's metrics."""
    described = run.manifest.get("metrics") or {}
    return {name: _scale(described.get(name) or {}) for name in run.metrics}


def _scale(about: Json) -> Scale:
    low, high = about.get("range") or (0.0, 1.0)
    return Scale(float(low), float(high), about.get("kind") or "judged", about.get("better") or "higher")


def find_queues(run: Run, state: AppState) -> Iterator[Queue]:
    """All queues of a run that have rows.

    Args:
        state: gives other runs, in which a row must be best, too, to be too easy.
    """
    scales = scales_in(run)
    queues = {queue.name: queue for queue in row_queues(run.rows(), scales)}
    related = islice(_over_the_same_questions(run, state), OTHERS)
    queues["too_easy"] = too_easy([run.rows(), *map(_readable_rows, related)], scales)
    queues |= {queue.name: queue for queue in detail_queues(run.all_details(run.metrics))}
    queues["testset_findings"] = _testset_findings(run)
    yield from (queues[name] for name in ORDER if queues[name].total)


def _testset_findings(run: Run) -> Queue:
    """What `testset check` says of these rows; nothing where it has not been run, or its file cannot be read."""
    try:
        findings = [finding for _, finding in read_lines(run.folder / FINDINGS, json.loads)]
        return findings_queue(findings, run.digests)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RagEvaluatorError):
        return findings_queue([], [])


def _over_the_same_questions(run: Run, state: AppState) -> Iterator[Run]:
    """Other runs, as far as their first rows tell."""
    first = next(iter(run.rows()), {})
    for path in state.folders.paths():
        try:
            other = state.run(path)
            row = next(iter(other.rows()), {}) if other.folder != run.folder else {}
        except RagEvaluatorError:  # not finished, or damaged
            continue
        if row and all(row.get(name) == first.get(name) for name in ("id", "question", "user_input")):
            yield other


def _readable_rows(other: Run) -> Iterator[Json]:
    """The rows of another run, up to one that cannot be read: it is no reason not to review this run."""
    try:
        yield from other.rows()
    except ResultsError as error:
        logger.warning("rows that are too easy: the rest of another run is left out. %s", error)


def rows_in(queue: Queue) -> Iterator[int]:
    """The numbers of its rows, the most urgent first."""
    return (queued.row for queued in queue.rows)


def score_of(row: Json, column: str) -> float | None:
    """A score in a row; None where there is none."""
    return _number(row.get(column))


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None


def _share(scale: Scale, value: float) -> float:
    """Where a score is between the worst end, 0, and the best, 1."""
    share = (value - scale.low) / scale.width
    return share if scale.better == "higher" else 1 - share
