"""`quoted_spans_alignment` of ragas, missing where a response quotes nothing that it can see."""

from collections.abc import Sequence

from ragas.metrics.collections import QuotedSpansAlignment
from ragas.metrics.collections.quoted_spans.util import extract_quoted_spans
from ragas.metrics.result import MetricResult

from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.metrics.strings import is_unspaced

UNSEEN = "«»‹›「」『』《》〈〉"  # marks of quotations that ragas does not look for


class DefinedQuotes(QuotedSpansAlignment):
    """ragas' own, refused without quotations (ragas gives 1), and where spaces do not count their words."""

    async def ascore(self, response: str, retrieved_contexts: Sequence[str]) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The share of quoted spans that are in the contexts, [0, 1]. Raises `UndefinedScoreError`."""
        quoted = " ".join(extract_quoted_spans(response, min_len=1)) or response
        if any(map(is_unspaced, quoted)):
            raise UndefinedScoreError(
                "quotations are found by the number of words between spaces, and this script writes none"
            )
        if not extract_quoted_spans(response, min_len=self.min_span_words):
            unseen = "".join(mark for mark in UNSEEN if mark in response)
            hint = f"; {unseen} are not read as quotation marks" if unseen else ""
            raise UndefinedScoreError(f"the response quotes no span of {self.min_span_words} words or more{hint}")
        result: MetricResult = await super().ascore(response=response, retrieved_contexts=list(retrieved_contexts))
        return result
