"""The figures of one metric: mean with interval, coverage, reasons; of all rows or of a group of them."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.trust.alpha import Measure, krippendorff_alpha
from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.intervals import mean_interval, pass_rate, tie_warning
from rag_evaluator.trust.missing import missing_bounds
from rag_evaluator.trust.scale import Scale

INTERVAL = ("mean", "std", "stderr", "median", "ci_low", "ci_high", "ci_level", "ci_method")


@dataclass(frozen=True)
class RowFacts:
    """What is known of rows, whatever the metric.

    Attributes:
        clusters: a label a row; None if rows do not depend on each other.
        weights: what a row counts for; None if all count the same.
    """

    clusters: Sequence[Hashable] | None
    weights: Sequence[float] | None

    def of(self, places: Sequence[int]) -> "RowFacts":
        """Some of the rows."""
        clusters, weights = self.clusters, self.weights
        return RowFacts(
            None if clusters is None else [clusters[place] for place in places],
            None if weights is None else [weights[place] for place in places],
        )


@dataclass(frozen=True)
class MetricScores:
    """The scores of one metric.

    Attributes:
        values: by row, NaN where a score is missing.
        reasons: row -> why its score is missing.
        dropped: rows of which contexts were left out, as they did not fit the judge's window.
        outcomes: row -> what its score stands for, of metrics that name that.
    """

    values: NDArray[np.float64]
    reasons: Mapping[int, str]
    dropped: frozenset[int]
    outcomes: Mapping[int, str] = field(default_factory=dict)

    def of(self, places: Sequence[int]) -> "MetricScores":
        """Those of some rows."""
        new = list(enumerate(places))
        return MetricScores(
            self.values[places],
            {position: self.reasons[place] for position, place in new if place in self.reasons},
            frozenset(position for position, place in new if place in self.dropped),
            {position: self.outcomes[place] for position, place in new if place in self.outcomes},
        )


def figures(
    scores: MetricScores, rows: RowFacts, scale: Scale, level: float, threshold: float | None = None
) -> dict[str, Any]:
    """What `summary.json` says of a metric, as JSON; None where there is no such number."""
    estimate = mean_interval(scores.values, scale, level, rows.clusters, rows.weights)
    low, high = missing_bounds(scores.values, scale, rows.weights)
    count, scored = len(scores.values), len(scores.values) - len(scores.reasons)
    reasons = Counter(scores.reasons.values())
    found = {
        **_json(estimate),
        "bound_low": low,
        "bound_high": high,
        "coverage": scored / count if count else 0.0,
        "scored": scored,
        "count": count,
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        "dropped": len(scores.dropped),
    }
    if warning := tie_warning(scores.values, scale, estimate, rows.weights):
        found["ci_warning"] = warning
    if scores.outcomes:
        found["outcomes"] = dict(sorted(Counter(scores.outcomes.values()).items()))
    if threshold is not None:
        passes = pass_rate(scores.values, threshold, scale, level, rows.clusters, rows.weights)
        found["pass_rate"] = {"threshold": threshold, **_json(passes)}
    return found


def agreement(ratings: Sequence[Sequence[float]], scale: Scale) -> dict[str, Any]:
    """How far judges agree, as JSON: Krippendorff's alpha over the rows that two or more of them scored.

    Grades on a scale of whole numbers (1 to 5) are ordinal; shares and means are numbers, so interval. For scores that
    are 0 or 1 the nominal alpha is the same number.

    Args:
        ratings: a score per row, NaN where it is missing, of each judge.
    """
    graded = scale.kind == "judged" and scale.low.is_integer() and scale.high.is_integer() and scale.width > 1
    level: Measure = "ordinal" if graded else "interval"
    found = krippendorff_alpha(ratings, level)
    return {"alpha": found.alpha, "level": level, "rows": found.units, "alpha_reason": found.reason}


def scale_seen(values: NDArray[np.float64]) -> Scale:
    """The scale of scores of which nothing is known: judged where all lie in [0, 1], else over the range seen."""
    seen = values[~np.isnan(values)]
    if not len(seen) or (seen.min() >= 0 and seen.max() <= 1):
        return Scale()
    return Scale(float(seen.min()), max(float(seen.max()), float(seen.min()) + 1.0), "continuous")


def _json(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in INTERVAL}
