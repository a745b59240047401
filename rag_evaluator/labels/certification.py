"""What labels say of a run: the figures of each metric, and the rows on which people and judge differ most."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_evaluator.dataset.keys import value_of
from rag_evaluator.errors import DatasetError, ResultsError
from rag_evaluator.labels.draw import DrawRecord
from rag_evaluator.labels.figures import Chosen, Labelled, enough, figures_of, to_keep, worst_rows
from rag_evaluator.labels.joined import joined
from rag_evaluator.labels.scale import LabelScale, scale_of_labels
from rag_evaluator.labels.table import Label, LabelTable
from rag_evaluator.labels.verdicts import Records, row_calibration, statement_figures
from rag_evaluator.program import command
from rag_evaluator.results.kept_labels import KeptLabels
from rag_evaluator.results.matching import QUESTION
from rag_evaluator.results.reasons import said, telling
from rag_evaluator.results.reporting import cluster_of, reporting_of, unit_of
from rag_evaluator.results.saved import SavedScores, run_weights
from rag_evaluator.trust.judge_verdict import LEAST
from rag_evaluator.trust.scale import Scale

SHOWN = 5  # disagreements of a metric


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
    found: dict[str, tuple[LabelSource, list[Label]]] = {}
    for source in sources:
        own: dict[str, list[Label]] = {}
        for label in source.table.labels:
            own.setdefault(label.metric, []).append(label)
        for metric, labels in own.items():
            if all(label.value != label.value for label in labels):
                continue
            if metric in found:
                names = f"{found[metric][0].table.name} and {source.table.name}"
                raise DatasetError(f"{names}: both have labels of {metric}. Keep one of them.")
            found[metric] = source, labels
    return found


def compared(
    run: SavedScores, sources: Sequence[LabelSource], settings: Settings
) -> tuple[dict[str, dict[str, Any]], list[Disagreement], dict[str, KeptLabels]]:
    """The figures of each metric with labels (Any: JSON), the worst disagreements, the labels of rows to be kept.

    Raises `DatasetError` for labels that cannot be used, `ResultsError` if no metric has enough of them.
    """
    figures: dict[str, dict[str, Any]] = {}
    disagreements: list[Disagreement] = []
    kept: dict[str, KeptLabels] = {}
    found = by_metric(sources)
    details = run.details({(label.row, metric) for metric, (_, labels) in found.items() for label in labels})
    for metric, (source, labels) in found.items():
        records = {row: lines for (row, name), lines in details.items() if name == metric}
        figures[metric], worst, rows = _of_metric(run, metric, source, labels, records, settings)
        disagreements += worst
        kept |= {} if rows is None else {metric: to_keep(rows)}
    if not enough(figures):
        _refuse_few(run, sources, figures)
    return figures, disagreements, kept


def _of_metric(
    run: SavedScores,
    metric: str,
    source: LabelSource,
    labels: Sequence[Label],
    records: Records,
    settings: Settings,
) -> tuple[dict[str, Any], list[Disagreement], Labelled | None]:
    statements = [label for label in labels if label.statement is not None]
    whole = [label for label in labels if label.statement is None]
    found: dict[str, Any] = {}
    labelled: Labelled | None = None
    worst: list[Disagreement] = []
    if any(label.value == label.value for label in whole):
        labelled = _labelled(run, metric, source, whole, settings)
        found = figures_of(labelled, settings.level)
        if "reason" not in found:
            found["calibration"] = row_calibration(labelled, records)
        worst = [_disagreement(run, labelled, row, records) for row in worst_rows(labelled, SHOWN)]
    if statements:
        judged = statement_figures(statements, records, settings.level)
        if "binary" not in found and "graded" not in found:
            verdict = {**judged["verdict"], "reason": f"statements: {judged['verdict']['reason']}"}
            found = {**found, **({"reason": judged["reason"]} if "reason" in judged else {}), "verdict": verdict}
        found["statements"] = judged
    return found, worst, labelled


def _labelled(
    run: SavedScores, metric: str, source: LabelSource, labels: Sequence[Label], settings: Settings
) -> Labelled:
    import numpy as np

    scale, reporting = settings.scales[metric], reporting_of(run.manifest)
    label_scale = scale_of_labels(metric, labels, scale, settings.label_scales)
    joint = joined(labels, len(run.samples), label_scale, source.draw)
    if label_scale.own and np.array_equal(joint.means, run.scores[metric], equal_nan=True):
        raise DatasetError(
            f"{source.table.name}: its labels of {metric} are the scores themselves. Name people's labels."
        )
    chosen: Chosen = "random" if settings.random else "unknown"
    if source.draw is not None or joint.labelled.all():
        chosen = "all" if source.draw is None else "drawn"
    clusters = [cluster_of(sample, reporting) for sample in run.samples] if reporting.cluster else None
    scores = np.asarray(run.scores[metric], dtype=np.float64)
    threshold = settings.thresholds.get(metric)
    return Labelled(
        metric,
        scores,
        scale,
        joint,
        label_scale,
        chosen,
        source.draw,
        _apart(clusters),
        threshold,
        counts=np.asarray(run_weights(run, reporting.weight)) if reporting.weight else None,
        units=[unit_of(sample, reporting) for sample in run.samples],
    )


def _apart(clusters: Sequence[str | None] | None) -> list[str] | None:
    """A row without a cluster is one of its own."""
    if clusters is None:
        return None
    return [f"row {place}" if name is None else f"cluster {name}" for place, name in enumerate(clusters)]


def _disagreement(run: SavedScores, metric: Labelled, row: int, records: Records) -> Disagreement:
    question = value_of(run.samples[row], QUESTION)
    lines = [line for record in records.get(row, ()) for line in said(record)]
    return Disagreement(
        metric=metric.metric,
        row=row,
        question=question if isinstance(question, str) else None,
        label=float(metric.labels.means[row]),
        score=float(metric.scores[row]),
        drawn=metric.labels.drawn is None or bool(metric.labels.drawn[row]),
        reasons=telling(lines, []),
    )


def _refuse_few(run: SavedScores, sources: Sequence[LabelSource], figures: Mapping[str, Mapping[str, Any]]) -> None:
    names = ", ".join(source.table.name for source in sources)
    counts = "; ".join(f"{metric}: {part['reason']}" for metric, part in figures.items())
    counts = counts or f"all labels are blank, {LEAST} of rows with a score are needed"
    draw = command("certify", "sheet", run.folder or run.name, "--size", 100, "--out", "to_label.xlsx")
    raise ResultsError(f"{names}: too few labels ({counts}). 100 labels say much more. Rows to be labelled: {draw}")


def as_json(disagreements: Sequence[Disagreement]) -> list[dict[str, Any]]:
    """Disagreements as JSON."""
    return [asdict(one) for one in disagreements]
