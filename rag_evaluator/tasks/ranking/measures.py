"""How far the judge's order and the retriever's agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluator.metrics.ir import measured

DEFAULT_K = 10
DECIMALS = 3


@dataclass(frozen=True)
class Agreement:
    """The judge's order against the retriever's, over the contexts that were sorted.

    Attributes:
        k: items compared at the top or bottom.
        spearman, kendall: rank correlations, [-1, 1]; None with fewer than two contexts.
        sim: share of the k that both have, [0, 1]; None without contexts.
        overlap: those items, in the judge's order.
    """

    k: int
    spearman: float | None
    kendall: float | None
    sim: float | None
    overlap: list[int]


def compare_orders(order: Sequence[int], reference: Sequence[int], k: int, top: bool, fast: bool) -> Agreement:
    """Compare the judge's order with the retriever's; both hold the same items.

    Args:
        k: where it is larger than the number of items n, 10 is taken in fast mode if n >= 10, else n.
        top: compare the first k items, else the last.
    """
    from scipy.stats import kendalltau, spearmanr

    size = len(order)
    used = k if k <= size else DEFAULT_K if fast and size >= DEFAULT_K else size
    first, second = (order[:used], reference[:used]) if top else (order[size - used :], reference[size - used :])
    common = set(second)
    overlap = [item for item in first if item in common]
    return Agreement(
        k=used,
        spearman=round(float(spearmanr(order, reference).statistic), DECIMALS) if size > 1 else None,
        kendall=round(float(kendalltau(order, reference).statistic), DECIMALS) if size > 1 else None,
        sim=round(len(overlap) / used, DECIMALS) if used else None,
        overlap=overlap,
    )


def retrieval_measures(
    order: Sequence[int], relevance: Sequence[int], names: Sequence[str], decimals: int = 4
) -> dict[str, float | None]:
    """Measures of `ir_measures` by name (`nDCG@10`, `P@5`, `RR`) of an order of contexts, best first.

    Args:
        order: positions in `relevance`.
        relevance: grade of each context, 0 not relevant.

    nDCG is None where no context is relevant: there is no best order to compare with.
    """
    undefined = not any(relevance)
    return {
        name: None if (undefined and name.startswith("nDCG")) or math.isnan(value) else round(value, decimals)
        for name, value in measured(order, relevance, names).items()
    }
