"""What the judge is asked for a test set: a question, an answer from contexts or from memory, whether two agree."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.dataset.json_values import is_blank
from rag_evaluator.features.testset.prompts import (
    AgreeInput,
    AgreeOutput,
    KnownInput,
    KnownOutput,
    MadeInput,
    MadeOutput,
)
from rag_evaluator.judge.cached import RESERVE, Window
from rag_evaluator.judge.grammar.lark import MAX_STRING
from rag_evaluator.judge.protocol import JudgeProtocol, probability
from rag_evaluator.prompts.loading import TracedPrompt
from rag_evaluator.prompts.own import AnswerInput, ReferenceOutput, SupportInput, SupportOutput
from rag_evaluator.prompts.pack import Key

ANSWER_TOKENS = MAX_STRING + RESERVE  # the longest answer with its JSON
ITEM_TOKENS = 8  # indentation and comma of a list item, on top of its own tokens
AGREES, DIFFERS = AgreeOutput(verdict=1), AgreeOutput(verdict=0)
SUPPORTS, SUPPORTS_NOT = SupportOutput(verdict=1), SupportOutput(verdict=0)
Answer = TypeVar("Answer", bound=BaseModel)


class Questions:
    """Asks a judge what test sets need. Every method raises `JudgementError`.

    Args:
        prompts: of `testset` and `generate`.
        answering: a model that answers the questions, and whose answers the judge compares; None: the judge itself.
    """

    def __init__(
        self, judge: JudgeProtocol, prompts: Mapping[Key, TracedPrompt], answering: JudgeProtocol | None = None
    ) -> None:
        self.judge, self.prompts, self.answering = judge, prompts, answering or judge
        self.window = Window(self.answering)

    async def made(self, prompt: str, contexts: Sequence[str]) -> MadeOutput:
        """A question and its answer from contexts.

        Args:
            prompt: attribute of the prompt.
        """
        return await self._ask(self.judge, "testset", prompt, MadeInput(contexts=list(contexts)), MadeOutput)

    async def answer(self, question: str, contexts: Sequence[str], seed: str = "") -> str | None:
        """The answer from contexts, None if they do not hold it.

        Args:
            contexts: the ones that matter first: the last ones are left out if they do not fit into the window.
            seed: of the order in which they are shown; empty: as given.
        """
        shown = self._fitting(question, contexts)
        if seed:
            shown = random.Random(seed).sample(shown, len(shown))
        asked = _contexts(question, shown)
        answer = await self._ask(self.answering, "generate", "answer_prompt", asked, ReferenceOutput)
        return answer.answer.strip() if answer.answerable and not is_blank(answer.answer) else None

    async def known(self, question: str) -> str | None:
        """The answer from memory, None if the judge does not know it."""
        asked = KnownInput(user_input=question)
        answer = await self._ask(self.answering, "testset", "known_prompt", asked, KnownOutput)
        return answer.answer.strip() if answer.known and not is_blank(answer.answer) else None

    async def agreement(self, question: str, reference: str, answer: str) -> float:
        """The probability that two answers say the same, [0, 1]."""
        shown = AgreeInput(user_input=question, reference=reference, answer=answer)
        prompt = self.prompts["testset", "agree_prompt"].to_string(shown)
        return await probability(self.judge, prompt, AGREES, DIFFERS)

    async def support(self, question: str, answer: str, context: str) -> float:
        """The probability that a context supports the answer, [0, 1]."""
        shown = SupportInput(user_input=question, answer=answer, context=context)
        prompt = self.prompts["generate", "support_prompt"].to_string(shown)
        return await probability(self.judge, prompt, SUPPORTS, SUPPORTS_NOT)

    async def _ask(self, judge: JudgeProtocol, owner: str, prompt: str, shown: BaseModel, kind: type[Answer]) -> Answer:
        answer = (await judge.opinion(self.prompts[owner, prompt].to_string(shown), kind)).answer
        assert isinstance(answer, kind)
        return answer

    def _fitting(self, question: str, contexts: Sequence[str]) -> list[str]:
        """The first contexts that fit into the window, at least one."""
        prompt = self.prompts["generate", "answer_prompt"].to_string(_contexts(question, []))
        free = self.window.room(prompt)
        room = free - min(ANSWER_TOKENS, free // 2)
        fitting: list[str] = []
        for context in contexts:
            room -= self.window.tokens(context) + ITEM_TOKENS
            if fitting and room < 0:
                break
            fitting.append(context)
        return fitting


def _contexts(question: str, contexts: Sequence[str]) -> Any:
    return AnswerInput(user_input=question, contexts=list(contexts))
