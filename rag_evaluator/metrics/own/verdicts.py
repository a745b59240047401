"""ragas' metrics with verdicts of a verifier: it decides whether texts support statements, in place of the judge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from rag_evaluator.errors import JudgementError
from rag_evaluator.metrics.own.grounded import SentenceVerifier, note_supports
from rag_evaluator.models.ragas_library import (
    BaseMetric,
    MetricResult,
    NLIStatementOutput,
    collections,
)
from rag_evaluator.verifiers.evidence import BETWEEN

if TYPE_CHECKING:
    from rag_evaluator.metrics.scorer import Recorder


class Verified(BaseMetric):
    """What these metrics share: the verifier that decides, and the record of that.

    Args:
        verdicts: who decides, as `VerdictOptions` has it.
        threshold: the probability from which a statement is supported.
        options: of the metric in ragas.

    The scorer makes a copy of a metric for each row, so that a row may keep what it needs in it.
    """

    llm: "Recorder"

    def __init__(
        self,
        verifier: SentenceVerifier,
        verdicts: Literal["verifier"] = "verifier",
        threshold: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.verifier, self.threshold = verifier, threshold

    async def _verified(
        self, statements: Sequence[str], texts: Sequence[str], places: Sequence[int] = (), question: str = ""
    ) -> NLIStatementOutput:
        """The verdicts on statements as ragas reads those of the judge, 1 for a supported one; they are recorded.

        Args:
            texts: what the statements are held against.
            places: see `note_supports`.
            question: that the system was asked; empty where the metric does not read it.
        """
        if not statements:
            raise JudgementError("the judge found no statement in a text")
        supports = await self.verifier.supports(texts, statements, question)
        values = {"context": BETWEEN.join(texts), "statements": statements}
        verdicts = note_supports(self.llm, statements, supports, self.threshold, places, {}, values)
        pairs = zip(statements, verdicts, strict=True)
        rows = [{"statement": statement, "reason": "", "verdict": verdict} for statement, verdict in pairs]
        return NLIStatementOutput.model_validate({"statements": rows})


class Faithfulness(Verified, collections.Faithfulness):  # type: ignore[misc]  # `llm` of both is the recorder
    """ragas' own; the verifier reads the contexts one after the other, packed in pieces."""

    contexts: Sequence[str]
    user_input: str

    async def ascore(  # type: ignore[override]  # as in ragas
        self, user_input: str, response: str, retrieved_contexts: list[str]
    ) -> MetricResult:
        self.contexts, self.user_input = retrieved_contexts, user_input
        result: MetricResult = await super().ascore(
            user_input=user_input, response=response, retrieved_contexts=retrieved_contexts
        )
        return result

    async def _create_verdicts(self, statements: list[str], context: str) -> NLIStatementOutput:
        return await self._verified(statements, self.contexts, range(len(self.contexts)), self.user_input)


class FactualCorrectness(Verified, collections.FactualCorrectness):  # type: ignore[misc]  # as `Faithfulness`
    """ragas' own; claims of the response are held against the reference, and the other way round."""

    async def _verify_claims(  # type: ignore[override]  # ragas has two classes of the same fields
        self, claims: list[str], reference: str
    ) -> NLIStatementOutput:
        return await self._verified(claims, [reference])
