"""What kind of number a score is, and estimates of such numbers with their intervals."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

TIE = 1e-6  # scores that differ by no more are equal: 1.0000000000000002 is a cosine, too
Kind = Literal["judged", "continuous"]
Better = Literal["higher", "lower"]


class Scale(NamedTuple):
    """The scale of a metric.

    Attributes:
        low, high: the range of its scores.
        kind: `judged` scores come from verdicts, so they take few values and are often all equal; `continuous` ones
            come from embeddings or from comparing strings.
        better: which end of the range is the better one.
        atoms: values that have a mass by construction, of continuous scores: 0 of an evasive answer, 0 and 1 of texts
            that have nothing in common or are equal.
    """

    low: float = 0.0
    high: float = 1.0
    kind: Kind = "judged"
    better: Better = "higher"
    atoms: tuple[float, ...] = ()

    @property
    def width(self) -> float:
        return self.high - self.low

    def holds(self, value: float) -> bool:
        """Whether a score lies in the range, `TIE` allowed for; NaN does not."""
        return self.low - TIE <= value <= self.high + TIE


@dataclass(frozen=True)
class Estimate:
    """The mean of scores, or of differences between scores.

    Attributes:
        n: observations, missing ones not counted.
        mean, median: of these; None if there are none.
        std: standard deviation of the observations (divisor n - 1); None for fewer than two.
        stderr: standard error of the mean, robust to clusters if there are any; None for fewer than two.
        ci_low, ci_high: interval for the mean of what the observations are a sample of; None with n = 0.
        ci_level: its nominal coverage, such as 0.95.
        ci_method: name of the method, or why there is no interval.
    """

    n: int
    mean: float | None
    median: float | None
    std: float | None
    stderr: float | None
    ci_low: float | None
    ci_high: float | None
    ci_level: float
    ci_method: str


@dataclass(frozen=True)
class Coefficient:
    """A coefficient of agreement or correlation.

    Attributes:
        value: None where it is undefined.
        ci_low, ci_high: its interval; None where it is undefined.
        ci_level: nominal coverage, such as 0.95.
        ci_method: name of the method, or why there is no value.
    """

    value: float | None
    ci_low: float | None
    ci_high: float | None
    ci_level: float
    ci_method: str


def undefined(reason: str, level: float) -> Coefficient:
    """No value, and why."""
    return Coefficient(None, None, None, level, f"none: {reason}")
