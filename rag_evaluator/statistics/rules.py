"""Rules that scores must keep, such as `faithfulness >= 0.8`: parsed, and held against an interval."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from rag_evaluator.errors import ConfigError

from .formulas import TIE, Estimate, Scale

Limit = Literal["min", "max", "not worse", "worse"]
MEAN = "mean:"
RULE = re.compile(r"\s*(mean:)?\s*(.+?)\s*(>=|<=)\s*(\S+)\s*")


@dataclass(frozen=True)
class Rule:
    """What a metric must keep; as text `faithfulness >= 0.8`.

    Attributes:
        limit: what `number` is: the least or the greatest value, or a margin, how much worse than a baseline the metric
            may be, in its units; of `worse`, which fails where a difference is shown, it is 0. Other words are about
            no number, see `requirements`.
        of_mean: the rule is about the mean, not about the worse end of its interval.
    """

    metric: str
    limit: Limit | str
    number: float
    of_mean: bool = False

    def __str__(self) -> str:
        name = (MEAN if self.of_mean else "") + self.metric
        if self.limit == "worse":
            return f"{name} not shown to be worse"
        sign = {"min": ">=", "max": "<=", "not worse": "not worse by"}.get(self.limit)
        if sign is None:
            return f"{name} needs a {self.limit}"
        return f"{name} {sign} {self.number:g}"

    def limit_of(self, scale: Scale) -> float:
        """Return the number that scores, or differences from the baseline, must keep."""
        return -self.number if self.limit in ("not worse", "worse") and scale.better == "higher" else self.number

    def is_kept(self, scale: Scale, value: float | None) -> bool:
        """Whether a score, or a difference, is on the right side of the limit; `TIE` is allowed for."""
        if value is None:
            return False
        limit = self.limit_of(scale)
        return value >= limit - TIE if scale.better == "higher" else value <= limit + TIE

    def worse_end(self, scale: Scale, estimate: Estimate) -> float | None:
        """Return what the rule is about: the worse end of the interval, or the mean; None where no row has a score."""
        if self.of_mean:
            return estimate.mean
        return estimate.ci_low if scale.better == "higher" else estimate.ci_high

    def refuse_senseless(self, scale: Scale) -> None:
        """Raise `ConfigError` for a rule that no metric of this scale can have."""
        if self.limit in ("min", "max") and (self.limit == "min") != (scale.better == "higher"):
            other = "maximum" if self.limit == "min" else "minimum"
            raise ConfigError(f"rule '{self}': of {self.metric} {scale.better} is better: give a {other}.")
        ends = {"not worse": (0.0, scale.width), "worse": (0.0, 0.0)}
        low, high = ends.get(self.limit, (scale.low, scale.high))
        if not low <= self.number <= high:
            what = "margin" if self.limit == "not worse" else "number"
            raise ConfigError(f"rule '{self}': expected a {what} from {low:g} to {high:g}.")


def parse_rule(text: str) -> Rule:
    """Return the rule that a text such as `faithfulness >= 0.8` or `mean:noise_sensitivity <= 0.2` says.

    Raises `ConfigError` for another text.
    """
    parts = RULE.fullmatch(text)
    number = _number(parts[4]) if parts else None
    if parts is None or number is None:
        raise ConfigError(
            f"'{text}' is not a rule. Expected a metric, >= or <=, and a number, such as 'faithfulness >= 0.8' or "
            "'mean:noise_sensitivity <= 0.2'."
        )
    return Rule(parts[2], "min" if parts[3] == ">=" else "max", number, parts[1] is not None)


def parse_limit(option: str, limit: Limit, text: str) -> Rule:
    """Return the rule of an option of the command line, `--min faithfulness=0.8`. Raises `ConfigError`."""
    name, sign, value = text.rpartition("=")
    number = _number(value)
    if not sign or not name.removeprefix(MEAN) or number is None:
        raise ConfigError(f"{option} {text}: expected METRIC=NUMBER, such as {option} faithfulness=0.8")
    return Rule(name.removeprefix(MEAN), limit, number, name.startswith(MEAN))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
