"""One metric of a run with the labels of its rows: on which scale they are, and all figures of both."""

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.errors import ConfigError, DatasetError
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.results import KeptLabels
from rag_evaluator.statistics import (
    FIGURES,
    Array,
    Coefficient,
    Estimate,
    LabelMean,
    Scale,
    binary_agreement,
    compare_with_baselines,
    concordance,
    graded_agreement,
    krippendorff_alpha,
    label_auc,
    label_mean,
    pairs_of,
    with_clusters,
)

from .counting import COUNTING
from .draws import DrawRecord
from .table import Label
from .verdict import LEAST, judge_verdict

MOST_GRADES = 101
BY_PROBABILITIES = "the mean probability of its sentences"
Chosen = Literal["drawn", "random", "all", "unknown"]
"""How rows came to have labels: by `certify sheet`; at random, as the user says; every row has one; not known."""
NOT_DRAWN = (
    "none: nobody knows how the labelled rows were chosen; 'certify sheet' draws rows, --random says they were drawn"
)


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
        low = int(match[2])
        high = int(match[3])
        grades = tuple(map(float, range(low, high + 1)))
        scales[match[1]] = BINARY if (low, high) == (0, 1) else LabelScale(grades, "graded")
    return scales


def scale_of_labels(
    metric: str, labels: Sequence[Label], scale: Scale, declared: Mapping[str, LabelScale]
) -> LabelScale:
    """The scale of a metric's labels: as declared, else 0 and 1, else grades in the metric's own range.

    Raises `DatasetError` for a label outside of it, or for a word among grades.
    """
    given = [label for label in labels if label.statement is None]
    values = {label.value for label in given}
    if metric not in declared and values <= {0.0, 1.0} and not (values == {1.0} and scale.low == 1.0):
        return BINARY
    label_scale = declared.get(metric) or LabelScale(_grades(scale, values), "graded", in_score_units=True)
    for label in given:
        if label.value not in label_scale.grades if metric in declared else not scale.holds(label.value):
            raise DatasetError(
                f"{label.where}: {label.value:g} is no grade of {metric}, {label_scale.low:g} to {label_scale.high:g}. "
                f"If grades have other ends, give them: --scale {metric}=1..5"
            )
        if label.is_word and label_scale.kind == "graded":
            raise DatasetError(f"{label.where}: a word, where other labels of {metric} are grades. Give a number.")
    return label_scale


def _grades(scale: Scale, values: set[float]) -> tuple[float, ...]:
    """The ends of a metric's range and the labels there; of whole ones all whole numbers of the range."""
    whole = scale.width >= 2 and scale.low.is_integer() and all(value.is_integer() for value in values)
    steps = range(round(scale.low), round(scale.high) + 1) if whole else ()
    inside = filter(scale.holds, values)
    return tuple(sorted({scale.low, scale.high, *inside, *map(float, steps)}))


def ratings_of(labels: Sequence[Label], rows: int) -> dict[str, Array]:
    """Annotator -> what each row of a run got; NaN: no label. Labels of statements are left out."""
    whole = [label for label in labels if label.statement is None]
    ratings = {name: np.full(rows, np.nan) for name in sorted({label.annotator for label in whole})}
    for label in whole:
        ratings[label.annotator][label.row] = label.value
    return ratings


@dataclass(frozen=True, eq=False)
class Labelled:
    """One metric of a run with its labels; arrays have an item for each row of the run.

    Attributes:
        scores: in the unit of the metric; NaN: none.
        scale: of the scores.
        ratings: annotator -> labels; NaN: none.
        label_scale: of the labels.
        counted: what counting gives, by name, see `RowCounter`.
        draw: if they were drawn.
        random: whether the labelled rows are a random sample, though not of a draw.
        clusters: of all rows; None: rows do not depend on each other.
        threshold: from which on a score accepts, fixed before; None: chosen on the labels.
        units: of all rows, the key of the cluster or of the row itself; None: each row is its own.
        finer: what ranks rows in place of their scores, higher for better ones: the mean probability of a row's
            sentences; None: nothing.
    """

    metric: str
    scores: Array
    scale: Scale
    ratings: Mapping[str, Array]
    label_scale: LabelScale
    counted: Mapping[str, Array]
    draw: DrawRecord | None = None
    random: bool = False
    clusters: Sequence[Hashable] | None = None
    threshold: float | None = None
    units: Sequence[str] | None = None
    finer: Array | None = None

    @cached_property
    def means(self) -> Array:
        """The mean of the annotators of each row; NaN: no label."""
        table = np.stack(list(self.ratings.values()))
        counts = np.count_nonzero(~np.isnan(table), axis=0)
        return np.where(counts > 0, np.nansum(table, axis=0) / np.maximum(counts, 1), np.nan)

    @cached_property
    def drawn(self) -> NDArray[np.bool_]:
        """Rows whose labels count; those of others may be read, but say nothing of all rows."""
        places = np.arange(len(self.scores))
        return np.isin(places, places if self.draw is None else self.draw.rows)

    @property
    def chosen(self) -> Chosen:
        if self.draw is not None:
            return "drawn"
        return "all" if not np.isnan(self.means).any() else "random" if self.random else "unknown"

    @property
    def counting(self) -> Array:
        """The means of rows that count."""
        return np.where(self.drawn, self.means, np.nan)

    @property
    def votes(self) -> Array:
        """The same; of binary labels what most annotators say, and NaN also where as many say 0 as 1."""
        if self.label_scale.kind == "graded":
            return self.counting
        return np.where(self.counting == 0.5, np.nan, np.round(self.counting))

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
        return int(np.count_nonzero(~np.isnan(self.scores) & ~np.isnan(self.votes)))


def figures_of(metric: Labelled, level: float) -> JsonDict:
    """All figures of labels of whole rows. Those of agreement only with `LEAST` labels."""
    mean = mean_label(metric, level)
    kind = metric.label_scale.kind
    known = ~np.isnan(metric.means)
    figures: JsonDict = {
        "labels": int(np.count_nonzero(known & metric.drawn)),
        "compared": metric.compared,
        "blank": mean.blank,
        "tied": int(np.count_nonzero(metric.means == 0.5)) if kind == "binary" else 0,
        "not_drawn": int(np.count_nonzero(known & ~metric.drawn)),
        "chosen": metric.chosen,
        "scale": {"kind": kind, "low": metric.label_scale.low, "high": metric.label_scale.high},
        "annotators": list(metric.ratings),
    }
    figures |= agreement_of(metric, level)
    if "reason" not in figures:
        has_score = ~np.isnan(metric.scores)
        judge = float(np.average(np.nan_to_num(metric.moved), weights=has_score)) if has_score.any() else None
        figures["label_mean"] = {**asdict(mean), "judge_mean": judge}
    return figures


def agreement_of(metric: Labelled, level: float) -> JsonDict:
    """How far annotators agree with each other, the verdict, the one beside what counting gives, and the figures behind
    it or why there are none."""
    is_graded = metric.label_scale.kind == "graded"
    figures = JsonDict()
    if len(metric.ratings) > 1:
        alpha = krippendorff_alpha(list(metric.ratings.values()))
        figures["annotator_alpha"] = {"level": "ordinal" if is_graded else "nominal", **alpha}
    scores = metric.moved if is_graded else metric.scale.upright(metric.scores)
    ranks = scores if metric.finer is None else metric.finer
    rows, ranked = (pairs_of(side, metric.votes, metric.clusters, metric.weights) for side in (scores, ranks))
    verdict = judge_verdict(ranked, is_graded)
    figures["verdict"] = verdict
    if beside := compare_with_baselines(ranks, metric.votes, metric.counted, metric.clusters, metric.weights):
        figures[COUNTING] = asdict(beside)
    if metric.finer is not None:
        figures["ranked_by"] = BY_PROBABILITIES
    if metric.compared < LEAST:
        return {**figures, "reason": verdict["reason"]}
    if is_graded:
        graded = graded_agreement(rows, metric.label_scale.grades, level) | {"concordance": concordance(ranked, level)}
        return {**figures, "graded": _json(graded)}
    limit = None if metric.threshold is None else metric.scale.upright(metric.threshold)
    binary = _json(binary_agreement(rows, limit, level) | {"auc": label_auc(ranked, level)})
    if binary["threshold"] is not None:
        binary["threshold"] = metric.scale.upright(binary["threshold"])
    return {**figures, "binary": binary}


def _json(figures: Json) -> JsonDict:
    return {
        name: asdict(value) if isinstance(value, Coefficient | Estimate) else value for name, value in figures.items()
    }


def mean_label(metric: Labelled, level: float) -> LabelMean:
    """The mean label of all rows, where it is known how rows came to have labels."""
    scale = Scale(metric.label_scale.low, metric.label_scale.high)
    draw = metric.draw
    design = JsonDict()
    if draw is not None:
        design = {"strata": draw.strata, "probabilities": np.asarray(draw.probabilities), "drawn": metric.drawn}
    values = metric.moved, metric.counting, scale
    known = label_mean(*values, level=level, units=metric.units, **design)
    known = with_clusters(known, *values, metric.clusters, design.get("probabilities"))
    nothing: JsonDict = {"ci_method": NOT_DRAWN, **dict.fromkeys(FIGURES)}
    return known if metric.chosen != "unknown" else replace(known, **nothing)


def to_keep(metric: Labelled) -> KeptLabels:
    """What is kept of it for comparing runs."""
    draw = metric.draw
    labels, scores = (
        [None if math.isnan(value) else value for value in side.tolist()] for side in (metric.counting, metric.moved)
    )
    of_draw: JsonDict = dict.fromkeys(("draw", "like", "probabilities", "strata", "drawn"))
    if draw is not None:
        of_draw = {name: getattr(draw, name) for name in ("like", "probabilities", "strata")}
        of_draw |= {"draw": draw.name, "drawn": metric.drawn.tolist()}
    return KeptLabels(
        low=metric.label_scale.low,
        high=metric.label_scale.high,
        chosen=metric.chosen,
        labels=labels,
        scores=scores,
        better=metric.scale.better if metric.label_scale.in_score_units else "higher",
        annotators=len(metric.ratings),
        **of_draw,
    )


def worst_rows(metric: Labelled, count: int) -> list[int]:
    """The rows of which label and score differ most; of equal ones the first. Rows that agree are none."""
    gaps = np.abs(metric.means - metric.moved)
    order = sorted((-gap, row) for row, gap in enumerate(gaps.tolist()) if not math.isnan(gap) and gap > 1e-6)
    return [row for _, row in order[:count]]
