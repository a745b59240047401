"""Pairwise comparisons of one question's contexts: asked in both orders, kept, counted."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_evaluator.judge.choices import log_odds, sigmoid
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.metrics.own.retrieval import measured
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.own import CompareInput, CompareOutput

TIE = 1e-3  # a difference of log odds below it is noise: other batches change the last digits
FIRST, SECOND = CompareOutput(choice=1), CompareOutput(choice=2)


def share_of(shown_first: float, shown_last: float) -> float:
    """Probability that a text is better than another, from the log odds of the first place in both orders; 0.5: a tie.

    A judge's preference for a place is a summand in both, and cancels out.

    Args:
        shown_first, shown_last: log odds of the first place where this text stands there, and where the other does.
    """
    difference = shown_first - shown_last
    return 0.5 if abs(difference) < TIE else sigmoid(difference / 2)


class Comparisons:
    """Answers which of two contexts is better.

    Args:
        question: the question.
        texts: position -> context as it is shown.
        judge: whom to ask.
        prompt: `compare_prompt` of `sort`.
        both_orders: show each pair in both orders, see `share_of`.

    Attributes:
        shares: pair, in the order it was first asked for -> probability that its first context is better.
        agreeing: pairs for which both orders chose the same context; 0 when asked in one order.
    """

    def __init__(
        self,
        question: str,
        texts: Mapping[int, str],
        judge: JudgeProtocol,
        prompt: TracedPrompt,
        both_orders: bool = True,
    ) -> None:
        self.question, self.texts, self.both_orders = question, texts, both_orders
        self.judge, self.prompt = judge, prompt
        self.shares: dict[tuple[int, int], float] = {}
        self.agreeing = 0

    async def prefer(self, first: int, second: int) -> float:
        """Probability that the first context answers better, [0, 1]. Raises `JudgementError`."""
        if (first, second) in self.shares:
            return self.shares[first, second]
        if (second, first) in self.shares:
            return 1 - self.shares[second, first]
        if self.texts[first] == self.texts[second]:
            return 0.5
        if self.both_orders:
            shown_first, shown_last = await asyncio.gather(self._first(first, second), self._first(second, first))
            share = share_of(shown_first, shown_last)
            self.agreeing += shown_first * shown_last < 0
        else:
            share = sigmoid(await self._first(first, second))
        self.shares[first, second] = share
        return share

    async def _first(self, first: int, second: int) -> float:
        """Log odds that the context shown first is chosen."""
        shown = CompareInput(user_input=self.question, context_1=self.texts[first], context_2=self.texts[second])
        return await log_odds(self.judge, self.prompt.to_string(shown), FIRST, SECOND)

    @property
    def calls(self) -> int:
        """Questions to the judge, those answered without asking again included."""
        return len(self.shares) * (2 if self.both_orders else 1)

    @property
    def agreement(self) -> float | None:
        """Share of pairs for which both orders chose the same context, [0, 1]; None where that is not known."""
        return self.agreeing / len(self.shares) if self.both_orders and self.shares else None

    @property
    def ties(self) -> int:
        """Pairs in which neither context was better: they stay in the retriever's order."""
        return sum(share == 0.5 for share in self.shares.values())


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
