"""A mean, or a coefficient of agreement, with what is known of its uncertainty."""

from dataclasses import dataclass


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
