"""Which of some answers a judge would give: probabilities, or the answer of a judge that gives none."""

import math
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.protocol import Draw, JudgeProtocol

DECIMALS = 6
NEVER = math.exp(-30)  # in place of a probability of 0
Ids = tuple[int, ...]


class Option(str):
    """The text of an answer that can be chosen, or the beginning of it, with the answer.

    Args:
        answer: what a judge without probabilities would have to say.
        first: the fields that the choice is about, the first ones of the answer: the text ends after them, and what
            follows is the judge's own. None given: all.
    """

    answer: BaseModel
    first: frozenset[str]

    def __new__(cls, answer: BaseModel, *first: str) -> "Option":
        text = answer.model_dump_json(indent=4, include=set(first) or None)
        option = super().__new__(cls, text.removesuffix("\n}") + "," if first else text)
        option.answer, option.first = answer, frozenset(first)
        return option

    def is_chosen_by(self, answer: BaseModel) -> bool:
        """Whether an answer makes this choice."""
        if not self.first:
            return answer == self.answer
        return all(getattr(answer, name) == getattr(self.answer, name) for name in self.first)


async def shares_of(
    judge: JudgeProtocol, prompt: str, options: Sequence[str], draw: Draw = (0, 0)
) -> Mapping[str, float]:
    """The probability of each option: 1 for the one that the judge says where it gives no probabilities.

    Raises `JudgementError`.
    """
    known = [option for option in options if isinstance(option, Option)]
    if judge.capabilities.probabilities or len(known) < len(options):
        return await judge.choose(prompt, options, draw)
    answer = (await judge.opinion(prompt, type(known[0].answer), draw)).answer
    chosen = {option: option.is_chosen_by(answer) for option in known}
    if not any(chosen.values()):
        raise JudgementError(f"the judge answered {answer!r:.80}, which is none of the choices")
    return {option: float(is_chosen) for option, is_chosen in chosen.items()}


async def log_odds(judge: JudgeProtocol, prompt: str, answer: BaseModel, other: BaseModel, *first: str) -> float:
    """How much likelier one answer is than the other, as a logarithm: 0 where both are as likely, at most 30.

    Args:
        first: fields, see `Option`, where an answer goes on after its choice.

    Raises `JudgementError`.
    """
    options = Option(answer, *first), Option(other, *first)
    shares = await shares_of(judge, prompt, options)
    return log_ratio(*(shares[option] for option in options))


async def probability(judge: JudgeProtocol, prompt: str, answer: BaseModel, other: BaseModel) -> float:
    """The probability of the first of two answers, [0, 1]. Raises `JudgementError`."""
    return round(sigmoid(await log_odds(judge, prompt, answer, other)), DECIMALS)


def log_ratio(first: float, second: float) -> float:
    """The log odds of two probabilities."""
    return round(math.log(max(first, NEVER) / max(second, NEVER)), DECIMALS)


def sigmoid(log_odds: float) -> float:
    """The probability that belongs to log odds."""
    return 1 / (1 + math.exp(-log_odds))


def labels_of(options: Sequence[str]) -> list[str]:
    """A short name of each option: of answers the values in which they differ, of others their text."""
    answers = [option.answer.model_dump(mode="json") for option in options if isinstance(option, Option)]
    if len(answers) < len(options):
        return list(options)
    names = [name for name in answers[0] if any(answer[name] != answers[0][name] for answer in answers)]
    return [", ".join(str(answer[name]) for name in names) for answer in answers]
