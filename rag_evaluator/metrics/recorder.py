"""The judge as a metric of ragas sees it, with question and answer on record."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from pydantic import BaseModel

from rag_evaluator.errors import (
    BudgetError,
    JudgeLostError,
    PromptTooLongError,
    RagEvaluatorError,
)
from rag_evaluator.files import Json, JsonDict, short_digest
from rag_evaluator.hub import in_one_line
from rag_evaluator.judge import Draw, JudgeProtocol, Opinion, PromptText, Shares, labels_of, shares_of
from rag_evaluator.ragas_library import InstructorBaseRagasLLM
from rag_evaluator.results import Judgement, refer, references
from rag_evaluator.verifiers import rounded

from .work_checks import as_asked, texts_in

COSTS = ("confidence", "prompt_tokens", "generated_tokens", "thinking", "thinking_tokens")
"""What an `Opinion` says beside its answer, and `Shares` in part."""
Answer = TypeVar("Answer", bound=BaseModel)
Reply = TypeVar("Reply")


class Recorder(InstructorBaseRagasLLM):
    """Presents a judge to one metric as a ragas LLM, while one sample is scored.

    Args:
        judge: whose answers are recorded; None for metrics that ask no judge.
        columns: what the metric reads of the sample; a question names them instead of copying them.
        repeat: number of the repeat; a judge that samples answers each one anew.

    Attributes:
        judgements: JSON of every `Judgement`, in the order of asking.
        too_long: whether a prompt did not fit the judge's window.
        failed: questions that got no answer, with the message; one that is answered when asked again is taken out.
        lost: set once the judge is lost; some metrics swallow errors, so the scorer must raise it.
        answers: prompt and answer of each question that got one, in the order of asking.
        cut: the last text of each list that reached its limit, and can be used all the same.
        parts: prompt and what is whole of the answer of each list that cannot.
        unasked: see `as_asked`.
    """

    is_async = True  # prompts of users' own ragas metrics look at it

    def __init__(self, judge: JudgeProtocol | None, columns: Json, repeat: int = 0) -> None:
        self.judge = judge
        self.columns = columns
        self.repeat = repeat
        self.judgements: list[JsonDict] = []
        self.too_long = False
        self.lost: JudgeLostError | None = None
        self.failed: dict[str, str] = {}
        self.answers: list[tuple[str, BaseModel]] = []
        self.cut: list[str] = []
        self.parts: list[tuple[str, BaseModel]] = []
        self.unasked: list[str] = []
        self._asked: Counter[str] = Counter()

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        opinion = await self._ask(prompt, prompt, lambda judge, draw: judge.opinion(prompt, response_model, draw))
        answer, unasked = as_asked(prompt, opinion.answer)
        self.unasked += unasked
        if answer != opinion.answer:
            opinion = replace(opinion, answer=answer, confidence=())  # whose order may be another
        self._write(prompt, opinion.answer.model_dump(mode="json"), opinion)
        assert isinstance(opinion.answer, response_model)
        self.answers.append((prompt, opinion.answer))
        if "list" in opinion.cut:
            self.cut += list(texts_in(opinion.answer.model_dump(mode="json")))[-1:]
        return opinion.answer

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """The probability of each option as the answer, see `rounded`: later decimals may differ between batches.

        It is recorded as a judgement, whose `response` has the probability of each option under its short name.
        """
        question = f"{prompt}\0{sorted(options)}"
        chosen = await self._ask(question, prompt, lambda judge, draw: shares_of(judge, prompt, options, draw))
        shares = {option: rounded(float(chosen[option])) for option in options}
        response: dict[str, object] = dict(zip(labels_of(options), shares.values(), strict=True))
        self._write(prompt, response, chosen)
        return shares

    async def achoose_all(self, prompts: Sequence[str], options: Sequence[str]) -> list[dict[str, float]]:
        """`achoose` of several questions at a time, recorded in their order; of errors the first one is raised."""
        parts = [Recorder(self.judge, self.columns, self.repeat) for _ in prompts]
        asked = (part.achoose(prompt, options) for part, prompt in zip(parts, prompts, strict=True))
        replies = await asyncio.gather(*asked, return_exceptions=True)
        for part in parts:
            self.judgements += part.judgements
            self.failed |= part.failed
            self.too_long = self.too_long or part.too_long
            self.lost = self.lost or part.lost
        shares = []
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
            shares.append(reply)
        return shares

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        raise NotImplementedError("the metrics of ragas.metrics.collections ask through agenerate")

    async def _ask(self, question: str, prompt: str, ask: Callable[[JudgeProtocol, Draw], Awaitable[Reply]]) -> Reply:
        """The judge's reply. `question` is the prompt, with the options where some are given."""
        assert self.judge is not None
        if self.lost is not None:  # the metric goes on after an error: there is no judge to ask
            raise self.lost
        occurrence = self._asked[question]  # a metric that asks the same again wants another sample, if it samples
        self._asked[question] += 1
        try:
            reply = await ask(self.judge, (self.repeat, occurrence))
        except JudgeLostError as error:
            self.lost = error
            raise
        except Exception as error:
            self.too_long = self.too_long or isinstance(error, PromptTooLongError)
            if isinstance(error, BudgetError) and isinstance(error.part, BaseModel):
                self.parts.append((prompt, error.part))
            message = str(error) if isinstance(error, RagEvaluatorError) else in_one_line(error)
            self.failed[question] = message
            if occurrence == 0:  # some metrics ask again after a failure: recorded once
                self._write(prompt, None, error=message)
            raise
        self.failed.pop(question, None)
        return reply

    def note(
        self,
        name: str,
        response: Mapping[str, object],
        confidence: Sequence[float] = (),
        values: Json | None = None,
    ) -> None:
        """Record what no question belongs to: what a function says of its own value, or a verifier of sentences.

        Args:
            values: what it is about, as the input of a question.
        """
        about = self._refer(values) if values else {}
        note = Judgement(name, input=about, response=dict(response), confidence=tuple(confidence))
        self.judgements.append(note.to_json())

    def _write(
        self,
        prompt: str,
        response: dict[str, object] | None,
        reply: Opinion | Shares | Mapping[str, float] | None = None,
        error: str | None = None,
    ) -> None:
        text = prompt if isinstance(prompt, PromptText) else PromptText(prompt)
        judgement = Judgement(
            prompt=text.name,
            prompt_digest=short_digest(text),
            source_digest=text.source,
            input=str(text) if text.values is None else self._refer(text.values),
            response=response,
            error=error,
            cut=tuple(sorted(getattr(reply, "cut", ()))),
            **{name: getattr(reply, name) for name in COSTS if hasattr(reply, name)},
        )
        self.judgements.append(judgement.to_json())

    def _refer(self, values: Json) -> JsonDict:
        """The values, with the names of columns and answers in place of their texts."""
        return refer(values, self._known, [judgement["response"] for judgement in self.judgements])

    @cached_property
    def _known(self) -> dict[Hashable, JsonDict]:
        return references(self.columns)
