"""ragas' metrics with verdicts of a verifier: it decides whether texts support statements, in place of the judge.

In a cascade the judge is asked about the statements of which the verifier is in doubt, with ragas' own question.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from rag_evaluator.config.languages import Language
from rag_evaluator.embeddings.ragas_library import (
    BaseMetric,
    ContextRecallInput,
    ContextRecallOutput,
    ContextRecallPrompt,
    MetricResult,
    NLIStatementOutput,
    collections,
)
from rag_evaluator.errors import JudgementError
from rag_evaluator.files.atomic import short_digest
from rag_evaluator.metrics.own.grounded import SentenceVerifier
from rag_evaluator.results.overview import counted as number_of
from rag_evaluator.results.rows import AUDIT, DECIDED_BY, VERIFIED
from rag_evaluator.verifiers.batches import confidence
from rag_evaluator.verifiers.counted import claims_of, counted, not_counted
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
class StatementVerdict:
    """What the judge says of a statement.

    Attributes:
        confidence: its probability; None where the judge gives none.
    """

    verdict: int
    reason: str
    confidence: float | None = None


class AskJudge(Protocol):
    """Asks about statements: the verdicts in their order.

    An answer that is not `needed` may be missing: None. Raises `JudgementError` where a needed one does not fit.
    """

    async def __call__(self, statements: Sequence[str], needed: bool) -> Sequence[StatementVerdict] | None: ...


@dataclass(frozen=True)
class Decision:
    """A statement with what decided about it.

    Attributes:
        by_judge: None: the verifier decided.
        audit: what the judge says of a statement that the verifier decided; None: it was not asked, or gave no answer.
    """

    statement: str
    support: Support
    verdict: int
    by_judge: StatementVerdict | None = None
    audit: int | None = None

    @property
    def confidence(self) -> float:
        """The judge's where it decided and gives one, else the verifier's probability of the verdict."""
        if self.by_judge is not None and self.by_judge.confidence is not None:
            return self.by_judge.confidence
        return confidence(self.support.probability, bool(self.verdict))

    def to_json(self, evidence: StatementEvidence) -> dict[str, Any]:
        return {
            "statement": self.statement,
            "verdict": self.verdict,
            "probability": self.support.probability,
            "contexts": evidence.contexts(self.support),
            "piece": self.support.place,
            DECIDED_BY: "verifier" if self.by_judge is None else "judge",
            **({} if self.by_judge is None or not self.by_judge.reason else {"reason": self.by_judge.reason}),
            **({} if self.audit is None else {AUDIT: self.audit}),
        }


@dataclass(frozen=True)
class Decider:
    """Decides whether evidence supports statements; the arguments but the first are those of `VerdictOptions`.

    Args:
        threshold: of `verdicts: verifier`: the probability from which a statement is supported.
    """

    verifier: SentenceVerifier
    verdicts: Literal["verifier", "cascade"] = "verifier"
    doubtful: tuple[float, float] = (0.2, 0.8)
    audit: float = 0.05
    threshold: float = 0.5

    async def decide(self, statements: Sequence[str], evidence: StatementEvidence, ask: AskJudge) -> list[Decision]:
        """A decision for each statement, in order. Raises what verifier and judge raise."""
        supports = await self.verifier.supports(evidence.texts, statements, evidence.question)
        pairs = list(zip(statements, supports, strict=True))
        verdicts = [self._verdict(support.probability) for support in supports]
        doubts = [place for place, verdict in enumerate(verdicts) if verdict is None]
        drawn = [
            place
            for place, verdict in enumerate(verdicts)
            if verdict is not None and self.verdicts == "cascade" and is_drawn(evidence, statements[place], self.audit)
        ]
        by_judge = await self._asked(ask, statements, doubts, needed=True)
        audited = await self._asked(ask, statements, drawn, needed=False)
        decisions = []
        for place, (statement, support) in enumerate(pairs):
            judged, audit = by_judge.get(place), audited.get(place)
            verdict = judged.verdict if judged is not None else verdicts[place]
            assert verdict is not None
            decisions.append(Decision(statement, support, verdict, judged, None if audit is None else audit.verdict))
        return decisions

    def _verdict(self, probability: float) -> int | None:
        """The verifier's; None where it is in doubt."""
        if self.verdicts == "verifier":
            return int(probability >= self.threshold)
        low, high = self.doubtful
        return 0 if probability <= low else 1 if probability >= high else None

    @staticmethod
    async def _asked(
        ask: AskJudge, statements: Sequence[str], places: Sequence[int], needed: bool
    ) -> dict[int, StatementVerdict]:
        answers = await ask([statements[place] for place in places], needed) if places else None
        return {} if answers is None else dict(zip(places, answers, strict=True))


def is_drawn(evidence: StatementEvidence, statement: str, share: float) -> bool:
    """Whether the judge is asked about a decided statement, too: by the texts alone, so the same in any run."""
    digest = short_digest(f"{evidence.text}\0{statement}")
    return int(digest, 16) / float(1 << 4 * len(digest)) < share


def verdicts_in(
    judgements: Sequence[Mapping[str, Any]], listed: str, key: str, count: int, needed: bool
) -> list[StatementVerdict] | None:
    """The verdicts in an answer about so many statements; None where none is needed and they do not fit.

    Args:
        listed, key: names of their list, and of the verdict in it.

    Raises `JudgementError` where there are more or fewer.
    """
    rows: list[Mapping[str, Any]] = []
    sure: list[float | None] = []
    for judgement in judgements:
        made = (judgement["response"] or {}).get(listed, [])
        rows += made
        sure += judgement["confidence"] if len(judgement["confidence"]) == len(made) else [None] * len(made)
    if len(rows) != count:
        if needed:
            verdicts, statements = number_of(len(rows), "verdict"), number_of(count, "statement")
            raise JudgementError(f"the judge gave {verdicts} about {statements}")
        return None
    return [
        StatementVerdict(int(bool(row[key])), row["reason"], sureness) for row, sureness in zip(rows, sure, strict=True)
    ]


class Verified(BaseMetric):
    """What these metrics share: who decides, and the record of that.

    Args:
        llm: a judge as ragas sees one, with which decisions are recorded, too; set for each row.
        options: of the metric in ragas.

    The scorer makes a copy of a metric for each row, so that a row may keep what it needs in it.
    """

    llm: "Recorder"
    decider: Decider

    def __init__(
        self,
        verifier: SentenceVerifier,
        verdicts: Literal["verifier", "cascade"] = "verifier",
        doubtful: tuple[float, float] = (0.2, 0.8),
        audit: float = 0.05,
        threshold: float = 0.5,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.decider = Decider(verifier, verdicts, doubtful, audit, threshold)

    async def _verdicts(
        self,
        statements: Sequence[str],
        evidence: StatementEvidence,
        ask: AskJudge,
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
        decisions = await self.decider.decide(statements, evidence, ask)
        response = {
            "sentences": [decision.to_json(evidence) for decision in decisions],
            "pieces": max(decision.support.pieces for decision in decisions),
            **(extra or {}),
        }
        self.llm.note(VERIFIED, response, [decision.confidence for decision in decisions], values)
        return decisions


class OfStatements(Verified):
    """Those in which the judge writes statements and ragas' question about them lists them all."""

    async def _listed(
        self,
        statements: list[str],
        evidence: StatementEvidence,
        question: Callable[[list[str], str], Awaitable[object]],
    ) -> list[Decision]:
        """The decisions.

        Args:
            question: ragas' method that asks the judge about statements and a text.
        """
        ask = partial(self._ask, evidence, question)
        return await self._verdicts(statements, evidence, ask, {"context": evidence.text, "statements": statements})

    async def _ask(
        self,
        evidence: StatementEvidence,
        question: Callable[[list[str], str], Awaitable[object]],
        statements: Sequence[str],
        needed: bool,
    ) -> list[StatementVerdict] | None:
        judgements = await self.llm.aside(question(list(statements), evidence.text), needed)
        return verdicts_in(judgements, "statements", "verdict", len(statements), needed)


def as_ragas(decisions: Sequence[Decision]) -> NLIStatementOutput:
    """The decisions as ragas reads those of the judge."""
    rows = [{"statement": made.statement, "reason": "", "verdict": made.verdict} for made in decisions]
    return NLIStatementOutput.model_validate({"statements": rows})


class Faithfulness(OfStatements, collections.Faithfulness):  # type: ignore[misc]  # `llm` of both is the recorder
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
        return as_ragas(await self._listed(statements, evidence, super()._create_verdicts))


class FactualCorrectness(OfStatements, collections.FactualCorrectness):  # type: ignore[misc]  # as `Faithfulness`
    """ragas' own; claims of the response are held against the reference, and the other way round."""

    async def _verify_claims(  # type: ignore[override]  # ragas has two classes of the same fields
        self, claims: list[str], reference: str
    ) -> NLIStatementOutput:
        return as_ragas(await self._listed(claims, StatementEvidence([reference]), super()._verify_claims))


class NoiseSensitivity(OfStatements, collections.NoiseSensitivity):  # type: ignore[misc]  # as `Faithfulness`
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
        question = super()._evaluate_statement_faithfulness
        decisions = await self._listed(statements, StatementEvidence([context], places), question)
        return [decision.verdict for decision in decisions]


class ContextRecall(Verified):
    """The share of the reference's sentences that the contexts support, [0, 1]. No judge writes these sentences.

    In a cascade the judge is asked ragas' question about one sentence at a time. If it divides the sentence, all of its
    parts must be supported.

    Args:
        language: decides where a sentence ends, and which ones count.
    """

    def __init__(self, language: Language, llm: Any = None, **options: Any) -> None:
        super().__init__(name="context_recall", **options)
        self.prompt, self.language, self.llm = ContextRecallPrompt(), language, llm

    async def ascore(self, user_input: str, retrieved_contexts: list[str], reference: str) -> MetricResult:  # type: ignore[override]  # as in ragas
        """The share. Raises `UndefinedScoreError` where no sentence counts."""
        sentences = counted(reference, self.language)
        claims = [claim.text for claim in claims_of(sentences, "reference")]
        evidence = StatementEvidence(retrieved_contexts, range(len(retrieved_contexts)), user_input)
        values = {"question": user_input, "context": evidence.text, "answer": reference}
        decisions = await self._verdicts(claims, evidence, partial(self._ask, evidence), values, not_counted(sentences))
        return MetricResult(value=float(np.mean([decision.verdict for decision in decisions])))

    async def _ask(
        self, evidence: StatementEvidence, statements: Sequence[str], needed: bool
    ) -> list[StatementVerdict] | None:
        verdicts = []
        for statement in statements:
            values = ContextRecallInput(question=evidence.question, context=evidence.text, answer=statement)
            question = self.llm.agenerate(self.prompt.to_string(values), ContextRecallOutput)
            verdict = _whole(await self.llm.aside(question, needed))
            if verdict is None and needed:
                raise JudgementError("the judge gave no verdict about a sentence of the reference")
            verdicts.append(verdict)
        answered = [verdict for verdict in verdicts if verdict is not None]
        return answered if len(answered) == len(verdicts) else None


def _whole(judgements: Sequence[Mapping[str, Any]]) -> StatementVerdict | None:
    """The verdict about a sentence that the judge may have divided; None where it gave none."""
    rows = [row for judgement in judgements for row in (judgement["response"] or {}).get("classifications", ())]
    if not rows:
        return None
    sure = [sureness for judgement in judgements for sureness in judgement["confidence"]]
    verdict = int(all(row["attributed"] for row in rows))
    return StatementVerdict(
        verdict, " ".join(row["reason"] for row in rows), sure[0] if len(sure) == len(rows) == 1 else None
    )
