"""`sort` for one question and for many: 0-1 filter, pairwise comparisons, measures against the retriever's order."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.config_sections import SortConfig
from rag_evaluator.dataset import is_blank
from rag_evaluator.errors import JudgementError
from rag_evaluator.judge import choices
from rag_evaluator.judge.context_window import Window
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.own import CompareInput, FilterInput, FilterOutput
from rag_evaluator.prompts.pack import Key
from rag_evaluator.tasks.ranking.comparisons import Comparisons
from rag_evaluator.tasks.ranking.measures import compare_orders, retrieval_measures
from rag_evaluator.tasks.ranking.strategies import STRATEGIES

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
