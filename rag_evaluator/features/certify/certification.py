"""What labels say of a run: the figures of each metric and of single statements, and the rows on which people and judge
differ most.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from rag_evaluator.dataset.columns import value_of
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError, ResultsError
from rag_evaluator.features.certify.agreement import binary_agreement
from rag_evaluator.features.certify.figures import (
    Chosen,
    Labelled,
    LabelScale,
    figures_of,
    ratings_of,
    scale_of_labels,
    to_keep,
    worst_rows,
)
from rag_evaluator.features.certify.krippendorff import krippendorff_alpha
from rag_evaluator.features.certify.sheet import DrawRecord
from rag_evaluator.features.certify.table import Label, LabelTable
from rag_evaluator.features.certify.verdict import LEAST, judge_verdict
from rag_evaluator.resources import command
from rag_evaluator.results.aligned import QUESTION
from rag_evaluator.results.certificate import KeptLabels
from rag_evaluator.results.judgement import JudgedVerdict, explained, few_lines, numbers_of
from rag_evaluator.results.run import ScoredRows
from rag_evaluator.results.summary import Reporting, cluster_of, reporting_of, unit_of
from rag_evaluator.results.verified import probabilities_of
from rag_evaluator.statistics.formulas import Scale

Records = Mapping[int, Sequence[Mapping[str, Any]]]  # row -> its details, one for each repeat
SHOWN = 5  # disagreements of a metric


def votes_of(labels: Iterable[Label]) -> dict[tuple[int, str | None], list[Label]]:
    """The labels of each row or statement that are not blank, by annotator."""
    votes: dict[tuple[int, str | None], list[Label]] = {}
    for label in labels:
        if label.value == label.value:
            votes.setdefault((label.row, label.statement), []).append(label)
    return votes


def vote(labels: Sequence[Label]) -> float | None:
    """What most annotators say, 0 or 1; None where as many say 0 as 1."""
    mean = sum(label.value for label in labels) / len(labels)
    return None if mean == 0.5 else float(round(mean))


def statement_figures(labels: Sequence[Label], records: Records, level: float) -> dict[str, Any]:
    """Verdicts against labels of 0 and 1, clustered by row; Any: JSON.

    The score of a verdict is the judge's probability of 1 where it has one; of a verifier's verdict its probability,
    moved so that the threshold is at 0.5. Of repeated scores the first counts.
    Statements on which annotators are divided, and those on which the judge gave several verdicts that differ, are
    counted and left out. Raises `DatasetError` for a statement that the judge did not judge, a label that is not 0 or
    1.
    """
    votes = votes_of(label for label in labels if label.statement is not None)
    for label in chain(*votes.values()):
        if label.value not in (0.0, 1.0):
            raise DatasetError(f"{label.where}: {label.value:g}; labels of statements are 0 or 1.")
    judged = [(key[0], _verdict(given[0], records), vote(given)) for key, given in votes.items()]
    pairs = [(row, said, people) for row, said, people in judged if said is not None and people is not None]
    rows, wanted = [str(row) for row, *_ in pairs], [people for *_, people in pairs]
    scores = [_score(said, records[row][0]) for row, said, _ in pairs]
    shown = judge_verdict(scores, wanted, rows)
    unclear = sum(said is None for _, said, _ in judged)
    figures: dict[str, Any] = {
        "labels": len(pairs),
        "rows": len(set(rows)),
        "tied": len(judged) - len(pairs) - unclear,
        "unclear": unclear,
        "verdict": asdict(shown),
        **_alpha(list(votes.values())),
    }
    if len(pairs) < LEAST:
        return {**figures, "reason": shown.reason}
    return {**figures, "binary": asdict(binary_agreement(scores, wanted, 0.5, rows, level=level))}


def _verdict(label: Label, records: Records) -> JudgedVerdict | None:
    """What the judge said of a statement; None where it has said several things."""
    lines = records.get(label.row, ())
    known = list(numbers_of(lines[0])) if lines else []
    verdicts = [verdict for verdict in known if verdict.statement == label.statement]
    if not verdicts:
        statements = "; ".join(f"{verdict.statement!r:.80}" for verdict in known[:5] if verdict.statement)
        raise DatasetError(
            f"{label.where}: {label.metric} has no verdict on the statement {label.statement!r:.80} in row "
            f"{label.row}. Its statements there: {statements or 'none'}."
        )
    values = {verdict.value for verdict in verdicts}
    return verdicts[0] if values in ({0.0}, {1.0}) else None


def _score(verdict: JudgedVerdict, record: Mapping[str, Any]) -> float:
    """The probability of the verdict 1; on the side of the verdict, whatever rounding or a threshold did."""
    probability = probabilities_of(record).get(verdict.statement or "")
    if probability is not None:
        return (float(verdict.value) + probability) / 2
    if verdict.confidence is None:
        return float(verdict.value)
    return max(verdict.confidence, 0.5) if verdict.value else min(1 - verdict.confidence, 0.4999995)


def _alpha(votes: Sequence[Sequence[Label]]) -> dict[str, Any]:
    annotators = sorted({label.annotator for labels in votes for label in labels})
    if len(annotators) < 2:
        return {}
    by = [{label.annotator: label.value for label in labels} for labels in votes]
    ratings = [[row.get(name, float("nan")) for row in by] for name in annotators]
    return {"annotator_alpha": {"level": "nominal", **asdict(krippendorff_alpha(ratings))}}


@dataclass(frozen=True)
class Disagreement:
    """A row of which people and the judge say different things.

    Attributes:
        label: in the unit of labels; the mean of several annotators.
        score: in the unit of the metric.
        drawn: whether the row counts in the figures.
        reasons: what the judge said.
    """

    metric: str
    row: int
    question: str | None
    label: float
    score: float
    drawn: bool
    reasons: Sequence[str]


@dataclass(frozen=True)
class LabelSource:
    """A table of labels with the draw that its rows come from."""

    table: LabelTable
    draw: DrawRecord | None = None


@dataclass(frozen=True)
class Settings:
    """How labels are compared.

    Attributes:
        scales: of the scores, by metric.
        label_scales: those that the user has named.
        thresholds: fixed before the labels were seen, by metric.
        random: whether the labelled rows of a table without a draw are a random sample.
        level: of intervals.
    """

    scales: Mapping[str, Scale]
    label_scales: Mapping[str, LabelScale]
    thresholds: Mapping[str, float]
    random: bool
    level: float


def by_metric(sources: Sequence[LabelSource]) -> dict[str, tuple[LabelSource, list[Label]]]:
    """The labels of each metric that has any, with their source. Raises `DatasetError` for a metric of two sources."""
    labels_of: dict[str, tuple[LabelSource, list[Label]]] = {}
    for source in sources:
        for metric in dict.fromkeys(label.metric for label in source.table.labels if label.value == label.value):
            if metric in labels_of:
                names = f"{labels_of[metric][0].table.name} and {source.table.name}"
                raise DatasetError(f"{names}: both have labels of {metric}. Keep one of them.")
            labels_of[metric] = source, [label for label in source.table.labels if label.metric == metric]
    return labels_of


def compared(
    run: ScoredRows, sources: Sequence[LabelSource], settings: Settings
) -> tuple[dict[str, dict[str, Any]], list[Disagreement], dict[str, KeptLabels]]:
    """The figures of each metric with labels (Any: JSON), the worst disagreements, the labels of rows to be kept.

    Raises `DatasetError` for labels that cannot be used, `ResultsError` if no metric has enough of them.
    """
    figures: dict[str, dict[str, Any]] = {}
    disagreements: list[Disagreement] = []
    kept: dict[str, KeptLabels] = {}
    labels_of = by_metric(sources)
    details = run.records({(label.row, metric) for metric, (_, labels) in labels_of.items() for label in labels})
    for metric, (source, labels) in labels_of.items():
        records = {row: lines for (row, name), lines in details.items() if name == metric}
        part = figures[metric] = {}
        if any(label.statement is None and label.value == label.value for label in labels):
            labelled = _labelled(run, metric, source, labels, settings)
            part |= figures_of(labelled, settings.level)
            disagreements += [_disagreement(run, labelled, row, records) for row in worst_rows(labelled, SHOWN)]
            kept[metric] = to_keep(labelled)
        if any(label.statement is not None for label in labels):
            part["statements"] = statements = statement_figures(labels, records, settings.level)
            if "binary" not in part and "graded" not in part:
                part |= {"reason": statements["reason"]} if "reason" in statements else {}
                part["verdict"] = {
                    **statements["verdict"],
                    "reason": f"statements: {statements['verdict']['reason']}",
                }
    if all("reason" in part for part in figures.values()):
        _refuse_few(run, sources, figures)
    return figures, disagreements, kept


def _labelled(
    run: ScoredRows, metric: str, source: LabelSource, labels: Sequence[Label], settings: Settings
) -> Labelled:
    scale, reporting = settings.scales[metric], reporting_of(run.manifest)
    whole = [label for label in labels if label.statement is None]
    chosen: Chosen = "random" if settings.random else "unknown"
    labelled = Labelled(
        metric,
        np.asarray(run.scores[metric], dtype=np.float64),
        scale,
        ratings_of(whole, len(run.samples)),
        scale_of_labels(metric, whole, scale, settings.label_scales),
        chosen if source.draw is None else "drawn",
        source.draw,
        [_cluster(sample, reporting) for sample in run.samples] if reporting.cluster else None,
        settings.thresholds.get(metric),
        units=[unit_of(sample, reporting) for sample in run.samples],
    )
    if labelled.label_scale.in_score_units and np.array_equal(labelled.means, labelled.scores, equal_nan=True):
        raise DatasetError(
            f"{source.table.name}: its labels of {metric} are the scores themselves. Name people's labels."
        )
    is_whole = source.draw is None and not np.isnan(labelled.means).any()
    return replace(labelled, chosen="all") if is_whole else labelled


def _cluster(sample: Sample, reporting: Reporting) -> str:
    """A row without a cluster is one of its own."""
    cluster = cluster_of(sample, reporting)
    return f"row {sample.index}" if cluster is None else f"cluster {cluster}"


def _disagreement(run: ScoredRows, metric: Labelled, row: int, records: Records) -> Disagreement:
    question = value_of(run.samples[row], QUESTION)
    return Disagreement(
        metric=metric.metric,
        row=row,
        question=question if isinstance(question, str) else None,
        label=float(metric.means[row]),
        score=float(metric.scores[row]),
        drawn=bool(metric.drawn[row]),
        reasons=few_lines(explained(records.get(row, ()))),
    )


def _refuse_few(run: ScoredRows, sources: Sequence[LabelSource], figures: Mapping[str, Mapping[str, Any]]) -> NoReturn:
    names = ", ".join(source.table.name for source in sources)
    counts = "; ".join(f"{metric}: {part['reason']}" for metric, part in figures.items()) or "all labels are blank"
    draw = command("certify", "sheet", run.folder or run.name, "--out", "to_label.xlsx")
    raise ResultsError(f"{names}: too few labels ({counts}). Fill in the rows that are blank, or draw others: {draw}")
