"""A judge whose answers are written down, for exact expectations in tests."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel

from rag_evaluator.errors import JudgementError
from rag_evaluator.files import Json
from rag_evaluator.ragas_library import InstructorBaseRagasLLM

from .grammar.schema import on_scale, unique_keys

KEPT = 1024  # prompts
Answer = TypeVar("Answer", bound=BaseModel)
Line = BaseModel | Json | str
Rule = Callable[[str, type[BaseModel]], Line]
Script = Rule | Sequence[Line] | Mapping[str, Line]
Choices = Callable[[str, Sequence[str]], Mapping[str, float] | str]


class ScriptedJudge(InstructorBaseRagasLLM):
    """Answers from a script instead of a model; takes the judge's place in `RAGEvaluator` and in ragas metrics.

    Args:
        script: a rule, which is a function from the request (prompt, response model) to the answer; or a list of
            answers, given in the order of asking; or a mapping from the response model's name to its answer. An answer
            is a pydantic object, a dict or a JSON string. The prompt of a metric has its input as `prompt.data`. What a
            rule raises, the judge raises.
        choices: for `choose`: a function of (prompt, options) that gives the option chosen, or the probability of each.
        model_id: a name by which answers kept on disk are found again; scripts of one name must say the same.

    Attributes:
        asked: number of prompts that were sent.
        prompts: the last 1,024 of them at least, in order.

    Raises `JudgementError` when the script has no answer, or one that does not fit the response model or the scale that
    real judges are held to.
    """

    greedy = True

    def __init__(self, script: Script = (), choices: Choices | None = None, model_id: str | None = None) -> None:
        self.script = script
        self.choices = choices
        self.model_id = model_id
        self.prompts: list[str] = []
        self.asked = 0

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """Return what `generate` does, for callers in an event loop."""
        return self.generate(prompt, response_model)

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """Return what the script answers, checked as the answer of a real judge is."""
        self._note(prompt)
        line = self._line(prompt, response_model)
        if isinstance(line, BaseModel):
            line = line.model_dump()
        try:
            value = json.loads(line, object_pairs_hook=unique_keys) if isinstance(line, str) else dict(line)
        except ValueError as error:
            raise JudgementError(f"the script's answer {line!r:.80} is no JSON: {error}") from error
        return on_scale(value, response_model, prompt)

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """Return what `choose` does, for callers in an event loop."""
        return self.choose(prompt, options)

    def choose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """Return the probability of each option, as `Judge.choose` gives it."""
        self._note(prompt)
        if self.choices is None:
            raise JudgementError("the script has no choices")
        choice = self.choices(prompt, options)
        shares = {option: float(option == choice) for option in options} if isinstance(choice, str) else dict(choice)
        if set(shares) != set(options) or not math.isclose(sum(shares.values()), 1.0):
            raise JudgementError(f"the script's choice {choice!r:.80} is none of {list(options)!r:.80}")
        return {option: float(shares[option]) for option in options}

    def _note(self, prompt: str) -> None:
        self.asked += 1
        self.prompts.append(prompt)
        if len(self.prompts) >= 2 * KEPT:
            del self.prompts[:-KEPT]

    def _line(self, prompt: str, response_model: type[BaseModel]) -> Line:
        if callable(self.script):
            return self.script(prompt, response_model)
        if isinstance(self.script, Mapping):
            if response_model.__name__ not in self.script:
                raise JudgementError(f"the script has no answer for {response_model.__name__}")
            return self.script[response_model.__name__]
        if self.asked > len(self.script):
            raise JudgementError(f"the script has {len(self.script)} answers, this is question {self.asked}")
        return self.script[self.asked - 1]
