"""What labels say of a run: the figures of each metric and of single statements, and the rows on which people and judge
differ most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag_evaluator.dataset.columns import value_of
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import DatasetError, ResultsError
from rag_evaluator.features.certify.agreement import binary_agreement
from rag_evaluator.features.certify.figures import (
    Chosen,
    Labelled,
    LabelScale,
    binary_json,
    figures_of,
    joined,
    scale_of_labels,
    to_keep,
    worst_rows,
)
from rag_evaluator.features.certify.krippendorff import krippendorff_alpha
from rag_evaluator.features.certify.sheet import DrawRecord
from rag_evaluator.features.certify.table import Label, LabelTable
from rag_evaluator.features.certify.verdict import LEAST, calibration, fill_in, judge_verdict
from rag_evaluator.resources import command
from rag_evaluator.results.aligned import QUESTION
from rag_evaluator.results.certificate import KeptLabels
from rag_evaluator.results.judgement import JudgedVerdict, explained, few_lines, numbers_of
from rag_evaluator.results.run import ScoredRows
from rag_evaluator.results.summary import Reporting, cluster_of, reporting_of, unit_of
from rag_evaluator.results.verified import probabilities_of
from rag_evaluator.statistics.formulas import TIE, Scale

Records = Mapping[int, Sequence[Mapping[str, Any]]]  # row -> its details, one for each repeat
SHOWN = 5  # disagreements of a metric


def statement_figures(labels: Sequence[Label], records: Records, level: float) -> dict[str, Any]:
    """Verdicts against labels of 0 and 1, clustered by row; Any: JSON.

    The score of a verdict is the judge's probability of 1 where it has one; of a verifier's verdict its probability,
    moved so that the threshold is at 0.5. Of repeated scores the first counts.
    Statements on which annotators are divided, and those on which the judge gave several verdicts that differ, are
    counted and left out. Raises `DatasetError` for a statement that the judge did not judge, a label that is not 0 or
    1.
    """
    votes: dict[tuple[int, str], list[Label]] = {}
    for label in labels:
        if label.statement is not None and label.value == label.value:
            if label.value not in (0.0, 1.0):
                raise DatasetError(f"{label.where}: {label.value:g}; labels of statements are 0 or 1.")
            votes.setdefault((label.row, label.statement), []).append(label)
    pairs, divided, unclear = [], 0, 0
    for (row, _), row_votes in votes.items():
        verdict, mean = _verdict(row_votes[0], records), sum(label.value for label in row_votes) / len(row_votes)
        if verdict is None:
            unclear += 1
        elif mean == 0.5:
            divided += 1
        else:
            pairs.append((row, verdict, float(round(mean))))
    rows, verdicts = [str(row) for row, _, _ in pairs], [verdict for _, verdict, _ in pairs]
    wanted, scores = [label for *_, label in pairs], [_score(verdict, records[row][0]) for row, verdict, _ in pairs]
    shown, alpha = judge_verdict(scores, wanted, rows), _alpha(list(votes.values()))
    figures: dict[str, Any] = {"labels": len(pairs), "rows": len(set(rows)), "tied": divided, "unclear": unclear}
    figures["verdict"] = asdict(shown)
    if len(pairs) < LEAST:
        return {**figures, **alpha, "reason": shown.reason}
    agreement = binary_agreement(scores, wanted, 0.5, rows, level=level)
    right = [float(verdict.value == label) for verdict, label in zip(verdicts, wanted, strict=True)]
    confidences = [_or_nan(verdict) for verdict in verdicts]
    return {
        **figures,
        **alpha,
        "binary": binary_json(agreement),
        "calibration": asdict(calibration(confidences, right, rows)),
    }


def row_calibration(metric: Labelled, records: Records) -> dict[str, Any]:
    """The same of confidences for labels of whole rows: only where a single verdict of yes or no made the score."""
    labels, moved = metric.labels.counting(metric.labels.votes), metric.moved
    confidences, right, weights, clusters = [], [], [], []
    for row, lines in records.items():
        verdicts = list(numbers_of(lines[0]))
        low, high = (abs(moved[row] - end) <= TIE for end in (metric.label_scale.low, metric.label_scale.high))
        if len(lines) == 1 and len(verdicts) == 1 and (low or high) and labels[row] == labels[row]:
            confidences.append(_or_nan(verdicts[0]))
            right.append(float(labels[row] == (metric.label_scale.high if high else metric.label_scale.low)))
            weights.append(1.0 if metric.weights is None else float(metric.weights[row]))
            clusters.append(row if metric.clusters is None else metric.clusters[row])
    return asdict(calibration(confidences, right, None if metric.clusters is None else clusters, weights))


def _verdict(label: Label, records: Records) -> JudgedVerdict | None:
    """What the judge said of a statement; None where it has said several things."""
    lines = records.get(label.row, ())
    verdicts = [verdict for verdict in (numbers_of(lines[0]) if lines else ()) if verdict.statement == label.statement]
    if not verdicts:
        known = sorted({verdict.statement for line in lines for verdict in numbers_of(line) if verdict.statement})
        shown = "; ".join(f"{statement!r:.80}" for statement in known[:5]) or "none"
        raise DatasetError(
            f"{label.where}: {label.metric} has no verdict on the statement {label.statement!r:.80} in row "
            f"{label.row}. Its statements there: {shown}."
        )
    return (
        verdicts[0] if len({verdict.value for verdict in verdicts}) == 1 and verdicts[0].value in (0.0, 1.0) else None
    )


def _score(verdict: JudgedVerdict, record: Mapping[str, Any]) -> float:
    """The probability of the verdict 1; on the side of the verdict, whatever rounding or a threshold did."""
    probability = probabilities_of(record).get(verdict.statement or "")
    if probability is not None:
        return (float(verdict.value) + probability) / 2
    if verdict.confidence is None:
        return float(verdict.value)
    return max(verdict.confidence, 0.5) if verdict.value else min(1 - verdict.confidence, 0.4999995)


def _or_nan(verdict: JudgedVerdict) -> float:
    return float("nan") if verdict.confidence is None else verdict.confidence


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
        again: the command that compares them.
    """

    scales: Mapping[str, Scale]
    label_scales: Mapping[str, LabelScale]
    thresholds: Mapping[str, float]
    random: bool
    level: float
    again: str = ""


def by_metric(sources: Sequence[LabelSource]) -> dict[str, tuple[LabelSource, list[Label]]]:
    """The labels of each metric that has any, with their source. Raises `DatasetError` for a metric of two sources."""
    labels_of: dict[str, tuple[LabelSource, list[Label]]] = {}
    for source in sources:
        by_name: dict[str, list[Label]] = {}
        for label in source.table.labels:
            by_name.setdefault(label.metric, []).append(label)
        for metric, labels in by_name.items():
            if all(label.value != label.value for label in labels):
                continue
            if metric in labels_of:
                names = f"{labels_of[metric][0].table.name} and {source.table.name}"
                raise DatasetError(f"{names}: both have labels of {metric}. Keep one of them.")
            labels_of[metric] = source, labels
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
        figures[metric], worst, rows = _of_metric(run, metric, source, labels, records, settings)
        disagreements += worst
        kept |= {} if rows is None else {metric: to_keep(rows)}
    if all("reason" in part for part in figures.values()):
        _refuse_few(run, sources, figures, settings.again)
    return figures, disagreements, kept


def _of_metric(
    run: ScoredRows,
    metric: str,
    source: LabelSource,
    labels: Sequence[Label],
    records: Records,
    settings: Settings,
) -> tuple[dict[str, Any], list[Disagreement], Labelled | None]:
    statements = [label for label in labels if label.statement is not None]
    whole = [label for label in labels if label.statement is None]
    figures: dict[str, Any] = {}
    labelled: Labelled | None = None
    worst: list[Disagreement] = []
    if any(label.value == label.value for label in whole):
        labelled = _labelled(run, metric, source, whole, settings)
        figures = figures_of(labelled, settings.level)
        if "reason" not in figures:
            figures["calibration"] = row_calibration(labelled, records)
        worst = [_disagreement(run, labelled, row, records) for row in worst_rows(labelled, SHOWN)]
    if statements:
        judged = statement_figures(statements, records, settings.level)
        if "binary" not in figures and "graded" not in figures:
            verdict = {**judged["verdict"], "reason": f"statements: {judged['verdict']['reason']}"}
            figures = {**figures, **({"reason": judged["reason"]} if "reason" in judged else {}), "verdict": verdict}
        figures["statements"] = judged
    return figures, worst, labelled


def _labelled(
    run: ScoredRows, metric: str, source: LabelSource, labels: Sequence[Label], settings: Settings
) -> Labelled:

    scale, reporting = settings.scales[metric], reporting_of(run.manifest)
    label_scale = scale_of_labels(metric, labels, scale, settings.label_scales)
    joint = joined(labels, len(run.samples), label_scale, source.draw)
    if label_scale.in_score_units and np.array_equal(joint.means, run.scores[metric], equal_nan=True):
        raise DatasetError(
            f"{source.table.name}: its labels of {metric} are the scores themselves. Name people's labels."
        )
    chosen: Chosen = "random" if settings.random else "unknown"
    if source.draw is not None or joint.labelled.all():
        chosen = "all" if source.draw is None else "drawn"
    clusters = [_cluster(sample, reporting) for sample in run.samples] if reporting.cluster else None
    scores = np.asarray(run.scores[metric], dtype=np.float64)
    return Labelled(
        metric,
        scores,
        scale,
        joint,
        label_scale,
        chosen,
        source.draw,
        clusters,
        settings.thresholds.get(metric),
        units=[unit_of(sample, reporting) for sample in run.samples],
    )


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
        label=float(metric.labels.means[row]),
        score=float(metric.scores[row]),
        drawn=metric.labels.drawn is None or bool(metric.labels.drawn[row]),
        reasons=few_lines(explained(records.get(row, ())), []),
    )


def _refuse_few(
    run: ScoredRows, sources: Sequence[LabelSource], figures: Mapping[str, Mapping[str, Any]], again: str
) -> None:
    names = ", ".join(source.table.name for source in sources)
    counts = "; ".join(f"{metric}: {part['reason']}" for metric, part in figures.items())
    counts = counts or f"all labels are blank, {LEAST} of rows with a score are needed"
    blank = max((part.get("blank", 0) for part in figures.values()), default=0) or _blank_lines(sources)
    if blank:
        raise ResultsError(f"{names}: too few labels ({counts}). {fill_in(blank)[:-1]}: {again}")
    size = min(100, len(run.samples))
    draw = command("certify", "sheet", run.folder or run.name, "--size", size, "--out", "to_label.xlsx")
    raise ResultsError(f"{names}: too few labels ({counts}). 100 labels say much more. Rows to be labelled: {draw}")


def _blank_lines(sources: Sequence[LabelSource]) -> int:
    """Lines of sheets without any label."""
    labels = [label for source in sources if source.draw is not None for label in source.table.labels]
    given = {(label.row, label.statement) for label in labels if label.value == label.value}
    return len({(label.row, label.statement) for label in labels} - given)
