"""ragas' metrics with verdicts of a verifier: it decides whether texts support statements, in place of the judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rag_evaluator.config.languages import Language
from rag_evaluator.errors import JudgementError
from rag_evaluator.metrics.own.grounded import SentenceVerifier
from rag_evaluator.models.ragas_library import (
    BaseMetric,
    MetricResult,
    NLIStatementOutput,
    collections,
)
from rag_evaluator.results.rows import VERIFIED
from rag_evaluator.verifiers.batches import confidence
from rag_evaluator.verifiers.counted import claims_of, not_counted, sentences_of
from rag_evaluator.verifiers.evidence import BETWEEN
from rag_evaluator.verifiers.verifier import Support

if TYPE_CHECKING:
    from rag_evaluator.metrics.scorer import Recorder


@dataclass(frozen=True)
class StatementEvidence:
    """What statements are held against.

    Attributes:
        texts: in their order.
        places: of each text among the retrieved contexts; empty: they are none of these.
        question: that the system was asked; empty where the metric does not read it.
    """

    texts: Sequence[str]
    places: Sequence[int] = ()
    question: str = ""

    @property
    def text(self) -> str:
        """As ragas shows it to the judge."""
        return BETWEEN.join(self.texts)

    def contexts(self, support: Support) -> list[int]:
        """The places of the retrieved contexts of which the best piece has a part."""
        return [self.places[number] for number in support.piece.contexts] if self.places else []


@dataclass(frozen=True)
class Decision:
    """A statement with the verdict of the verifier."""

    statement: str
    support: Support
    verdict: int

    @property
    def confidence(self) -> float:
        """The verifier's probability of the verdict."""
        return confidence(self.support.probability, bool(self.verdict))

    def to_json(self, evidence: StatementEvidence) -> dict[str, Any]:
        return {
            "statement": self.statement,
            "verdict": self.verdict,
            "probability": self.support.probability,
            "contexts": evidence.contexts(self.support),
            "piece": self.support.place,
        }


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

    async def _verdicts(
        self,
        statements: Sequence[str],
        evidence: StatementEvidence,
        values: Mapping[str, Any],
        extra: Mapping[str, object] | None = None,
    ) -> list[Decision]:
        """The decisions, which are recorded.

        Args:
            values: what they are about, as the input of the judge's question.
            extra: what else the record holds.
        """
        if not statements:
            raise JudgementError("the judge found no statement in a text")
        supports = await self.verifier.supports(evidence.texts, statements, evidence.question)
        decisions = [
            Decision(statement, support, int(support.probability >= self.threshold))
            for statement, support in zip(statements, supports, strict=True)
        ]
        response = {
            "sentences": [decision.to_json(evidence) for decision in decisions],
            "pieces": max(decision.support.pieces for decision in decisions),
            **(extra or {}),
        }
        self.llm.note(VERIFIED, response, [decision.confidence for decision in decisions], values)
        return decisions

    async def _listed(self, statements: list[str], evidence: StatementEvidence) -> list[Decision]:
        """The decisions about statements that the judge wrote."""
        return await self._verdicts(statements, evidence, {"context": evidence.text, "statements": statements})


def as_ragas(decisions: Sequence[Decision]) -> NLIStatementOutput:
    """The decisions as ragas reads those of the judge."""
    rows = [{"statement": made.statement, "reason": "", "verdict": made.verdict} for made in decisions]
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
        evidence = StatementEvidence(self.contexts, range(len(self.contexts)), self.user_input)
        return as_ragas(await self._listed(statements, evidence))


class FactualCorrectness(Verified, collections.FactualCorrectness):  # type: ignore[misc]  # as `Faithfulness`
    """ragas' own; claims of the response are held against the reference, and the other way round."""

    async def _verify_claims(  # type: ignore[override]  # ragas has two classes of the same fields
        self, claims: list[str], reference: str
    ) -> NLIStatementOutput:
        return as_ragas(await self._listed(claims, StatementEvidence([reference])))


class NoiseSensitivity(Verified, collections.NoiseSensitivity):  # type: ignore[misc]  # as `Faithfulness`
    """ragas' own; statements are held against the reference and against each context alone."""

    places: Mapping[str, int]

    async def ascore(  # type: ignore[override]  # as in ragas
        self, user_input: str, response: str, reference: str, retrieved_contexts: list[str]
    ) -> MetricResult:
        self.places = {context: place for place, context in reversed(list(enumerate(retrieved_contexts)))}
        result: MetricResult = await super().ascore(
            user_input=user_input, response=response, reference=reference, retrieved_contexts=retrieved_contexts
        )
        return result

    async def _evaluate_statement_faithfulness(self, statements: list[str], context: str) -> list[int]:
        places = [self.places[context]] if context in self.places else []
        decisions = await self._listed(statements, StatementEvidence([context], places))
        return [decision.verdict for decision in decisions]


class ContextRecall(Verified):
    """The share of the reference's sentences that the contexts support, [0, 1]. No judge writes these sentences.

    Args:
        language: decides where a sentence ends, and which ones count.
    """

    def __init__(self, language: Language, llm: Any = None, **options: Any) -> None:
        super().__init__(name="context_recall", **options)
        self.language, self.llm = language, llm

    async def ascore(self, user_input: str, retrieved_contexts: list[str], reference: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The share. Raises `UndefinedScoreError` where no sentence counts."""
        sentences = sentences_of(reference, self.language)
        claims = [claim.text for claim in claims_of(sentences, "reference")]
        evidence = StatementEvidence(retrieved_contexts, range(len(retrieved_contexts)), user_input)
        values = {"question": user_input, "context": evidence.text, "answer": reference}
        decisions = await self._verdicts(claims, evidence, values, not_counted(sentences))
        return MetricResult(value=float(np.mean([decision.verdict for decision in decisions])))
