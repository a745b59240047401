"""Metrics of sentences: how many of a text's sentences the evidence supports, by a verifier or by the judge as one."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

from rag_evaluator.config import LANGUAGES, Language
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.judge import JudgeProtocol, Option, shares_of
from rag_evaluator.metrics.options import Mode
from rag_evaluator.metrics.recorder import Recorder
from rag_evaluator.prompts import OwnPrompt, VerifyInput, VerifyOutput
from rag_evaluator.ragas_library import MetricResult
from rag_evaluator.results import VERIFIED
from rag_evaluator.verifiers import (
    LEAST,
    UNLIMITED,
    Combination,
    Evidence,
    EvidencePiece,
    Limit,
    Support,
    VerifierSource,
    claims_of,
    combination_of,
    confidence,
    not_counted,
    sentences_of,
    shares_of_words,
)

CONTEXTS = "retrieved_contexts"
ANSWER = 64  # tokens that must be left for an answer
SHORTER = 0.8  # than pieces that did not fit
MODES: Mapping[Mode, Callable[[Sequence[float], float], float]] = {
    "share": lambda probabilities, threshold: sum(p >= threshold for p in probabilities) / len(probabilities),
    "mean": lambda probabilities, threshold: math.fsum(probabilities) / len(probabilities),
    "min": lambda probabilities, threshold: min(probabilities),
}
"""Mode -> the value, from the probabilities of all sentences and the threshold."""
YES, _ = CHOICES = (Option(VerifyOutput(answer="yes")), Option(VerifyOutput(answer="no")))


@dataclass(eq=False)
class SupportMetric:
    """What evidence says of the sentences of a text, [0, 1].

    Attributes:
        text: column of the text.
        source: column of the evidence.
        verifier: None: the judge is asked.
        llm: a judge as ragas sees one, with which sentences are recorded, too; set for each row.
        language: of the texts: it decides where a sentence ends and which ones count.
        mode: the share of sentences that are supported; or the mean or the lowest of their probabilities.
        threshold: the probability from which a sentence counts as supported.
        evidence: whether contexts are looked at together or one by one, see `VerifierConfig`.
        combine, calibration: what else decides, see `VerifierConfig`; a calibration as fields of `Combination`.
        combinations: that of this judge, once it is known; shared by copies.
    """

    text: str
    source: str
    verifier: VerifierSource | None = None
    llm: Any = None
    language: Language = LANGUAGES["english"]
    mode: Mode = "share"
    threshold: float = 0.5
    evidence: Literal["packed", "each"] = "packed"
    combine: Literal["none", "words"] = "none"
    calibration: Mapping[str, float] | None = None
    combinations: list[Combination] = field(default_factory=list)
    prompt: OwnPrompt = field(default_factory=partial(OwnPrompt, "groundedness", "prompt"))

    async def ascore(self, user_input: str = "", **columns: Any) -> MetricResult:
        """The value; the reason says how many pieces there were.

        Raises `UndefinedScoreError` where no sentence counts.
        """
        evidence = columns[self.source]
        contexts = [evidence] if isinstance(evidence, str) else list(evidence)
        sentences = sentences_of(columns[self.text], self.language)
        claims = claims_of(sentences, self.text)
        texts = [claim.text for claim in claims]
        is_judge = self.verifier is None
        supports = await (self.verifier.supports if self.verifier else self._judged)(contexts, texts, user_input)
        combination = await self._combination()
        more = not_counted(sentences)
        figures: Sequence[Mapping[str, float]] = ()
        if combination:
            shares = shares_of_words(texts, contexts, self.language.name)
            supports, figures = combined(combination, supports, shares)
            more["combination"] = asdict(combination)
        is_sure = not is_judge or self._judge.capabilities.probabilities
        places = range(len(contexts)) if self.source == CONTEXTS else ()
        note_supports(
            self.llm, texts, supports, self.threshold, places, not_counted(sentences), is_sure=is_sure, figures=figures
        )
        count = max(support.pieces for support in supports)
        reason = f"{count} piece{'s' if count > 1 else ''} of evidence"
        probabilities = [support.probability for support in supports]
        return MetricResult(value=MODES[self.mode](probabilities, self.threshold), reason=reason)

    async def _judged(self, contexts: Sequence[str], hypotheses: Sequence[str], question: str) -> list[Support]:
        """As `VerifierProtocol.supports`, by the judge: it answers yes or no.

        All sentences about a piece follow the same words, which are read once.
        """
        evidence = self._evidence(contexts, max(hypotheses, key=len), question)
        if not evidence:
            raise UndefinedScoreError("there is no evidence")
        texts = [self._text(piece.text, claim, question) for piece in evidence for claim in hypotheses]
        shares = iter(await self.llm.achoose_all(texts, CHOICES))
        found = [[next(shares)[YES] for _ in hypotheses] for _ in evidence]
        return [Support.of(probabilities, evidence) for probabilities in zip(*found, strict=True)]

    async def _combination(self) -> Combination | None:
        """How the model's probability and counted words make one; None: they do not.

        Without a calibration the judge is asked about the examples of the prompt, in no row's record.
        """
        if self.calibration:
            return Combination(**self.calibration)
        if self.combine == "none":
            return None
        if not self.combinations:
            examples = [(VerifyInput(**row["input"]), row["output"]) for row in self.prompt.pack.examples]
            asked = (shares_of(self._judge, self.prompt.to_string(values), CHOICES) for values, _ in examples)
            shares = await asyncio.gather(*asked)
            sides: dict[str, list[float]] = {"yes": [], "no": []}
            for share, (_, output) in zip(shares, examples, strict=True):
                sides[output["answer"]].append(share[YES])
            self.combinations.append(combination_of(*sides.values()))
        return self.combinations[0]

    def _text(self, premise: str, claim: str, question: str) -> str:
        return self.prompt.to_string(VerifyInput(premise=premise, user_input=question or None, hypothesis=claim))

    def _evidence(self, contexts: Sequence[str], longest: str, question: str) -> list[EvidencePiece]:
        """The contexts in one piece, in several where the judge's window is too small for that."""
        evidence = Evidence(contexts, self._counts, self.language, self.evidence == "each")
        pieces = evidence.pieces(Limit(UNLIMITED, UNLIMITED))
        limit = self._room("", longest, question)
        while limit > LEAST and any(self._room(piece.text, longest, question) < 0 for piece in pieces):
            pieces = evidence.pieces(Limit(limit, UNLIMITED))
            limit = int(SHORTER * limit)
        return pieces

    def _counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; 0 where the judge does not count them."""
        return [self._judge.count(text) if self._judge.capabilities.counts_tokens else 0 for text in texts]

    def _room(self, premise: str, claim: str, question: str) -> int:
        """Tokens that are left; much where the judge does not count them."""
        if not self._judge.capabilities.counts_tokens:
            return UNLIMITED
        return self._judge.room(self._text(premise, claim, question)) - ANSWER

    @property
    def _judge(self) -> JudgeProtocol:
        assert isinstance(self.llm, Recorder) and self.llm.judge is not None
        return self.llm.judge


def combined(
    combination: Combination, supports: Sequence[Support], shares: Sequence[float]
) -> tuple[list[Support], list[dict[str, float]]]:
    """The supports with combined probabilities, and the figures that each was made from; `shares`: of their words."""
    pairs = zip(supports, shares, strict=True)
    figures = [{"judged": support.probability, "share": share} for support, share in pairs]
    both = (combination.probability(**each) for each in figures)
    return [replace(row, probability=value) for row, value in zip(supports, both, strict=True)], figures


def note_supports(
    recorder: Recorder,
    statements: Sequence[str],
    supports: Sequence[Support],
    threshold: float,
    places: Sequence[int],
    more: Mapping[str, object],
    values: Mapping[str, Any] | None = None,
    is_sure: bool = True,
    figures: Sequence[Mapping[str, float]] = (),
) -> list[int]:
    """Record what is said of each statement; returns the verdicts, 1 from the threshold on.

    Args:
        places: of the texts of the evidence among the retrieved contexts; empty: they are none of these.
        more: what else the record holds.
        values: what the statements are about, as the input of the judge's question.
        is_sure: whether probabilities are known; of a judge that says yes or no they are not.
        figures: of each statement, those from which its probability was made; empty: a model gave it.
    """
    verdicts = [int(support.probability >= threshold) for support in supports]
    own = figures or [{}] * len(statements)
    rows = [
        {
            "statement": statement,
            "verdict": verdict,
            "probability": support.probability,
            "contexts": [places[number] for number in support.piece.contexts] if places else [],
            "piece": support.place,
            **({"spans": [list(span) for span in support.spans]} if support.spans else {}),
            **made_from,
        }
        for statement, support, verdict, made_from in zip(statements, supports, verdicts, own, strict=True)
    ]
    sure = [confidence(row.probability, bool(verdict)) for row, verdict in zip(supports, verdicts, strict=True)]
    response = {"sentences": rows, "pieces": max(support.pieces for support in supports), **more}
    recorder.note(VERIFIED, response, sure if is_sure else (), values)
    return verdicts


Groundedness = partial(SupportMetric, "response", CONTEXTS)
ContextCoverage = partial(SupportMetric, "reference", CONTEXTS)
ReferenceCoverage = partial(SupportMetric, "reference", "response")
ReferenceAgreement = partial(SupportMetric, "response", "reference")
