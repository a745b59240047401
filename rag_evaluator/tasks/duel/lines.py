"""What a duel comes to, as sentences and a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluator.results.overview import Grid, means


def parts_of(summary: Mapping[str, Any]) -> Iterator[Grid | str]:
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
