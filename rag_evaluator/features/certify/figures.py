"""The scale of a metric's labels, and scores brought to it."""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.errors import ConfigError, DatasetError
from rag_evaluator.features.certify.agreement import BinaryAgreement, binary_agreement, graded_agreement
from rag_evaluator.features.certify.krippendorff import Measure, krippendorff_alpha
from rag_evaluator.features.certify.sheet import DrawRecord
from rag_evaluator.features.certify.table import Label
from rag_evaluator.features.certify.verdict import LEAST, JudgeVerdict, judge_verdict
from rag_evaluator.results.certificate import KeptLabels
from rag_evaluator.statistics.formulas import Array, Scale
from rag_evaluator.statistics.ppi import FIGURES, LabelMean, label_mean, with_clusters

MOST_GRADES = 101


@dataclass(frozen=True)
class LabelScale:
    """What labels of a metric mean.

    Attributes:
        grades: all grades, ascending; the first and the last are the ends of the range.
        kind: `binary`: 1 for what people accept, 0 for what they do not; `graded`: several grades.
        in_score_units: whether grades are in the unit of the scores, so that the metric says which end is better. Else
            the highest is the best.
    """

    grades: tuple[float, ...]
    kind: Literal["binary", "graded"]
    in_score_units: bool = False

    @property
    def low(self) -> float:
        return self.grades[0]

    @property
    def high(self) -> float:
        return self.grades[-1]

    @property
    def measure(self) -> Measure:
        """The level of measurement, for Krippendorff's alpha."""
        return "nominal" if self.kind == "binary" else "ordinal"

    def of_scores(self, scores: Sequence[float] | Array, scale: Scale) -> Array:
        """Scores in the unit of the labels, the better end up as it is with labels.

        Scores whose range holds that of the labels, such as cosines from -1 to 1 and labels of 0 and 1, are in that
        unit already. Others are moved in a straight line from range to range.
        """
        numbers = np.asarray(scores, dtype=np.float64)
        if not self.in_score_units and scale.better == "lower":
            numbers = scale.low + scale.high - numbers
        if scale.low <= self.low and self.high <= scale.high:
            return numbers
        return np.asarray(self.low + (numbers - scale.low) * ((self.high - self.low) / scale.width))


BINARY = LabelScale((0.0, 1.0), "binary")


def parse_scales(texts: Sequence[str]) -> dict[str, LabelScale]:
    """`faithfulness=1..5` as the scale of a metric. Raises `ConfigError`."""
    scales = {}
    for text in texts:
        match = re.fullmatch(r"\s*(.+?)\s*=\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*", text)
        if match is None or not 0 < int(match[3]) - int(match[2]) < MOST_GRADES:
            raise ConfigError(f"--scale: expected METRIC=LOW..HIGH, such as faithfulness=1..5, received '{text}'.")
        low, high = int(match[2]), int(match[3])
        grades = tuple(map(float, range(low, high + 1)))
        scales[match[1]] = BINARY if (low, high) == (0, 1) else LabelScale(grades, "graded")
    return scales


def scale_of_labels(
    metric: str, labels: Sequence[Label], scale: Scale, declared: Mapping[str, LabelScale]
) -> LabelScale:
    """The scale of a metric's labels: as declared, else 0 and 1, else grades in the metric's own range.

    Raises `DatasetError` for a label outside of it, for a word among grades, or if the scale is not known.
    """
    label_scale = _scale(metric, labels, scale, declared)
    word = next((label for label in labels if label.is_word), None)
    if label_scale.kind == "graded" and word is not None:
        raise DatasetError(f"{word.where}: a word, where other labels of {metric} are grades. Give a number.")
    return label_scale


def _scale(metric: str, labels: Sequence[Label], scale: Scale, declared: Mapping[str, LabelScale]) -> LabelScale:
    values = {label.value for label in labels if label.value == label.value}
    if metric in declared:
        return _checked(metric, labels, declared[metric])
    if values <= {0.0, 1.0} and not (values == {1.0} and scale.low == 1.0):
        return BINARY
    if all(scale.holds(value) for value in values):
        whole = scale.width >= 2 and all(value.is_integer() for value in values)
        steps = range(round(scale.low), round(scale.high) + 1) if whole and scale.low.is_integer() else ()
        return LabelScale(
            tuple(sorted({scale.low, scale.high, *values, *map(float, steps)})), "graded", in_score_units=True
        )
    outside = next(label for label in labels if label.value == label.value and not scale.holds(label.value))
    raise DatasetError(
        f"{outside.where}: {outside.value:g} is neither 0 or 1 nor a value of {metric} ({scale.low:g} to "
        f"{scale.high:g}). If these are grades, say from where to where: --scale {metric}=1..5"
    )


def _checked(metric: str, labels: Sequence[Label], declared: LabelScale) -> LabelScale:
    for label in labels:
        if label.value == label.value and label.value not in declared.grades:
            raise DatasetError(
                f"{label.where}: {label.value:g} is no grade of {metric}, {declared.low:g} to {declared.high:g}."
            )
    return declared


Value = TypeVar("Value", float, Array)
Chosen = Literal["drawn", "random", "all", "unknown"]
"""How rows came to have labels: by `certify sheet`; at random, as the user says; every row has one; not known."""
NOT_DRAWN = (
    "none: nobody knows how the labelled rows were chosen; 'certify sheet' draws rows, --random says they were drawn"
)


@dataclass(frozen=True, eq=False)
class JoinedLabels:
    """Labels of all rows of a run.

    Attributes:
        ratings: of each annotator; NaN: none. *Shape:* (annotators, rows).
        annotators: their names, in order.
        means: of the annotators of each row; NaN: no label.
        votes: the grade that most annotators chose, for binary labels; NaN also where as many say 0 as 1. Of graded
            labels the same as `means`.
        drawn: whether the row was drawn; None where no draw is known.
    """

    ratings: Array
    annotators: Sequence[str]
    means: Array
    votes: Array
    drawn: NDArray[np.bool_] | None

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.means))

    @property
    def tied(self) -> int:
        """Rows that count nowhere in the comparison: as many annotators accept as reject."""
        return int(np.count_nonzero(np.isnan(self.votes) & self.labelled))

    def counting(self, values: Array) -> Array:
        """Labels of rows that were drawn; of others NaN: they may be read, but say nothing of all rows."""
        return values if self.drawn is None else np.where(self.drawn, values, np.nan)


def joined(labels: Sequence[Label], rows: int, scale: LabelScale, draw: DrawRecord | None) -> JoinedLabels:
    """Labels of whole rows by annotator."""
    whole = [label for label in labels if label.statement is None and label.value == label.value]
    annotators = sorted({label.annotator for label in whole})
    ratings = np.full((len(annotators), rows), np.nan)
    for label in whole:
        ratings[annotators.index(label.annotator), label.row] = label.value
    counts = np.count_nonzero(~np.isnan(ratings), axis=0)
    means = np.where(counts > 0, np.nansum(ratings, axis=0) / np.maximum(counts, 1), np.nan)
    votes = means
    if scale.kind == "binary":
        votes = np.where(np.isnan(means) | (means == 0.5), np.nan, np.round(means))
    return JoinedLabels(ratings, annotators, means, votes, None if draw is None else draw.drawn())


@dataclass(frozen=True, eq=False)
class Labelled:
    """One metric of a run with its labels.

    Attributes:
        scores: of all rows, in the unit of the metric; NaN: none.
        scale: of the scores.
        labels: of all rows.
        label_scale: of the labels.
        chosen: how rows came to have labels.
        draw: if they were drawn.
        clusters: of all rows; None: rows do not depend on each other.
        threshold: from which on a score accepts, fixed before; None: chosen on the labels.
        units: of all rows, the key of the cluster or of the row itself; None: each row is its own.
    """

    metric: str
    scores: Array
    scale: Scale
    labels: JoinedLabels
    label_scale: LabelScale
    chosen: Chosen
    draw: DrawRecord | None = None
    clusters: Sequence[Hashable] | None = None
    threshold: float | None = None
    units: Sequence[str] | None = None

    @property
    def moved(self) -> Array:
        """The scores in the unit of the labels."""
        return self.label_scale.of_scores(self.scores, self.scale)

    @property
    def weights(self) -> Array | None:
        """How many rows each one speaks for."""
        return None if self.draw is None else 1 / np.asarray(self.draw.probabilities)

    @property
    def compared(self) -> int:
        """Rows with a score and a label that counts."""
        return int(np.count_nonzero(~np.isnan(self.scores) & ~np.isnan(self.labels.counting(self.labels.votes))))


def figures_of(metric: Labelled, level: float) -> dict[str, Any]:
    """All figures of labels of whole rows; Any: JSON. Those of agreement only with `LEAST` labels."""
    labels = metric.labels
    mean = mean_label(metric, level)
    figures: dict[str, Any] = {
        "labels": int(np.count_nonzero(~np.isnan(labels.counting(labels.means)))),
        "compared": metric.compared,
        "blank": mean.blank,
        "tied": labels.tied,
        "not_drawn": int(np.count_nonzero(labels.labelled & np.isnan(labels.counting(labels.means)))),
        "chosen": metric.chosen,
        "scale": {"kind": metric.label_scale.kind, "low": metric.label_scale.low, "high": metric.label_scale.high},
        "annotators": list(labels.annotators),
    }
    if len(labels.annotators) > 1:
        measure = metric.label_scale.measure
        figures["annotator_alpha"] = {"level": measure, **asdict(krippendorff_alpha(labels.ratings, measure))}
    verdict = verdict_on(metric)
    figures["verdict"] = asdict(verdict)
    if metric.compared < LEAST:
        return {**figures, "reason": verdict.reason}
    return {**figures, **_agreement(metric, level), "label_mean": _mean_json(metric, mean)}


def verdict_on(metric: Labelled) -> JudgeVerdict:
    """What its labels show of the judge."""
    labels, graded = metric.labels.counting(metric.labels.votes), metric.label_scale.kind == "graded"
    scores = metric.moved if graded else _upright(metric.scale, metric.scores)
    return judge_verdict(scores, labels, metric.clusters, metric.weights, graded, metric.scale.better)


def mean_label(metric: Labelled, level: float) -> LabelMean:
    """The mean label of all rows, where it is known how rows came to have labels."""
    draw, labels, scale = metric.draw, metric.labels, Scale(metric.label_scale.low, metric.label_scale.high)
    means = labels.counting(labels.means)
    known = label_mean(
        metric.moved,
        means,
        scale,
        strata=None if draw is None else draw.strata,
        probabilities=None if draw is None else draw.probabilities,
        drawn=labels.drawn,
        level=level,
        units=metric.units,
        plain_labels=means,
    )
    chances = None if draw is None else np.asarray(draw.probabilities)
    known = with_clusters(known, metric.moved, means, scale, metric.clusters, chances)
    if metric.chosen != "unknown":
        return known
    nothing: dict[str, Any] = dict.fromkeys(FIGURES)
    return replace(known, ci_method=NOT_DRAWN, **nothing)


def _mean_json(metric: Labelled, mean: LabelMean) -> dict[str, Any]:
    """The estimate, and beside it the judge's own mean in the unit of the labels."""
    counts = np.where(np.isnan(metric.scores), 0.0, 1.0)
    judge = float(np.average(np.nan_to_num(metric.moved), weights=counts)) if counts.any() else None
    return {**asdict(mean), "judge_mean": judge}


def _agreement(metric: Labelled, level: float) -> dict[str, Any]:
    labels, weights = metric.labels.counting(metric.labels.votes), metric.weights
    if metric.label_scale.kind == "graded":
        grades = metric.label_scale.grades
        graded = graded_agreement(metric.moved, labels, grades, metric.clusters, weights, level)
        return {"graded": asdict(graded)}
    limit = None if metric.threshold is None else _upright(metric.scale, metric.threshold)
    binary = binary_agreement(_upright(metric.scale, metric.scores), labels, limit, metric.clusters, weights, level)
    return {"binary": binary_json(binary, lambda cut: _upright(metric.scale, cut))}


def binary_json(agreement: BinaryAgreement, in_unit: Callable[[float], float] = float) -> dict[str, Any]:
    """Its fields as JSON, with the threshold in the metric's own unit."""
    threshold = None if agreement.threshold is None else in_unit(agreement.threshold)
    confusion = None if agreement.confusion is None else agreement.confusion._asdict()
    return {**asdict(agreement), "threshold": threshold, "confusion": confusion}


def _upright(scale: Scale, value: Value) -> Value:
    """Scores, or a threshold, of which higher is better; and back."""
    return value if scale.better == "higher" else scale.low + scale.high - value


def to_keep(metric: Labelled) -> KeptLabels:
    """What is kept of it for comparing runs."""
    draw, labels = metric.draw, metric.labels
    return KeptLabels(
        low=metric.label_scale.low,
        high=metric.label_scale.high,
        chosen=metric.chosen,
        draw=None if draw is None else draw.name,
        like=None if draw is None else draw.like,
        labels=_or_none(labels.counting(labels.means)),
        scores=_or_none(metric.moved),
        probabilities=None if draw is None else draw.probabilities,
        strata=None if draw is None else draw.strata,
        drawn=None if labels.drawn is None else labels.drawn.tolist(),
        better=metric.scale.better if metric.label_scale.in_score_units else "higher",
        annotators=len(labels.annotators),
    )


def _or_none(values: Array) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def worst_rows(metric: Labelled, count: int) -> list[int]:
    """The rows of which label and score differ most; of equal ones the first. Rows that agree are none."""
    gaps = np.abs(metric.labels.means - metric.moved)
    order = sorted((-gap, row) for row, gap in enumerate(gaps.tolist()) if not math.isnan(gap) and gap > 1e-6)
    return [row for _, row in order[:count]]
