"""Pairs in a few numbers: win rate with its interval, and how much the judge prefers a place."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rag_evaluator.results.overview import Grid, means
from rag_evaluator.tasks.duel.judging import Outcome, Pair
from rag_evaluator.trust.intervals import mean_interval
from rag_evaluator.trust.scale import Scale


def duel_overview(summary: Mapping[str, Any]) -> Iterator[Grid | str]:
    """What became of the rows, the win rate, and how much the judge prefers a place. Any: JSON."""
    a, b = summary["a"], summary["b"]
    yield from rows_lines(summary)
    yield from means(f"{a} (a) against {b} (b)", "measure", summary["measures"], "none", reasons=None)
    yield from verdict_lines(summary)


def rows_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Which rows were compared."""
    a, b, rows = summary["a"], summary["b"], summary["rows"]
    yield f"{rows['compared']} rows that {a} and {b} both answered, matched by '{summary['on']}'"
    left = {
        f"rows of {a} without a partner": rows["unmatched_a"],
        f"rows of {b} without a partner": rows["unmatched_b"],
        "rows that one of them, or both, did not answer": rows["unanswered"],
    }
    for what, count in left.items():
        if count:
            yield f"  left out: {what}: {count}"


def verdict_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Who won how often, and whether by the place."""
    bias = summary["position_bias"]
    yield f"{summary['wins']} wins, {summary['ties']} ties, {summary['losses']} losses of a, by the judge"
    if summary["same"]:
        yield f"{summary['same']} ties without asking the judge: both answers are the same text"
    if bias["pairs"]:
        yield (
            f"position bias: in {bias['first_won_twice']:.0%} of {bias['pairs']} rows the first place won in both "
            f"orders, in {bias['second_won_twice']:.0%} the second; "
            f"mean log odds of the first place {bias['log_odds_of_first']:.2f}"
        )


WIN_RATE = "win rate of a"
POINTS = {"a": 1.0, "tie": 0.5, "b": 0.0}


@dataclass(frozen=True)
class PairResult:
    """What the summary needs of a pair; without an outcome there is the reason why it is missing."""

    cluster: str | None
    weight: float
    outcome: Outcome | None
    reason: str | None

    @classmethod
    def of(cls, pair: Pair, outcome: Outcome | None, reason: str | None) -> "PairResult":
        light = None if outcome is None else replace(outcome, reason=None)
        return cls(pair.cluster, pair.weight, light, reason)


def summarise(ended: Sequence[PairResult], level: float) -> dict[str, Any]:
    """Win rate of a (a tie is half a win), wins, ties, losses, position bias, calls; JSON."""
    outcomes = [pair.outcome for pair in ended if pair.outcome is not None]
    asked = [outcome for outcome in outcomes if not outcome.same]
    winners = Counter(outcome.winner for outcome in asked)
    return {
        "measures": {WIN_RATE: _win_rate(ended, level)},
        "wins": winners["a"],
        "ties": winners["tie"],
        "losses": winners["b"],
        "same": len(outcomes) - len(asked),
        "position_bias": _position_bias(asked),
        "judge_calls": sum(outcome.judge_calls for outcome in outcomes),
    }


def _win_rate(ended: Sequence[PairResult], level: float) -> dict[str, Any]:
    values = [math.nan if pair.outcome is None else POINTS[pair.outcome.winner] for pair in ended]
    labels = [pair.cluster for pair in ended]
    clusters = labels if any(label is not None for label in labels) else None
    estimate = asdict(mean_interval(values, Scale(), level, clusters, [pair.weight for pair in ended]))
    reasons = Counter(pair.reason for pair in ended if pair.outcome is None)
    return {"scored": estimate.pop("n"), "count": len(ended), **estimate, "reasons": dict(reasons.most_common())}


def _position_bias(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """How often a place won whatever stood there, and the mean log odds of the first place; null without pairs."""
    odds = [(outcome.log_odds_a_first or 0.0, -(outcome.log_odds_b_first or 0.0)) for outcome in outcomes]
    pairs = len(odds)
    if not pairs:
        return {"pairs": 0, "first_won_twice": None, "second_won_twice": None, "log_odds_of_first": None}
    return {
        "pairs": pairs,
        "first_won_twice": sum(min(pair) > 0 for pair in odds) / pairs,
        "second_won_twice": sum(max(pair) < 0 for pair in odds) / pairs,
        "log_odds_of_first": round(math.fsum(map(math.fsum, odds)) / (2 * pairs), 6) + 0.0,
    }
