"""ragas' metrics with verdicts of a verifier: it decides whether texts support statements, in place of the judge."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rag_evaluator.config import Language
from rag_evaluator.errors import NotApplicableError
from rag_evaluator.metrics.recorder import Recorder
from rag_evaluator.ragas_library import BaseMetric, MetricResult, NLIStatementOutput, collections
from rag_evaluator.verifiers import BETWEEN, VerifierSource, claims_of, not_counted, sentences_of

from .grounded import note_supports


class Verified(BaseMetric):
    """What these metrics share: the verifier that decides, and the record of that.

    Args:
        verdicts: who decides, as `VerdictOptions` has it.
        threshold: the probability from which a statement is supported.
        options: of the metric in ragas.

    The scorer makes a copy of a metric for each row, so that it may keep the columns of the row in it.
    """

    llm: Recorder
    columns: Mapping[str, Any]

    def __init__(
        self,
        verifier: VerifierSource,
        verdicts: Literal["verifier"] = "verifier",
        threshold: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.verifier = verifier
        self.threshold = threshold

    async def ascore(self, **columns: Any) -> MetricResult:
        """As ragas' own; any column may be asked for while it computes."""
        self.columns = columns
        return await super().ascore(**columns)

    async def _verdicts(
        self,
        statements: Sequence[str],
        texts: Sequence[str],
        places: Sequence[int] = (),
        question: str = "",
        values: Mapping[str, Any] | None = None,
        more: Mapping[str, object] | None = None,
    ) -> list[int]:
        """The verdicts on statements, 1 for a supported one, which are recorded; see `note_supports`.

        Args:
            texts: what the statements are held against.
            question: that the system was asked; empty where the metric does not read it.
        """
        if not statements:
            raise NotApplicableError("the judge found no statement in a text")
        supports = await self.verifier.supports(texts, statements, question)
        values = values or {"context": BETWEEN.join(texts), "statements": statements}
        return note_supports(self.llm, statements, supports, self.threshold, places, more or {}, values)

    async def _as_ragas(self, statements: Sequence[str], *evidence: Any) -> NLIStatementOutput:
        """The same as ragas reads the verdicts of the judge. Any: further arguments of `_verdicts`."""
        verdicts = await self._verdicts(statements, *evidence)
        pairs = zip(statements, verdicts, strict=True)
        rows = [{"statement": statement, "reason": "", "verdict": verdict} for statement, verdict in pairs]
        return NLIStatementOutput.model_validate({"statements": rows})


class Faithfulness(Verified, collections.Faithfulness):  # type: ignore[misc]  # `llm` of both is the recorder
    """ragas' own; the verifier reads the contexts one after the other, packed in pieces."""

    async def _create_verdicts(self, statements: list[str], context: str) -> NLIStatementOutput:
        contexts = self.columns["retrieved_contexts"]
        return await self._as_ragas(statements, contexts, range(len(contexts)), self.columns["user_input"])


class FactualCorrectness(Verified, collections.FactualCorrectness):  # type: ignore[misc]  # as `Faithfulness`
    """ragas' own; claims of the response are held against the reference, and the other way round."""

    async def _verify_claims(  # type: ignore[override]  # ragas has two classes of the same fields
        self, claims: list[str], reference: str
    ) -> NLIStatementOutput:
        return await self._as_ragas(claims, [reference])


class NoiseSensitivity(Verified, collections.NoiseSensitivity):  # type: ignore[misc]  # as `Faithfulness`
    """ragas' own; statements are held against the reference and against each context alone."""

    async def _evaluate_statement_faithfulness(self, statements: list[str], context: str) -> list[int]:
        contexts = self.columns["retrieved_contexts"]
        places = [contexts.index(context)] if context in contexts else []
        return await self._verdicts(statements, [context], places)


class ContextRecall(Verified):
    """The share of the reference's sentences that the contexts support, [0, 1]. No judge writes these sentences.

    Args:
        language: decides where a sentence ends, and which ones count.
    """

    def __init__(self, language: Language, llm: Any = None, **options: Any) -> None:
        super().__init__(name="context_recall", **options)
        self.language = language
        self.llm = llm

    async def ascore(self, user_input: str, retrieved_contexts: list[str], reference: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The share. Raises `UndefinedScoreError` where no sentence counts."""
        sentences = sentences_of(reference, self.language)
        claims = [claim.text for claim in claims_of(sentences, "reference")]
        values = {"question": user_input, "context": BETWEEN.join(retrieved_contexts), "answer": reference}
        places = range(len(retrieved_contexts))
        more = not_counted(sentences)
        verdicts = await self._verdicts(claims, retrieved_contexts, places, user_input, values, more)
        return MetricResult(value=float(np.mean(verdicts)))
