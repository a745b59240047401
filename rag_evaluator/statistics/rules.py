"""Rules that scores must keep, such as `faithfulness >= 0.8`, and whether they do."""

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np

from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.statistics.formulas import TIE, Estimate, Scale
from rag_evaluator.statistics.intervals import difference_interval, mean_interval
from rag_evaluator.statistics.paired import fewest

Limit = Literal["min", "max", "not worse", "coverage"]
COVERAGE = 0.95  # share of rows that must have a score, unless a number is given
MOST_ROWS = 200_000  # looked at when a rule needs more rows
MEAN = "mean:"
RULE = re.compile(r"\s*(mean:)?\s*(.+?)\s*(>=|<=)\s*(\S+)\s*")


@dataclass(frozen=True)
class Rule:
    """What a metric must keep; as text `faithfulness >= 0.8`.

    Attributes:
        limit: what `number` is: the least or the greatest value, how much worse than a baseline it may be (a margin, in
            units of the metric), or the least coverage.
        of_mean: the rule is about the mean, not about the worse end of its interval.
    """

    metric: str
    limit: Limit
    number: float
    of_mean: bool = False

    def __str__(self) -> str:
        name = (MEAN if self.of_mean else "") + self.metric
        sign = {"min": ">=", "max": "<=", "not worse": "not worse by", "coverage": "coverage >="}[self.limit]
        return f"{name} {sign} {self.number:g}"


class MissingRows(NamedTuple):
    """Rows that a baseline scored and a run did not.

    Attributes:
        rows: how many; `named` names some of them.
        ignored: the difference without them.
    """

    rows: int
    named: str
    ignored: Estimate


class Measured(NamedTuple):
    """What is known of a metric, or of its difference from a baseline.

    Attributes:
        coverage: share of all rows that have a score; of a difference: that both sides scored.
        clusters: of the scored rows, if they have any: a rule then needs more rows.
        weights: of the scored rows of a difference, if they differ: how many rows each one is.
        lost: rows that count as the worst score, if there are any.
        notes: sentences that belong to every verdict.
        fault: why no rule can pass, whatever the figures are.
    """

    scale: Scale
    estimate: Estimate
    coverage: float
    clusters: Sequence[Hashable] | None = None
    weights: Sequence[float] | None = None
    lost: MissingRows | None = None
    notes: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a rule is kept, and what was measured, in one line.

    Attributes:
        reason: the figures, and the remarks.
        measured: what the rule was checked on.
        uncovered: that too few rows have a score; empty: there are enough.
        remarks: what else must be known of the figures.
        noted: whether there are remarks that should be read also of a rule that is kept.
    """

    rule: Rule
    passed: bool
    reason: str
    measured: Measured
    uncovered: str = ""
    remarks: tuple[str, ...] = ()
    noted: bool = False

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"

    def to_json(self) -> dict[str, str | float | bool]:
        """The rule's text and parts, and the verdict."""
        return {"rule": str(self.rule), **asdict(self.rule), "passed": self.passed, "reason": self.reason}


def parse_rule(text: str) -> Rule:
    """The rule that a text such as `faithfulness >= 0.8` or `mean:noise_sensitivity <= 0.2` says.

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
    """The rule of an option of the command line, `--min faithfulness=0.8`. Raises `ConfigError`."""
    name, sign, value = text.rpartition("=")
    number = _number(value)
    if not sign or not name.removeprefix(MEAN) or number is None:
        raise ConfigError(f"{option} {text}: expected METRIC=NUMBER, such as {option} faithfulness=0.8")
    return Rule(name.removeprefix(MEAN), limit, number, name.startswith(MEAN))


def check_rules(
    rules: Sequence[Rule],
    measured: Mapping[str, Measured],
    differences: Mapping[str, Measured] | None = None,
    min_coverage: float = COVERAGE,
) -> list[Verdict]:
    """Whether each rule is kept.

    A rule concerns the worse end of the interval, or the mean if it says so; 1e-6 is allowed for. It fails also where
    fewer rows than `min_coverage` have a score.

    Args:
        measured: metric -> its scores, for all rules but `not worse`.
        differences: metric -> the run minus its baseline.

    Raises `ConfigError` for a rule that its metric cannot have, or whose metric was not scored.
    """
    verdicts = []
    for rule in rules:
        known = (differences or {}) if rule.limit == "not worse" else measured
        if rule.metric not in known:
            raise ConfigError(
                f"rule '{rule}': there are no scores of '{rule.metric}'.{did_you_mean(rule.metric, known)}"
            )
        refuse_senseless(rule, known[rule.metric].scale)
        verdicts.append(_verdict(rule, known[rule.metric], min_coverage))
    return verdicts


def refuse_senseless(rule: Rule, scale: Scale) -> None:
    """Raises `ConfigError` for a rule that no metric of this scale can have."""
    if rule.limit in ("min", "max") and (rule.limit == "min") != (scale.better == "higher"):
        other = "maximum" if rule.limit == "min" else "minimum"
        raise ConfigError(f"rule '{rule}': of {rule.metric} {scale.better} is better: give a {other}.")
    low, high = {"not worse": (0.0, scale.width), "coverage": (0.0, 1.0)}.get(rule.limit, (scale.low, scale.high))
    if not low <= rule.number <= high:
        what = "margin" if rule.limit == "not worse" else "number"
        raise ConfigError(f"rule '{rule}': expected a {what} from {low:g} to {high:g}.")


def _verdict(rule: Rule, measured: Measured, min_coverage: float) -> Verdict:
    if measured.fault is not None:
        return Verdict(rule, False, measured.fault, measured)
    least = rule.number if rule.limit == "coverage" else min_coverage
    is_covered = measured.coverage >= least - TIE
    uncovered = "" if is_covered else f"coverage is {measured.coverage:.3f}, below {least:g}{_remedy(rule)}"
    if rule.limit == "coverage":
        return Verdict(rule, is_covered, uncovered or f"coverage is {measured.coverage:.3f}", measured)
    kept = _keeps(rule, measured.scale, measured.estimate)
    alone = [] if kept else _lost_alone(rule, measured)
    why = (*alone, *([] if kept or alone else _too_few(rule, measured)), *_lost(measured), *measured.notes)
    reason = "; ".join(filter(None, [uncovered, _seen(rule, measured.scale, measured.estimate), *why]))
    noted = bool(measured.notes or measured.lost)
    return Verdict(rule, kept and is_covered, reason, measured, uncovered, why, noted)


def _remedy(rule: Rule) -> str:
    return (
        ""
        if rule.limit == "coverage"
        else ": first score what is missing, the command of the run with --update, or lower --min-coverage"
    )


def _lost(measured: Measured) -> list[str]:
    """Which rows count as the worst score."""
    if measured.lost is None:
        return []
    rows, worst = measured.lost.rows, _ends(measured.scale)[0]
    what = f"1 row ({measured.lost.named}) has" if rows == 1 else f"{rows} rows ({measured.lost.named}) have"
    return [f"{what} no score in this run but in the baseline, and count{'s' if rows == 1 else ''} as {worst:g}"]


def _lost_alone(rule: Rule, measured: Measured) -> list[str]:
    """That only missing rows make a rule fail."""
    if measured.lost is None or not _keeps(rule, measured.scale, measured.lost.ignored):
        return []
    return ["only missing rows make it fail; first score them, the command of the run with --update"]


def _ends(scale: Scale) -> tuple[float, float]:
    """The worst and the best score."""
    return (scale.low, scale.high) if scale.better == "higher" else (scale.high, scale.low)


def _keeps(rule: Rule, scale: Scale, estimate: Estimate) -> bool:
    """Whether the worse end, or the mean, is on the right side of the limit."""
    worse = worse_end(rule, scale, estimate)
    return worse is not None and keeps(rule, scale, worse)


def keeps(rule: Rule, scale: Scale, value: float) -> bool:
    """Whether a score, or a difference, is on the right side of the limit; `TIE` is allowed for."""
    limit = limit_of(rule, scale)
    return value >= limit - TIE if scale.better == "higher" else value <= limit + TIE


def limit_of(rule: Rule, scale: Scale) -> float:
    """The number that scores, or differences from the baseline, must keep."""
    if rule.limit != "not worse":
        return rule.number
    return -rule.number if scale.better == "higher" else rule.number


def worse_end(rule: Rule, scale: Scale, estimate: Estimate) -> float | None:
    """What a rule is about: the worse end of the interval, or the mean; None where no row has a score."""
    if rule.of_mean:
        return estimate.mean
    return estimate.ci_low if scale.better == "higher" else estimate.ci_high


def _seen(rule: Rule, scale: Scale, estimate: Estimate) -> str:
    if estimate.mean is None:
        return "no row has a score"
    what = "difference" if rule.limit == "not worse" else "mean"
    rows = f"{estimate.n} row{'' if estimate.n == 1 else 's'}"
    if rule.of_mean:
        return f"the {what} is {estimate.mean:.3f} ({rows})"
    end, level = "lower" if scale.better == "higher" else "upper", f"{100 * estimate.ci_level:g} %"
    worse = worse_end(rule, scale, estimate)
    return f"the {end} end of the {level} interval is {worse:.3f} ({what} {estimate.mean:.3f}, {rows})"


def _too_few(rule: Rule, measured: Measured) -> list[str]:
    """That perfect scores of so few rows break the rule, whether others keep it, and how many rows it needs."""
    n, scale = measured.estimate.n, measured.scale
    if rule.of_mean or n == 0:
        return []
    perfect = _perfect(rule, measured)
    if _keeps(rule, scale, perfect(n)):
        return []
    needed = _rows_needed(lambda rows: _keeps(rule, scale, perfect(rows)), n, measured.clusters)
    if rule.limit == "not worse":
        return [f"even a run equal to its baseline fails with {n} rows; for such a run {needed}"]
    end = worse_end(rule, scale, perfect(n))
    return [f"a perfect run of {n} rows fails, too (perfect scores: {end:.3f}); for perfect scores {needed}"]


def _perfect(rule: Rule, measured: Measured) -> Callable[[int], Estimate]:
    """The estimate from n rows of perfect scores; for a baseline, of a run that is equal to it."""
    scale, level, clusters = measured.scale, measured.estimate.ci_level, measured.clusters
    perfect = _ends(scale)[1]
    nearly = perfect + TIE * (scale.low + scale.high - 2 * perfect)  # continuous scores that are all equal are a rarity

    def labels(rows: int) -> list[Hashable] | None:
        """Clusters of the same sizes, as many as it takes; rows without a label stay clusters of their own."""
        if clusters is None:
            return None
        places = (divmod(place, len(clusters)) for place in range(rows))
        return [None if clusters[at] is None else (turn, clusters[at]) for turn, at in places]

    def weights(rows: int) -> list[float] | None:
        each = measured.weights
        return None if each is None else [each[place % len(each)] for place in range(rows)]

    def estimate(rows: int) -> Estimate:
        if rule.limit == "not worse":
            return difference_interval(np.zeros(rows), scale, level, labels(rows), weights(rows))
        values = np.full(rows, perfect)
        values[0] = perfect if scale.kind == "judged" else nearly
        return mean_interval(values, scale, level, labels(rows))

    return estimate


def _rows_needed(is_enough: Callable[[int], bool], few: int, clusters: Sequence[Hashable] | None) -> str:
    """The smallest number of rows, or of clusters of the same sizes, that is enough, as a sentence; `few` are not."""
    needed = fewest(is_enough, few, MOST_ROWS)
    if needed is None:
        return f"no number of rows up to {MOST_ROWS:,} is enough"
    if clusters is None:
        return f"{needed} rows are needed"
    turns, rest = divmod(needed, len(clusters))
    many = turns * count_clusters(clusters) + count_clusters(clusters[:rest])
    return f"{many} clusters are needed, and more rows of the same do not help"


def count_clusters(clusters: Sequence[Hashable]) -> int:
    """How many clusters rows are in; those without a label are clusters of their own."""
    return len(set(clusters) - {None}) + sum(label is None for label in clusters)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
