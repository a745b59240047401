"""Metrics of sentences: how many of a text's sentences the evidence supports, by a verifier or by the judge as one."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from rag_evaluator.config.languages import LANGUAGES, Language
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.judge.protocol import Option
from rag_evaluator.metrics.metric import AGREE, DISAGREE
from rag_evaluator.metrics.options import Mode
from rag_evaluator.models.ragas_library import BaseMetric, MetricResult
from rag_evaluator.prompts.own import OwnPrompt, VerifyInput, VerifyOutput
from rag_evaluator.prompts.pack import option_texts
from rag_evaluator.results.rows import VERIFIED
from rag_evaluator.verifiers.batches import DECIMALS, confidence
from rag_evaluator.verifiers.counted import Sentence, claims_of, not_counted, sentences_of
from rag_evaluator.verifiers.evidence import Evidence, EvidencePiece, Limit
from rag_evaluator.verifiers.verifier import LEAST, UNLIMITED, Support

if TYPE_CHECKING:
    from rag_evaluator.metrics.scorer import Recorder

CONTEXTS = "retrieved_contexts"
ANSWER = 64  # tokens that must be left for an answer
SHORTER = 0.8  # than pieces that did not fit


class SentenceVerifier(Protocol):
    """What is asked for the support of sentences: an `AsyncVerifier` or a `JudgeVerifier`."""

    async def supports(
        self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = ""
    ) -> Sequence[Support]: ...


class SupportMetric(BaseMetric):
    """What evidence says of the sentences of a text, [0, 1].

    Args:
        verifier: None: the judge is asked.
        llm: a judge as ragas sees one, with which sentences are recorded, too; set for each row.
        language: of the texts: it decides where a sentence ends and which ones count.
        mode: the share of sentences that are supported; or the mean or the lowest of their probabilities.
        threshold: the probability from which a sentence counts as supported.
        evidence: whether contexts are looked at together or one by one, see `VerifierConfig`.
    """

    text: ClassVar[str]
    source: ClassVar[str]
    llm: "Recorder"

    def __init__(
        self,
        verifier: SentenceVerifier | None = None,
        llm: Any = None,
        language: Language = LANGUAGES["english"],
        mode: Mode = "share",
        threshold: float = 0.5,
        evidence: Literal["packed", "each"] = "packed",
    ) -> None:
        self.verifier, self.language = verifier, language
        self.mode, self.threshold, self.each = mode, threshold, evidence == "each"
        if verifier is None:
            self.prompt, self.llm = OwnPrompt("groundedness", "prompt"), llm
        super().__init__(name=type(self).__name__)
        self.llm = llm

    async def ascore(self, user_input: str = "", **columns: Any) -> MetricResult:
        """The value; the reason says how many pieces there were, or whether both orders agree.

        Raises `UndefinedScoreError` where no sentence counts.
        """
        evidence = columns[self.source]
        contexts = [evidence] if isinstance(evidence, str) else list(evidence)
        sentences = sentences_of(columns[self.text], self.language)
        claims = claims_of(sentences, self.text)
        judge = None if self.verifier else JudgeVerifier(self.llm, self.prompt, self.language, self.each)
        asked: SentenceVerifier = judge or self.verifier  # type: ignore[assignment]  # one of them is there
        supports = await asked.supports(contexts, [claim.text for claim in claims], user_input)
        self._record(sentences, claims, supports, is_sure=judge is None or self.llm.gives_probabilities)
        count = max(support.pieces for support in supports)
        reason = f"{count} piece{'s' if count > 1 else ''} of evidence"
        if judge is not None:
            reason = DISAGREE if judge.disagreed else AGREE
        return MetricResult(value=self._value([support.probability for support in supports]), reason=reason)

    def _value(self, probabilities: Sequence[float]) -> float:
        return MODES[self.mode](probabilities, self.threshold)

    def _record(
        self, sentences: Sequence[Sentence], claims: Sequence[Sentence], supports: Sequence[Support], is_sure: bool
    ) -> None:
        """Write what is said of each sentence.

        Args:
            is_sure: whether probabilities are known; of a judge that says yes or no they are not.
        """
        rows: list[dict[str, Any]] = []
        sureness = []
        for claim, support in zip(claims, supports, strict=True):
            is_supported = support.probability >= self.threshold
            rows.append(
                {
                    "statement": claim.text,
                    "verdict": int(is_supported),
                    "probability": support.probability,
                    "contexts": list(support.piece.contexts) if self.source == CONTEXTS else [],
                    "piece": support.place,
                    **({"spans": [list(span) for span in support.spans]} if support.spans else {}),
                }
            )
            sureness.append(confidence(support.probability, is_supported))
        most = max(support.pieces for support in supports)
        self.llm.note(
            VERIFIED, {"sentences": rows, "pieces": most, **not_counted(sentences)}, sureness if is_sure else ()
        )


class Groundedness(SupportMetric):
    """Sentences of the response that the contexts support."""

    text, source = "response", CONTEXTS


class ContextCoverage(SupportMetric):
    """Sentences of the reference that the contexts support."""

    text, source = "reference", CONTEXTS


class ReferenceCoverage(SupportMetric):
    """Sentences of the reference that the response supports."""

    text, source = "reference", "response"


class ReferenceAgreement(SupportMetric):
    """Sentences of the response that the reference supports."""

    text, source = "response", "reference"


def _share(probabilities: Sequence[float], threshold: float) -> float:
    return sum(probability >= threshold for probability in probabilities) / len(probabilities)


def _mean(probabilities: Sequence[float], threshold: float) -> float:
    return math.fsum(probabilities) / len(probabilities)


def _min(probabilities: Sequence[float], threshold: float) -> float:
    return min(probabilities)


MODES: Mapping[Mode, Callable[[Sequence[float], float], float]] = {"share": _share, "mean": _mean, "min": _min}


class JudgeVerifier:
    """The judge as a verifier: it chooses between two answers, and is asked in both orders of these.

    Args:
        llm: records what is asked.
        prompt: the question in the language of the run.
        each: look at each context alone.

    Attributes:
        disagreed: whether the two orders had another answer for some piece and sentence.
    """

    def __init__(self, llm: "Recorder", prompt: Any, language: Language, each: bool = False) -> None:  # Any: ragas'
        self.llm, self.prompt, self.language, self.each = llm, prompt, language, each
        self.options = option_texts(prompt.pack)
        self.disagreed = False

    async def supports(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str = "") -> list[Support]:
        """As `VerifierProtocol.supports`. All sentences about a piece follow the same words, which are read once."""
        evidence = self._evidence(contexts, max(hypotheses, key=len), question)
        if not evidence:
            raise UndefinedScoreError("there is no evidence")
        asked = itertools.product(evidence, hypotheses, ORDERS)
        texts = [self._text(piece.text, claim, question, order) for piece, claim, order in asked]
        shares = iter(await self.llm.achoose_all(texts, CHOICES))
        found: dict[tuple[int, int], float] = {}
        for place in range(len(evidence)):
            for number in range(len(hypotheses)):
                first, second = next(shares)[FIRST], next(shares)[SECOND]
                self.disagreed |= (first >= 0.5) != (second >= 0.5)
                found[place, number] = round((first + second) / 2, DECIMALS)
        return [
            self._best(evidence, [found[place, number] for place in range(len(evidence))])
            for number in range(len(hypotheses))
        ]

    @staticmethod
    def _best(evidence: Sequence[EvidencePiece], probabilities: Sequence[float]) -> Support:
        place = probabilities.index(max(probabilities))
        return Support(probabilities[place], evidence[place], len(evidence), place)

    def _text(self, premise: str, claim: str, question: str, order: int) -> str:
        options = list(self.options)[::order]
        values = VerifyInput(premise=premise, user_input=question or None, hypothesis=claim, options=options)
        text: str = self.prompt.to_string(values)
        return text

    def _evidence(self, contexts: Sequence[str], longest: str, question: str) -> list[EvidencePiece]:
        """The contexts in one piece, in several where the judge's window is too small for that."""
        evidence = Evidence(contexts, self.llm.counts, self.language, self.each)
        pieces = evidence.pieces(Limit(UNLIMITED, UNLIMITED))
        limit = self._room("", longest, question)
        while limit > LEAST and any(self._room(piece.text, longest, question) < 0 for piece in pieces):
            pieces = evidence.pieces(Limit(limit, UNLIMITED))
            limit = int(SHORTER * limit)
        return pieces

    def _room(self, premise: str, claim: str, question: str) -> int:
        """Tokens that are left; much where nobody knows."""
        room = self.llm.room(self._text(premise, claim, question, ORDERS[0]))
        return UNLIMITED if room is None else room - ANSWER


ORDERS = (1, -1)  # of the options: as in the prompt, and exchanged
CHOICES = (Option(VerifyOutput(choice=1)), Option(VerifyOutput(choice=2)))
FIRST, SECOND = CHOICES
