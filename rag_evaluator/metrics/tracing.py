"""A judge as a ragas LLM; it records what metrics ask and what they are answered, for the details of a score."""

from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel
from ragas.llms.base import InstructorBaseRagasLLM

from rag_evaluator.errors import JudgeLostError, PromptTooLongError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.choices import labels_of
from rag_evaluator.judge.protocol import Draw, JudgeProtocol, Opinion, Shares
from rag_evaluator.judge.requests import PromptText
from rag_evaluator.results.judgement import Judgement
from rag_evaluator.results.questions import refer, references

Answer = TypeVar("Answer", bound=BaseModel)
Reply = TypeVar("Reply")
DECIMALS = 4  # of probabilities


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
    """

    def __init__(self, judge: JudgeProtocol | None, columns: Mapping[str, Any], repeat: int = 0) -> None:
        self.judge, self.columns, self.repeat = judge, columns, repeat
        self.judgements: list[dict[str, Any]] = []
        self.too_long = False
        self.lost: JudgeLostError | None = None
        self.failed: dict[str, str] = {}
        self._asked: Counter[str] = Counter()

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        opinion = await self._ask(prompt, prompt, lambda judge, draw: judge.opinion(prompt, response_model, draw))
        self._write(prompt, opinion.answer.model_dump(mode="json"), opinion=opinion, thought=opinion)
        assert isinstance(opinion.answer, response_model)
        return opinion.answer

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """The probability of each option as the answer, of 4 decimals: later ones may differ between batches.

        It is recorded as a judgement, whose `response` has the probability of each option under its short name.
        """
        question = f"{prompt}\0{sorted(options)}"
        chosen = await self._ask(question, prompt, lambda judge, draw: judge.choose(prompt, options, draw))
        shares = {option: round(float(chosen[option]), DECIMALS) for option in options}
        response: dict[str, object] = dict(zip(labels_of(options), shares.values(), strict=True))
        self._write(prompt, response, thought=chosen if isinstance(chosen, Shares) else None)
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
            self.failed[question] = message = str(error) or type(error).__name__
            if occurrence == 0:  # some metrics ask again after a failure: recorded once
                self._write(prompt, None, error=message)
            raise
        self.failed.pop(question, None)
        return reply

    def note(self, name: str, value: float, reason: str) -> None:
        """Record what a function says of its own value: no question belongs to it."""
        self.judgements.append(Judgement(name, response={"reason": reason, "value": value}).to_json())

    def _write(
        self,
        prompt: str,
        response: dict[str, object] | None,
        error: str | None = None,
        opinion: Opinion | None = None,
        thought: Opinion | Shares | None = None,
    ) -> None:
        judgement = Judgement(
            prompt=prompt.name if isinstance(prompt, PromptText) else "prompt",
            prompt_digest=short_digest(prompt),
            source_digest=prompt.source if isinstance(prompt, PromptText) else "",
            input=self._input(prompt),
            response=response,
            error=error,
            confidence=() if opinion is None else opinion.confidence,
            prompt_tokens=0 if opinion is None else opinion.prompt_tokens,
            generated_tokens=0 if opinion is None else opinion.generated_tokens,
            thinking=None if thought is None else thought.thinking,
            thinking_tokens=0 if thought is None else thought.thinking_tokens,
            cut=() if thought is None else tuple(sorted(thought.cut)),
        )
        self.judgements.append(judgement.to_json())

    def _input(self, prompt: str) -> dict[str, Any] | str:
        values = prompt.values if isinstance(prompt, PromptText) else None
        answers = [judgement["response"] for judgement in self.judgements]
        return str(prompt) if values is None else refer(values, self._known, answers)

    @cached_property
    def _known(self) -> dict[Hashable, dict[str, Any]]:
        return references(self.columns)
