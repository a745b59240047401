"""Rankings of many questions in a few numbers: means over what could be measured, with coverage and reasons."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_evaluator.tasks.ranking.measures import retrieval_measures
from rag_evaluator.tasks.ranking.sorting import Ranking

OF_ORDERS = ("spearman", "kendall", "sim", "agreement")
GRADED = ("nDCG@1", "nDCG@5", "nDCG@10")
MEAN_NAMES = {"RR": "MRR"}


def with_relevance(ranking: Ranking, relevance: Sequence[int] | None) -> Ranking:
    """The ranking with both orders measured against given relevance grades, where there are some.

    In fast mode the judge's order is that of the good contexts, followed by the others as retrieved.
    """
    if relevance is None:
        return ranking
    orders = {"retriever": list(range(len(relevance))), "judge": ranking.order}
    measured = {
        name: dict.fromkeys(GRADED) if order is None else retrieval_measures(order, relevance, GRADED)
        for name, order in orders.items()
    }
    return Ranking({**ranking.fields, "relevance": list(relevance), "measured": measured})


def summarise(rankings: Iterable[Ranking]) -> dict[str, Any]:
    """Means with coverage per measure, totals of comparisons, calls and ties, and how many were sorted; JSON."""
    rankings = list(rankings)
    measures: dict[str, dict[str, Any]] = {}
    for name in OF_ORDERS:
        measures[name] = _mean([ranking.fields[name] for ranking in rankings], _reasons(rankings, name))
    for name in rankings[0].fields["retriever"] if rankings else ():
        values = [ranking.fields["retriever"][name] for ranking in rankings]
        measures[f"retriever {MEAN_NAMES.get(name, name)}"] = _mean(values, _reasons(rankings, name))
    graded = [ranking.fields["measured"] for ranking in rankings if "measured" in ranking.fields]
    if graded:
        for name in GRADED:
            for whose in ("retriever", "judge"):
                values = [measured[whose][name] for measured in graded]
                measures[f"{whose} {name} by relevance"] = _mean(values, Counter())
    totals = ("comparisons", "judge_calls", "ties")
    ordered = sum(ranking.fields["sorted"] is not None for ranking in rankings)
    counts = {name: sum(ranking.fields[name] for ranking in rankings) for name in totals}
    return {"measures": measures, **counts, "sorted": ordered}


def _mean(values: Sequence[float | None], reasons: Mapping[str, int]) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    return {
        "mean": math.fsum(known) / len(known) if known else None,
        "scored": len(known),
        "count": len(values),
        "reasons": dict(reasons),
    }


def _reasons(rankings: Sequence[Ranking], name: str) -> Counter[str]:
    reasons = [ranking.fields["reasons"] for ranking in rankings]
    return Counter(reason for by_field in reasons if (reason := by_field.get(name) or by_field.get("sorted")))
