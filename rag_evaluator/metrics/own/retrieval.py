"""The metrics `retrieval_*`: which retrieved contexts are relevant, and measures of that."""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from math import log2
from operator import add
from typing import Any

from rag_evaluator.config import RetrievalConfig
from rag_evaluator.dataset import descending, is_blank
from rag_evaluator.metrics.row import IDS, KNOWN, UNKNOWN
from rag_evaluator.prompts import ChunkInput, ChunkOutput, MatchInput, MatchOutput, OwnPrompt
from rag_evaluator.ragas_library import MetricResult
from rag_evaluator.verifiers import confidence

LETTERS = 5
"""Length of n-grams. Unrelated paragraphs of XQuAD (en, es, de, zh) share at most 0.39 of those of the shorter text,
with three letters up to 0.78; halves of a paragraph, alone or followed by other text, share 0.67 and more with it."""

REMEMBERED = 256  # texts: more than a row has; the n-grams of a long one take some hundred kilobytes


@lru_cache(maxsize=REMEMBERED)
def normalised(text: str) -> str:
    """Without differences of case, width, white space, punctuation and invisible characters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    signs = [(sign, unicodedata.category(sign)) for sign in folded]
    plain = "".join(" " if kind[0] == "P" else sign for sign, kind in signs if kind != "Cf")
    return " ".join(plain.split() or folded.split())


@lru_cache(maxsize=REMEMBERED)
def _ngrams(text: str) -> frozenset[str]:
    return frozenset(text[start : start + LETTERS] for start in range(len(text) - LETTERS + 1))


def equality(first: str, second: str) -> float:
    """1 if the normalised texts are equal, else 0."""
    return float(normalised(first) == normalised(second))


def overlap(first: str, second: str) -> float:
    """Share of the n-grams of one normalised text that the other has, of the one that has fewer, [0, 1].

    This is the overlap coefficient (Szymkiewicz-Simpson): a piece of a text matches the whole, and the whole the piece.
    Texts shorter than an n-gram have 1 where they are equal, else 0.
    """
    fewer, more = sorted((_ngrams(normalised(text)) for text in (first, second)), key=len)
    return len(fewer & more) / len(fewer) if fewer else equality(first, second)


SIMILARITIES: Mapping[str, Callable[[str, str], float]] = {"exact": equality, "overlap": overlap}
"""`retrieval.match` -> how alike two texts are, [0, 1]; they match from the threshold `retrieval.overlap` on."""


class Relevance:
    """Which contexts of a row are relevant: verdicts, 0 or 1.

    Args:
        columns: those of the metric's row in `METRICS`.
        metric: has what decides: the judge with its prompts, the reranker, the options.

    Attributes:
        by_id: whether ids are compared in place of texts: where `match` is `exact` and the row has both kinds.
        retrieved: texts or ids of the retrieved contexts that count, best first. An id that was retrieved several times
            is one document, at its first rank.
        expected: those of the reference contexts, each once and without blank ones; empty: they are not known.
    """

    def __init__(self, columns: Mapping[str, Any], metric: "RetrievalMetric") -> None:
        self.columns = columns
        self.metric = metric
        self.options = metric.options
        self.by_id = self.options.match == "exact" and all(name in columns for name in IDS)
        names = IDS if self.by_id else ("retrieved_contexts", "reference_contexts")
        retrieved, expected = (columns.get(name, []) for name in names)
        if scores := columns.get("document_score"):  # more than contexts, where these do not fit the judge's window
            retrieved = [retrieved[rank] for rank in descending(scores[: len(retrieved)])]
        self.retrieved = (list(dict.fromkeys(retrieved)) if self.by_id else retrieved)[: self.options.k]
        self.expected = list(dict.fromkeys(text for text in expected if not is_blank(text)))

    async def of_retrieved(self) -> list[int]:
        """Whether each retrieved context is relevant, in their order."""
        raise NotImplementedError

    async def of_expected(self) -> list[int]:
        """Whether each reference context is matched by a retrieved one; nothing where they are not known."""
        return []


class JudgedRelevance(Relevance):
    """Verdicts of a judge, asked one after the other: the same questions, whatever is measured."""

    async def of_retrieved(self) -> list[int]:
        return [0 if is_blank(text) else await self._is_relevant(text) for text in self.retrieved]

    async def of_expected(self) -> list[int]:
        contexts = [text for text in self.retrieved if not is_blank(text)]
        return [await self._is_matched(text, contexts) if contexts else 0 for text in self.expected]

    async def _is_relevant(self, context: str) -> int:
        question = ChunkInput(
            user_input=self.columns["user_input"],
            reference=self.columns["reference"],
            reference_contexts=self.expected or None,
            context=context,
        )
        answer: ChunkOutput = await self.metric.llm.agenerate(self.metric.chunk_prompt.to_string(question), ChunkOutput)
        return answer.verdict

    async def _is_matched(self, expected: str, contexts: list[str]) -> int:
        question = MatchInput(reference_context=expected, contexts=contexts)
        answer: MatchOutput = await self.metric.llm.agenerate(self.metric.match_prompt.to_string(question), MatchOutput)
        return answer.verdict


class ComparedRelevance(Relevance):
    """Verdicts without a judge: a retrieved context is relevant if it matches a reference context."""

    async def of_retrieved(self) -> list[int]:
        return [int(any(self._match(text, other) for other in self.expected)) for text in self.retrieved]

    async def of_expected(self) -> list[int]:
        return [int(any(self._match(text, other) for other in self.retrieved)) for text in self.expected]

    def _match(self, first: str, second: str) -> bool:
        if self.by_id:
            return first == second
        return SIMILARITIES[self.options.match](first, second) >= self.options.overlap


class RankedRelevance(Relevance):
    """Verdicts of a reranker on the question and each retrieved context; it knows no reference contexts."""

    async def of_retrieved(self) -> list[int]:
        """A blank context has the probability 0. A recorder keeps each verdict, and the context's place in the row."""
        asked = [text for text in self.retrieved if not is_blank(text)]
        values = iter(await self.metric.ranker.relevance(self.columns["user_input"], asked) if asked else ())
        probabilities = [0.0 if is_blank(text) else next(values) for text in self.retrieved]
        verdicts = [int(value >= self.options.reranker.threshold) for value in probabilities]
        if self.metric.llm is not None:
            places = map(self.columns["retrieved_contexts"].index, self.retrieved)
            ranked = [
                {"verdict": verdict, "probability": value, "contexts": [place]}
                for place, verdict, value in zip(places, verdicts, probabilities, strict=True)
            ]
            sureness = list(map(confidence, probabilities, map(bool, verdicts)))
            self.metric.llm.note("reranker", {"ranked": ranked}, sureness)
        return verdicts


RELEVANCE: Mapping[str, type[Relevance]] = {
    "judge": JudgedRelevance,
    "exact": ComparedRelevance,
    "overlap": ComparedRelevance,
    "reranker": RankedRelevance,
}
"""`retrieval.match` -> what decides."""


def measured(order: Sequence[int], relevance: Sequence[float], names: Collection[str]) -> dict[str, float]:
    """Measures by their names in `ir_measures` (`nDCG@10`, `P@5`, `AP@5`, `RR`) of an order of documents, best first.

    Args:
        order: positions in `relevance`; a document that is in no place of the order was not retrieved.
        relevance: grade of each document, 0 not relevant; nDCG takes probabilities, too.

    0 where nothing was retrieved or nothing is relevant. The formulas are those of trec_eval, which `ir_measures` asks,
    and give the same bytes.
    """
    grades = [relevance[item] for item in order]
    values = {}
    for name in names:
        measure, _, cutoff = name.partition("@")
        first = grades[: int(cutoff)] if cutoff else grades
        values[name] = MEASURES[measure](first, relevance, int(cutoff or len(grades))) if any(first) else 0.0
    return values


def _average_precision(grades: Sequence[float], relevance: Sequence[float], cutoff: int) -> float:
    ranks = [rank for rank, grade in enumerate(grades, start=1) if grade]
    return _total(number / rank for number, rank in enumerate(ranks, start=1)) / sum(grade > 0 for grade in relevance)


def _ndcg(grades: Sequence[float], relevance: Sequence[float], cutoff: int) -> float:
    """The gain beside that of the best order of all documents; the grade is the gain, discounted by log2(rank + 1)."""
    best = sorted(relevance, reverse=True)[:cutoff]
    gains = [_total(grade / log2(rank + 1) for rank, grade in enumerate(each, start=1)) for each in (grades, best)]
    return gains[0] / gains[1]


def _total(values: Iterable[float]) -> float:
    """Added one by one, as C does it; `sum` does so only before Python 3.12."""
    return reduce(add, values, 0.0)


MEASURES: Mapping[str, Callable[[Sequence[float], Sequence[float], int], float]] = {
    "P": lambda grades, relevance, cutoff: sum(grade > 0 for grade in grades) / cutoff,
    "RR": lambda grades, relevance, cutoff: next(1 / rank for rank, grade in enumerate(grades, start=1) if grade),
    "AP": _average_precision,
    "nDCG": _ndcg,
}
"""Name -> its value from the grades down to the cutoff, of which one is relevant, and those of all documents."""


class RetrievalMetric:
    """A measure of the order of the retrieved contexts.

    Args:
        measure: its name in `measured`, for all contexts that count.
        is_whole: whether relevant documents that were not retrieved count: one phantom document for each reference
            context that no retrieved context matches. Without reference contexts their number is not known.
        llm: the judge as ragas sees one, or the recorder of a row; needed with `match: judge` alone.
        ranker: the reranker; needed with `match: reranker` alone. Any: an `AsyncReranker`, or a test's.
        options: those of `RetrievalConfig`.
    """

    def __init__(
        self, measure: str = "", is_whole: bool = False, llm: Any = None, ranker: Any = None, **options: Any
    ) -> None:
        self.measure = measure
        self.is_whole = is_whole
        self.llm = llm
        self.ranker = ranker
        self.chunk_prompt = OwnPrompt("retrieval", "chunk_prompt")
        self.match_prompt = OwnPrompt("retrieval", "match_prompt")
        self.options = RetrievalConfig(**options)

    async def ascore(self, **columns: Any) -> MetricResult:
        """The value of a row; nothing retrieved is 0.

        Args:
            columns: those of the metric's row in `METRICS`.
        """
        relevance = RELEVANCE[self.options.match](columns, self)
        verdicts = await relevance.of_retrieved()
        matched = await relevance.of_expected() if self.is_whole and any(verdicts) else []
        name = self.measure.format(cutoff=max(len(verdicts), 1))
        value = measured(range(len(verdicts)), [*verdicts, *[1] * matched.count(0)], [name])[name]
        known = KNOWN if relevance.expected else UNKNOWN
        return MetricResult(value=value, reason=known if self.is_whole else None)


RetrievalPrecision = partial(RetrievalMetric, "P@{cutoff}")
RetrievalMRR = partial(RetrievalMetric, "RR")
RetrievalNDCG = partial(RetrievalMetric, "nDCG@{cutoff}", True)
RetrievalMAP = partial(RetrievalMetric, "AP@{cutoff}", True)


class RetrievalRecall(RetrievalMetric):
    """The share of the reference contexts that at least one retrieved context matches."""

    async def ascore(self, **columns: Any) -> MetricResult:
        matched = await RELEVANCE[self.options.match](columns, self).of_expected()
        if not matched:
            raise ValueError("reference_contexts cannot be empty")
        return MetricResult(value=sum(matched) / len(matched))
