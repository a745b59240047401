"""Items ordered by pairwise comparisons, orders compared, and measured against relevance."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from rag_evaluator.judge import sigmoid
from rag_evaluator.metrics import measured

TIE = 1e-3  # a difference of log odds below it is noise: other batches change the last digits
DEFAULT_K = 10
DECIMALS = 3
Prefer = Callable[[int, int], Awaitable[float]]
"""`await prefer(new, placed)`: probability that the first is better, [0, 1]; 0.5 is a tie."""
Strategy = Callable[[Sequence[int], Prefer], Awaitable[list[int]]]


def share_of(shown_first: float, shown_last: float) -> float:
    """Probability that a text is better than another, from the log odds of the first place in both orders; 0.5: a tie.

    A judge's preference for a place is a summand in both, and cancels out.

    Args:
        shown_first, shown_last: log odds of the first place where this text stands there, and where the other does.
    """
    difference = shown_first - shown_last
    return 0.5 if abs(difference) < TIE else sigmoid(difference / 2)


def compare_orders(order: Sequence[int], reference: Sequence[int], k: int, top: bool, fast: bool) -> dict[str, Any]:
    """Compare the judge's order with the retriever's; both hold the same items.

    Args:
        k: where it is larger than the number of items n, 10 is taken in fast mode if n >= 10, else n.
        top: compare the first k items, else the last.

    Returns the `k` that was taken, the rank correlations `spearman` and `kendall` in [-1, 1], None with fewer than two
    items, the share `sim` of the k items that both have in [0, 1], None without items, and `overlap`: these items, in
    the judge's order.
    """
    from scipy.stats import kendalltau, spearmanr

    size = len(order)
    used = k if k <= size else DEFAULT_K if fast and size >= DEFAULT_K else size
    first, second = (order[:used], reference[:used]) if top else (order[size - used :], reference[size - used :])
    overlap = [item for item in first if item in set(second)]
    return {
        "spearman": round(float(spearmanr(order, reference).statistic), DECIMALS) if size > 1 else None,
        "sim": round(len(overlap) / used, DECIMALS) if used else None,
        "overlap": overlap,
        "kendall": round(float(kendalltau(order, reference).statistic), DECIMALS) if size > 1 else None,
        "k": used,
    }


def retrieval_measures(order: Sequence[int], relevance: Sequence[int], names: Sequence[str]) -> dict[str, float | None]:
    """Measures of `ir_measures` by name (`nDCG@10`, `P@5`, `RR`) of an order of contexts, best first.

    Args:
        order: positions in `relevance`.
        relevance: grade of each context, 0 not relevant.

    nDCG is None where no context is relevant: there is no best order to compare with.
    """
    undefined = not any(relevance)
    return {
        name: None if undefined and name.startswith("nDCG") else round(value, 4)
        for name, value in measured(order, relevance, names).items()
    }


async def insertion(items: Sequence[int], prefer: Prefer) -> list[int]:
    """Binary insertion, one comparison after the other: about n log2(n) - 1.3 n of them."""
    order = list(items[:1])
    for new in items[1:]:
        low = 0
        high = len(order) - 1
        while low <= high:
            middle = (low + high) // 2
            if await _better(prefer, new, order[middle]):
                high = middle - 1
            else:
                low = middle + 1
        order.insert(low, new)
    return order


async def merge(items: Sequence[int], prefer: Prefer) -> list[int]:
    """Merge sort whose comparisons are independent where they can be.

    Both halves are sorted at the same time. Two runs are merged by finding the place of the longer one's middle item
    in the other; what is before and after it are again two merges, done at the same time. For 200 items about 1,330
    comparisons in 100 rounds, where binary insertion takes 1,260 one after the other.
    """
    if len(items) < 2:
        return list(items)
    middle = len(items) // 2
    first, second = await asyncio.gather(merge(items[:middle], prefer), merge(items[middle:], prefer))
    return await _merged(first, second, prefer)


async def _merged(first: list[int], second: list[int], prefer: Prefer) -> list[int]:
    if not first or not second:
        return first + second
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    middle = len(longer) // 2
    item = longer[middle]
    low = 0
    high = len(shorter)
    while low < high:
        place = (low + high) // 2
        if await _better(prefer, item, shorter[place]):
            high = place
        else:
            low = place + 1
    before, behind = await asyncio.gather(
        _merged(longer[:middle], shorter[:low], prefer), _merged(longer[middle + 1 :], shorter[low:], prefer)
    )
    return [*before, item, *behind]


async def _better(prefer: Prefer, first: int, second: int) -> bool:
    """Whether the first is better; a tie leaves the retriever's order."""
    share = await prefer(first, second)
    return share > 0.5 or (share == 0.5 and first < second)


STRATEGIES: Mapping[str, Strategy] = {"insertion": insertion, "merge": merge}
