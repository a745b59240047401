"""The scale of a metric's labels, and scores brought to it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rag_evaluator.errors import ConfigError, DatasetError
from rag_evaluator.features.certify.table import Label
from rag_evaluator.statistics.formulas import Array, Scale
from rag_evaluator.statistics.krippendorff import Measure

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
