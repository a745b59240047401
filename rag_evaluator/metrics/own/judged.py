"""Metrics of our own that ask the judge one or two questions about a row; users' own questions among them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from rag_evaluator.config import LANGUAGES, Language, sentences_of
from rag_evaluator.errors import JudgementError, UndefinedScoreError
from rag_evaluator.prompts import (
    AnswerableInput,
    AnswerableOutput,
    CustomOutput,
    Label,
    OwnPrompt,
    QuestionPrompt,
    RefusedInput,
    RefusedOutput,
    RubricInput,
    RubricOutput,
    SentencesInput,
    SentencesOutput,
    as_shown,
)
from rag_evaluator.ragas_library import InstructorBaseRagasLLM, MetricResult

HELPFUL = "sentences help"
INSUFFICIENT = "insufficient information"
VALUES: Mapping[Label, float] = {1: 0.0, 2: 0.2, 3: 0.5, 4: 0.8, 5: 1.0}
"""Label -> what it is worth."""


class ContextRelevancy:
    """Sentences that help to answer / all sentences, [0, 1].

    The context relevance of the RAGAS paper (Es et al. 2023, section 3). There the judge copies sentences; here it
    writes their numbers, so that none can be changed or invented.

    Args:
        llm: a judge as ragas sees one.
        language: of the contexts: it decides where a sentence ends.
    """

    def __init__(self, llm: InstructorBaseRagasLLM, language: Language = LANGUAGES["english"]) -> None:
        self.llm = llm
        self.language = language
        self.prompt = OwnPrompt("context_relevancy", "prompt")

    async def ascore(self, user_input: str, retrieved_contexts: Sequence[str]) -> MetricResult:
        """The value; the reason is one of the outcomes of its row. Raises `JudgementError`."""
        texts = [sentence for context in retrieved_contexts for sentence in sentences_of(context, self.language)]
        if not texts:
            raise UndefinedScoreError("the contexts have no sentence")
        numbered = [f"{number}: {text}" for number, text in enumerate(texts, start=1)]
        prompt = self.prompt.to_string(SentencesInput(user_input=user_input, sentences=numbered))
        answer: SentencesOutput = await self.llm.agenerate(prompt, SentencesOutput)
        chosen = answer.numbers
        if chosen != sorted(set(chosen)) or not all(1 <= number <= len(texts) for number in chosen):
            raise JudgementError(f"the judge chose the sentences {chosen!r:.80}, expected ascending 1 to {len(texts)}")
        return MetricResult(value=len(chosen) / len(texts), reason=HELPFUL if chosen else INSUFFICIENT)


class QuestionMetric:
    """The label that the judge gives a row.

    Args:
        columns: what it is shown of the row, in this order; those that are optional may be missing.
        llm: a judge as ragas sees one.

    Attributes:
        prompt: holds the question and its scale; set by whoever loads the prompts.
    """

    prompt: QuestionPrompt

    def __init__(self, columns: Sequence[str], llm: Any) -> None:
        self.columns = columns
        self.llm = llm

    async def ascore(self, **values: Any) -> MetricResult:
        """Raises `JudgementError` for a label that the scale does not have: only some judges are bound to it."""
        shown = {column: as_shown(values[column]) for column in self.columns if column in values}
        if not shown:
            raise UndefinedScoreError(f"the row has none of {', '.join(self.columns)}")
        answer = await self.llm.agenerate(self.prompt.ask(shown), CustomOutput)
        if str(answer.label) not in self.prompt.scale:
            raise JudgementError(f"the label is {answer.label}: expected one of {', '.join(self.prompt.scale)}")
        return MetricResult(value=float(answer.label), reason=answer.reason)


class AnswerRubric:
    """The value of the label that the judge writes after its reason, [0, 1].

    Args:
        llm: a judge as ragas sees one.
    """

    def __init__(self, llm: InstructorBaseRagasLLM) -> None:
        self.llm = llm
        self.prompt = OwnPrompt("answer_rubric", "prompt")

    async def ascore(self, user_input: str, response: str, reference: str) -> MetricResult:
        """The value, with the judge's reason. Raises `JudgementError`."""
        prompt = self.prompt.to_string(RubricInput(user_input=user_input, response=response, reference=reference))
        answer: RubricOutput = await self.llm.agenerate(prompt, RubricOutput)
        return MetricResult(value=VALUES[answer.label], reason=answer.reason)


class RefusalCorrectness:
    """1 where an answerable question was answered or an unanswerable one refused, else 0.

    Args:
        llm: a judge as ragas sees one.
        missing_reference: `unanswerable`: a row with a reference can be answered, one without cannot; `unknown`: a
            reference says nothing about that.
    """

    def __init__(
        self, llm: InstructorBaseRagasLLM, missing_reference: Literal["unknown", "unanswerable"] = "unknown"
    ) -> None:
        self.llm = llm
        self.missing_reference = missing_reference
        self.answerable_prompt = OwnPrompt("refusal_correctness", "answerable_prompt")
        self.refused_prompt = OwnPrompt("refusal_correctness", "refused_prompt")

    async def ascore(
        self,
        user_input: str,
        response: str,
        answerable: bool | None = None,
        reference: str | None = None,
        retrieved_contexts: Sequence[str] | None = None,
    ) -> MetricResult:
        """The value; the reason is one of the outcomes of its row.

        Whether the question can be answered is what `answerable` says, else what a missing reference means, else judged
        from the contexts. Raises `UndefinedScoreError` where none of them is there.
        """
        known = answerable
        if known is None and self.missing_reference == "unanswerable":
            known = reference is not None
        if known is None and not retrieved_contexts:
            raise UndefinedScoreError("neither answerable nor retrieved_contexts say whether there is an answer")
        refused = self._is_yes(
            self.refused_prompt, RefusedInput(user_input=user_input, response=response), RefusedOutput
        )
        if known is None:
            question = AnswerableInput(user_input=user_input, contexts=list(retrieved_contexts or []))
            answered = self._is_yes(self.answerable_prompt, question, AnswerableOutput)
            known, has_refused = await asyncio.gather(answered, refused)
        else:
            has_refused = await refused
        is_right = known != has_refused
        outcome = f"{'rightly' if is_right else 'wrongly'} {'refused' if has_refused else 'answered'}"
        return MetricResult(value=float(is_right), reason=outcome)

    async def _is_yes(
        self, prompt: OwnPrompt, values: BaseModel, kind: type[AnswerableOutput] | type[RefusedOutput]
    ) -> bool:
        answer: AnswerableOutput | RefusedOutput = await self.llm.agenerate(prompt.to_string(values), kind)
        return answer.verdict == 1
