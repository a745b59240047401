"""`sort` for one question and for many: 0-1 filter, pairwise comparisons, measures against the retriever's order."""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from rag_evaluator.config.sections import SortConfig
from rag_evaluator.dataset import is_blank
from rag_evaluator.errors import JudgementError
from rag_evaluator.judge import choices
from rag_evaluator.judge.cached import Window
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.own import CompareInput, FilterInput, FilterOutput
from rag_evaluator.prompts.pack import Key
from rag_evaluator.tasks.ranking import Comparisons, compare_orders, retrieval_measures

Prefer = Callable[[int, int], Awaitable[float]]
"""`await prefer(new, placed)`: probability that the first is better, [0, 1]; 0.5 is a tie."""
Strategy = Callable[[Sequence[int], Prefer], Awaitable[list[int]]]
PAIRS_AT_ONCE = 4096


async def insertion(items: Sequence[int], prefer: Prefer) -> list[int]:
    """Binary insertion, one comparison after the other: about n log2(n) - 1.3 n of them."""
    order = list(items[:1])
    for new in items[1:]:
        low, high = 0, len(order) - 1
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


async def allpairs(items: Sequence[int], prefer: Prefer) -> list[int]:
    """Every pair compared, in one round: n (n - 1) / 2 comparisons.

    Ranked by pairs won (Copeland), then by the sum of the probabilities, then by position; so no single judgement
    decides, and cycles do no harm.
    """
    wins, sums = dict.fromkeys(items, 0), dict.fromkeys(items, 0.0)
    pairs = list(combinations(items, 2))
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        part = pairs[start : start + PAIRS_AT_ONCE]
        for (first, second), share in zip(part, await asyncio.gather(*(prefer(*pair) for pair in part)), strict=True):
            wins[first if _wins(share, first, second) else second] += 1
            sums[first] += share
            sums[second] += 1 - share
    return sorted(items, key=lambda item: (-wins[item], -round(sums[item], 6), item))


async def _merged(first: list[int], second: list[int], prefer: Prefer) -> list[int]:
    if not first or not second:
        return first + second
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    middle = len(longer) // 2
    item, low, high = longer[middle], 0, len(shorter)
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
    return _wins(await prefer(first, second), first, second)


def _wins(share: float, first: int, second: int) -> bool:
    """A tie leaves the retriever's order."""
    return share > 0.5 or (share == 0.5 and first < second)


STRATEGIES: Mapping[str, Strategy] = {"insertion": insertion, "merge": merge, "allpairs": allpairs}


HOLDS_ANSWER, HOLDS_NONE = FilterOutput(verdict=1), FilterOutput(verdict=0)
NO_QUESTION = "there is no question"
NO_CONTEXTS = "there is no context"
NO_GOOD = "the judge finds the answer in no context"
ONE_ITEM = "one context has no order"
NO_FILTER = "the contexts were not judged one by one (fast: false)"
ONE_ORDER = "each pair was shown in one order only"
NO_PAIR = "there was nothing to compare"
LASTING = frozenset({NO_QUESTION})  # reasons that asking again does not change
SortOptions = SortConfig


@dataclass(frozen=True)
class Ranking:
    """The judge's order of one question's contexts.

    Attributes:
        fields: what `sorted_indices.json` holds for the question, in this order; JSON.
    """

    fields: Mapping[str, Any] = field(repr=False)

    @property
    def order(self) -> list[int] | None:
        """All contexts, best first: those that were sorted, then the others as they were retrieved."""
        placed = self.fields["sorted"]
        if placed is None:
            return None
        rest = sorted(set(range(len(self.fields["contexts"]))) - set(placed))
        return [*placed, *rest]


class Sorter:
    """Sorts the contexts of questions.

    Args:
        judge: whom to ask.
        prompts: those of `sort`, as `load_prompts(["sort"], ...)` gives them.
        options: how.
    """

    def __init__(self, judge: JudgeProtocol, prompts: Mapping[Key, TracedPrompt], options: SortOptions) -> None:
        self.judge, self.options = judge, options
        self.filter_prompt, self.compare_prompt = prompts["sort", "filter_prompt"], prompts["sort", "compare_prompt"]
        self.window = Window(judge)

    async def sort(self, question: str, contexts: Sequence[str]) -> Ranking:
        """The ranking of one question's contexts; where the judge fails, one without order and with the reason."""
        run = _QuestionSort(self, question, list(contexts))
        try:
            await run.judge()
        except JudgementError as error:
            run.reasons = {"sorted": str(error)}
            run.sorted = None
        return Ranking(run.fields())


class _QuestionSort:
    """The sorting of one question's contexts: filter, comparisons, results."""

    def __init__(self, sorter: Sorter, question: str, contexts: list[str]) -> None:
        self.sorter, self.options = sorter, sorter.options
        self.question, self.contexts = question, contexts
        self.filled = [index for index, text in enumerate(contexts) if not is_blank(text)]
        self.pieces: dict[int, list[str]] = {}  # of each context; more than one where it is too long
        self.shown: dict[int, int] = {}  # which piece the comparisons show
        self.verdicts: list[float] | None = None
        self.good: list[int] | None = None
        self.sorted: list[int] | None = None
        self.comparisons: Comparisons | None = None
        self.reasons: dict[str, str] = {}

    async def judge(self) -> None:
        if is_blank(self.question):
            raise JudgementError(NO_QUESTION)
        self._split()
        items = self.filled
        if self.options.fast:
            items = self.good = await self._filter()
        texts = {index: self.pieces[index][self.shown[index]] for index in items}
        self.comparisons = Comparisons(
            self.question, texts, self.sorter.judge, self.sorter.compare_prompt, self.options.both_orders
        )
        order = await STRATEGIES[self.options.strategy](items, self.comparisons.prefer)
        empty = set(range(len(self.contexts))) - set(self.filled)
        self.sorted = order if self.options.fast else [*order, *sorted(empty)]

    def _split(self) -> None:
        """Contexts of which two do not fit into one prompt in pieces of which two do."""
        if not self.filled:
            return
        empty = CompareInput(user_input=self.question, context_1="", context_2="")
        room = self.sorter.window.room(self.sorter.compare_prompt.to_string(empty))
        self.pieces = {index: self.sorter.window.pieces(self.contexts[index], room // 2) for index in self.filled}
        self.shown = dict.fromkeys(self.filled, 0)

    async def _filter(self) -> list[int]:
        """Contexts that hold the answer, as retrieved; an empty one holds none, a long one what its best piece does."""

        async def ask(text: str) -> float:
            shown = FilterInput(user_input=self.question, context=text)
            prompt = self.sorter.filter_prompt.to_string(shown)
            return await choices.probability(self.sorter.judge, prompt, HOLDS_ANSWER, HOLDS_NONE)

        async def best(index: int) -> float:
            shares = await asyncio.gather(*map(ask, self.pieces[index]))
            self.shown[index] = shares.index(max(shares))
            return max(shares)

        known = dict(zip(self.filled, await asyncio.gather(*map(best, self.filled)), strict=True))
        self.verdicts = [known.get(index, 0.0) for index in range(len(self.contexts))]
        return [index for index in self.filled if known[index] > 0.5]

    @property
    def cut(self) -> dict[str, dict[str, int]]:
        """Contexts of which the comparisons show one piece only, and which."""
        return {
            str(index): {"pieces": len(parts), "shown": self.shown[index]}
            for index, parts in self.pieces.items()
            if len(parts) > 1
        }

    def fields(self) -> dict[str, Any]:
        """The fields of `sorted_indices.json`; what is not known is null and has a reason."""
        options, made = self.options, self.comparisons
        known = self.sorted or []
        agreement = compare_orders(known, sorted(known), options.k, options.top, options.fast)
        judged = self.sorted is not None and self.good is not None
        names = (f"nDCG@{options.k}", f"P@{options.k}", "RR")
        good = set(self.good or [])
        relevance = [int(index in good) for index in range(len(self.contexts))]
        retriever = retrieval_measures(range(len(self.contexts)), relevance, names) if judged else dict.fromkeys(names)
        share = made.agreement if made else None
        fields = {
            "question": self.question,
            "contexts": self.contexts,
            "good": self.good,
            "bad": None if self.good is None else sorted(set(range(len(self.contexts))) - good),
            "sorted": self.sorted,
            "spearman": agreement.spearman,
            "sim": agreement.sim,
            "overlap": agreement.overlap,
            "kendall": agreement.kendall,
            "retriever": retriever,
            "k": agreement.k,
            "verdicts": self.verdicts,
            "strategy": options.strategy,
            "comparisons": len(made.shares) if made else 0,
            "judge_calls": (made.calls if made else 0) + (sum(map(len, self.pieces.values())) if self.verdicts else 0),
            "agreement": None if share is None else round(share, 3),
            "ties": made.ties if made else 0,
            "cut": self.cut,
        }
        return {**fields, "reasons": self.reasons or self._reasons(fields)}

    def _reasons(self, fields: Mapping[str, Any]) -> dict[str, str]:
        """Why a number is null."""
        reasons: dict[str, str] = {}
        few = NO_CONTEXTS if not self.contexts else NO_GOOD if not fields["sorted"] else ONE_ITEM
        reasons |= {name: few for name in ("spearman", "kendall", "sim") if fields[name] is None}
        if fields["agreement"] is None:
            reasons["agreement"] = NO_PAIR if self.options.both_orders else ONE_ORDER
        reasons |= {
            name: NO_FILTER if self.good is None else few
            for name, value in fields["retriever"].items()
            if value is None
        }
        return reasons


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
