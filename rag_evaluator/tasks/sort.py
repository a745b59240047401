"""`sort` as a task: questions x one column, each cell the judge's order of a question's contexts."""

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from rag_evaluator.config import SortConfig, make_config
from rag_evaluator.dataset import CheckedRows, Sample, is_blank, json_or_text
from rag_evaluator.errors import DatasetError, JudgementError
from rag_evaluator.files import Json, JsonDict, write_wide_json
from rag_evaluator.judge import JudgeProtocol, Window, log_odds, probability, sigmoid
from rag_evaluator.prompts import CompareInput, CompareOutput, FilterInput, FilterOutput, Key, TracedPrompt
from rag_evaluator.results import as_written
from rag_evaluator.run import Journal, Record, Table

from .question import (
    NO_CONTEXTS,
    NO_QUESTION,
    ContextStage,
    Make,
    Question,
    TaskJudge,
    fields_of,
    samples_of,
    without_question,
)
from .ranking import STRATEGIES, compare_orders, retrieval_measures, share_of

HOLDS_ANSWER = FilterOutput(verdict=1)
HOLDS_NONE = FilterOutput(verdict=0)
FIRST = CompareOutput(choice=1)
SECOND = CompareOutput(choice=2)
NO_GOOD = "the judge finds the answer in no context"
ONE_ITEM = "one context has no order"
NO_FILTER = "the contexts were not judged one by one (fast: false)"
ONE_ORDER = "each pair was shown in one order only"
NO_PAIR = "there was nothing to compare"
LASTING = frozenset({NO_QUESTION})  # reasons that asking again does not change


Ranking = Json
"""The judge's order of one question's contexts: what `sorted_indices.json` holds for it; JSON."""
OF_ORDERS = ("spearman", "kendall", "sim", "agreement")
GRADED = ("nDCG@1", "nDCG@5", "nDCG@10")
MEAN_NAMES = {"RR": "MRR"}
TASK = "sort"
COLUMN = "order"
ORDERS = "sorted_indices.json"
SUMMARY = "sort_summary.json"
MANIFEST = "sort_manifest.json"


def order_of(ranking: Ranking) -> list[int] | None:
    """All contexts, best first: those that were sorted, then the others as they were retrieved."""
    placed = ranking["sorted"]
    return None if placed is None else [*placed, *sorted(set(range(len(ranking["contexts"]))) - set(placed))]


class Sorter:
    """Sorts the contexts of a question: filter, comparisons, results.

    Args:
        judge: whom to ask.
        prompts: those of `sort`.
        options: how; `both_orders` shows each pair in both orders, see `share_of`.
        question, contexts: of one row.

    Attributes:
        pieces: of each context; more than one where it is too long. The comparisons show that of `shown`.
        shares: pair, in the order in which pairs were asked for -> probability that its first context is better.
        agreeing: pairs for which both orders chose the same context; 0 when asked in one order.
    """

    def __init__(
        self,
        judge: JudgeProtocol,
        prompts: Mapping[Key, TracedPrompt],
        options: SortConfig,
        question: str,
        contexts: Sequence[str],
    ) -> None:
        self.judge = judge
        self.options = options
        self.window = Window(judge)
        self.filter_prompt = prompts["sort", "filter_prompt"]
        self.compare_prompt = prompts["sort", "compare_prompt"]
        self.question = question
        self.contexts = list(contexts)
        self.filled = [index for index, text in enumerate(contexts) if not is_blank(text)]
        self.pieces: dict[int, list[str]] = {}
        self.shown: dict[int, int] = {}
        self.verdicts: list[float] | None = None
        self.good: list[int] | None = None
        self.sorted: list[int] | None = None
        self.shares: dict[tuple[int, int], float] = {}
        self.agreeing = 0
        self.reasons: dict[str, str] = {}

    async def sort(self) -> Ranking:
        """The ranking; where the judge fails, one without order and with the reason."""
        try:
            await self._ask()
        except JudgementError as error:
            self.reasons = {"sorted": str(error)}
            self.sorted = None
        return self.fields()

    async def _ask(self) -> None:
        if is_blank(self.question):
            raise JudgementError(NO_QUESTION)
        self._split()
        items = self.filled
        if self.options.fast:
            items = self.good = await self._filter()
        order = await STRATEGIES[self.options.strategy](items, self._prefer)
        empty = set(range(len(self.contexts))) - set(self.filled)
        self.sorted = order if self.options.fast else [*order, *sorted(empty)]

    def _split(self) -> None:
        """Contexts of which two do not fit into one prompt in pieces of which two do."""
        if not self.filled:
            return
        empty = CompareInput(user_input=self.question, context_1="", context_2="")
        room = self.window.room(self.compare_prompt.to_string(empty))
        self.pieces = {index: self.window.pieces(self.contexts[index], room // 2) for index in self.filled}
        self.shown = dict.fromkeys(self.filled, 0)

    async def _filter(self) -> list[int]:
        """Contexts that hold the answer, as retrieved; an empty one holds none, a long one what its best piece does."""

        async def ask(text: str) -> float:
            shown = FilterInput(user_input=self.question, context=text)
            prompt = self.filter_prompt.to_string(shown)
            return await probability(self.judge, prompt, HOLDS_ANSWER, HOLDS_NONE)

        async def best(index: int) -> float:
            shares = await asyncio.gather(*map(ask, self.pieces[index]))
            self.shown[index] = shares.index(max(shares))
            return max(shares)

        known = dict(zip(self.filled, await asyncio.gather(*map(best, self.filled)), strict=True))
        self.verdicts = [known.get(index, 0.0) for index in range(len(self.contexts))]
        return [index for index in self.filled if known[index] > 0.5]

    async def _prefer(self, first: int, second: int) -> float:
        """Probability that the first context answers better, [0, 1]. Raises `JudgementError`."""
        if self._text(first) == self._text(second):
            return 0.5
        if self.options.both_orders:
            shown_first, shown_last = await asyncio.gather(self._first(first, second), self._first(second, first))
            share = share_of(shown_first, shown_last)
            self.agreeing += shown_first * shown_last < 0
        else:
            share = sigmoid(await self._first(first, second))
        self.shares[first, second] = share
        return share

    async def _first(self, first: int, second: int) -> float:
        """Log odds that the context shown first is chosen."""
        texts = {"context_1": self._text(first), "context_2": self._text(second)}
        shown = CompareInput(user_input=self.question, **texts)
        return await log_odds(self.judge, self.compare_prompt.to_string(shown), FIRST, SECOND)

    def _text(self, index: int) -> str:
        return self.pieces[index][self.shown[index]]

    def fields(self) -> JsonDict:
        """The fields of `sorted_indices.json`; what is not known is null and has a reason."""
        options = self.options
        pairs = len(self.shares)
        known = self.sorted or []
        agreement = compare_orders(known, sorted(known), options.k, options.top, options.fast)
        k = agreement.pop("k")
        judged = self.sorted is not None and self.good is not None
        names = (f"nDCG@{options.k}", f"P@{options.k}", "RR")
        good = set(self.good or [])
        relevance = [int(index in good) for index in range(len(self.contexts))]
        retriever = retrieval_measures(range(len(self.contexts)), relevance, names) if judged else dict.fromkeys(names)
        fields = {
            "question": self.question,
            "contexts": self.contexts,
            "good": self.good,
            "bad": None if self.good is None else sorted(set(range(len(self.contexts))) - good),
            "sorted": self.sorted,
            **agreement,
            "retriever": retriever,
            "k": k,
            "verdicts": self.verdicts,
            "strategy": options.strategy,
            "comparisons": pairs,
            "judge_calls": pairs * (1 + options.both_orders)
            + (sum(map(len, self.pieces.values())) if self.verdicts else 0),
            "agreement": round(self.agreeing / pairs, 3) if options.both_orders and pairs else None,
            "ties": sum(share == 0.5 for share in self.shares.values()),
            "cut": {  # contexts of which the comparisons show one piece only
                str(index): {"pieces": len(parts), "shown": self.shown[index]}
                for index, parts in self.pieces.items()
                if len(parts) > 1
            },
        }
        return {**fields, "reasons": self.reasons or self._reasons(fields)}

    def _reasons(self, fields: Json) -> dict[str, str]:
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


def with_relevance(ranking: Ranking, relevance: Sequence[int] | None) -> Ranking:
    """The ranking with both orders measured against given relevance grades, where there are some.

    In fast mode the judge's order is that of the good contexts, followed by the others as retrieved.
    """
    if relevance is None:
        return ranking
    orders = {"retriever": list(range(len(relevance))), "judge": order_of(ranking)}
    measured = {
        name: dict.fromkeys(GRADED) if order is None else retrieval_measures(order, relevance, GRADED)
        for name, order in orders.items()
    }
    return {**ranking, "relevance": list(relevance), "measured": measured}


def summarise(rankings: Iterable[Ranking]) -> JsonDict:
    """Means with coverage per measure, totals of comparisons, calls and ties, and how many were sorted; JSON."""
    rankings = list(rankings)
    measures: dict[str, JsonDict] = {}
    for name in OF_ORDERS:
        measures[name] = _mean([ranking[name] for ranking in rankings], _reasons(rankings, name))
    for name in rankings[0]["retriever"] if rankings else ():
        values = [ranking["retriever"][name] for ranking in rankings]
        measures[f"retriever {MEAN_NAMES.get(name, name)}"] = _mean(values, _reasons(rankings, name))
    graded = [ranking["measured"] for ranking in rankings if "measured" in ranking]
    if graded:
        for name in GRADED:
            for whose in ("retriever", "judge"):
                values = [measured[whose][name] for measured in graded]
                measures[f"{whose} {name} by relevance"] = _mean(values, Counter())
    totals = ("comparisons", "judge_calls", "ties")
    ordered = sum(ranking["sorted"] is not None for ranking in rankings)
    counts = {name: sum(ranking[name] for ranking in rankings) for name in totals}
    return {"measures": measures, **counts, "sorted": ordered}


def _mean(values: Sequence[float | None], reasons: Mapping[str, int]) -> JsonDict:
    known = [value for value in values if value is not None]
    return {
        "mean": math.fsum(known) / len(known) if known else None,
        "scored": len(known),
        "count": len(values),
        "reasons": dict(reasons),
    }


def _reasons(rankings: Sequence[Ranking], name: str) -> Counter[str]:
    reasons = [ranking["reasons"] for ranking in rankings]
    return Counter(reason for by_field in reasons if (reason := by_field.get(name) or by_field.get("sorted")))


class Sort(ContextStage):
    """The stage of `sort`.

    Args:
        rows: whose grades of relevance are measured by where they have some.
        settings: how.
        asking, journal: see `ContextStage`.

    Raises `DatasetError` for a column `relevance` that does not fit.
    """

    task = TASK
    stage = "orders"
    column = COLUMN
    files = (ORDERS, SUMMARY, MANIFEST)

    def __init__(
        self,
        rows: CheckedRows,
        settings: SortConfig,
        asking: TaskJudge | None = None,
        journal: Journal | None = None,
    ) -> None:
        super().__init__(rows, settings, asking, journal)
        self.settings = settings
        self.relevance = [_relevance(sample) for sample in rows]

    def make(self, judge: JudgeProtocol) -> Make:
        assert self.asking is not None
        sorter = partial(Sorter, judge, self.asking.prompts, self.settings)

        async def order(unit: Question) -> Record:
            fields = without_question(await sorter(unit.question, unit.contexts).sort())
            if fields["sorted"] is not None:
                return Record(fields)
            reason = fields["reasons"]["sorted"]
            return Record(None, reason, retry=reason not in LASTING, details=fields)

        return order

    def rankings(self, table: Table) -> Iterator[Ranking]:
        """The rankings in the order of the questions, measured against relevance where it is given."""
        for unit, records in table:
            fields = {"question": unit.question, "contexts": list(unit.contexts), **fields_of(records[COLUMN][0])}
            yield with_relevance(fields, self.relevance[unit.index])

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        rankings = [dict(ranking) for ranking in self.rankings(table)]
        write_wide_json(folder / ORDERS, rankings)
        write_wide_json(folder / SUMMARY, summarise(rankings))
        write_wide_json(folder / MANIFEST, as_written(table.about))
        return self.files


def of_journal(journal: Journal) -> Sort:
    """The stage of a journal, to write its results. Raises `ResultsError` if its rows are not what was sorted."""
    config = make_config(journal.about["config"])
    return Sort(samples_of(journal, config, TASK), config.sort, journal=journal)


def _relevance(sample: Sample) -> list[int] | None:
    """The grades that the row gives its contexts, 0 not relevant; None if it gives none."""
    grades = json_or_text(sample.row.get("relevance"), is_cell=True)
    if grades == [] or (not isinstance(grades, list) and is_blank(grades)):
        return None
    contexts = sample.columns.get("retrieved_contexts", [])
    is_grades = isinstance(grades, list) and all(type(grade) is int and grade >= 0 for grade in grades)
    if not is_grades or len(grades) != len(contexts):
        raise DatasetError(
            f"{sample.where}: column 'relevance': expected one whole number from 0 for each of the {len(contexts)} "
            f"contexts, in their order, received {grades!r:.60}. Rename the column if it is something else."
        )
    scores = sample.columns.get("document_score", [])
    if len(scores) > 1 and scores not in [json_or_text(value, is_cell=True) for value in sample.row.values()]:
        raise DatasetError(
            f"{sample.where}: column 'relevance': the contexts are sorted by score, so that it is not known which "
            "grade belongs to which. Write the lists of the row by descending score."
        )
    return list(grades)
