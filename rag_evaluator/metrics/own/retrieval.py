"""The metrics `retrieval_*`: which retrieved contexts are relevant, and measures of that by `ir_measures`."""

from typing import TYPE_CHECKING, Any, ClassVar

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from rag_evaluator.config_sections import RetrievalConfig
from rag_evaluator.metrics.ir import measured
from rag_evaluator.metrics.own.relevance import ComparedRelevance, JudgedRelevance, Relevance, RetrievedRow
from rag_evaluator.metrics.retrieval_rows import KNOWN, UNKNOWN
from rag_evaluator.prompts.own import OwnPrompt

if TYPE_CHECKING:
    from ragas.llms.base import InstructorBaseRagasLLM


class RetrievalMetric(BaseMetric):
    """Makes of a row what the measures are computed from.

    Args:
        llm: the judge; not needed with another `match` than `judge`.
        options: those of `RetrievalConfig`.
    """

    llm: "InstructorBaseRagasLLM"

    def __init__(self, llm: "InstructorBaseRagasLLM | None" = None, **options: Any) -> None:
        if llm is not None:
            self.llm = llm
        self.chunk_prompt = OwnPrompt("retrieval", "chunk_prompt")
        self.match_prompt = OwnPrompt("retrieval", "match_prompt")
        self.options = RetrievalConfig(**options)
        super().__init__(name=type(self).__name__)

    async def ascore(self, **columns: Any) -> MetricResult:
        """The value of a row; nothing retrieved is 0.

        Args:
            columns: those of the metric's row in `METRICS`.
        """
        row = RetrievedRow.of(columns, self.options)
        return await self._measure(self._relevance(row), row)

    def _relevance(self, row: RetrievedRow) -> Relevance:
        if self.options.match == "judge":
            return JudgedRelevance(row, self.llm, self.chunk_prompt, self.match_prompt)
        return ComparedRelevance(row, self.options)

    async def _measure(self, relevance: Relevance, row: RetrievedRow) -> MetricResult:
        raise NotImplementedError


class RetrievalPrecision(RetrievalMetric):
    """The share of the retrieved contexts that are relevant."""

    measure: ClassVar[str] = "P@{cutoff}"

    async def _measure(self, relevance: Relevance, row: RetrievedRow) -> MetricResult:
        return MetricResult(value=self._value(await relevance.of_retrieved()))

    def _value(self, verdicts: list[int], phantoms: int = 0) -> float:
        """The measure of contexts in their order; `phantoms` are relevant documents that were not retrieved."""
        name = self.measure.format(cutoff=max(len(verdicts), 1))
        return measured(range(len(verdicts)), [*verdicts, *[1] * phantoms], [name])[name]


class RetrievalMRR(RetrievalPrecision):
    """One divided by the rank of the first relevant context."""

    measure = "RR"


class RetrievalNDCG(RetrievalPrecision):
    """The gain of the order, beside that of the best order.

    The best order has all relevant documents, also those that were not retrieved: one phantom document for each
    reference context that no retrieved context matches. Without reference contexts their number is not known.
    """

    measure = "nDCG@{cutoff}"

    async def _measure(self, relevance: Relevance, row: RetrievedRow) -> MetricResult:
        verdicts = await relevance.of_retrieved()
        matched = await relevance.of_expected() if any(verdicts) else []  # without a relevant context it is 0
        value = self._value(verdicts, phantoms=matched.count(0))
        return MetricResult(value=value, reason=KNOWN if row.expected else UNKNOWN)


class RetrievalMAP(RetrievalNDCG):
    """Average precision; its mean over the rows is MAP."""

    measure = "AP@{cutoff}"


class RetrievalRecall(RetrievalMetric):
    """The share of the reference contexts that at least one retrieved context matches."""

    async def _measure(self, relevance: Relevance, row: RetrievedRow) -> MetricResult:
        matched = await relevance.of_expected()
        if not matched:
            raise ValueError("reference_contexts cannot be empty")
        return MetricResult(value=sum(matched) / len(matched))
