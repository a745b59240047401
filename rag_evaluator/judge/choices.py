"""Asks a judge which of some answers it would give; one without probabilities is asked for its answer instead."""

import math
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.protocol import Draw, JudgeProtocol

DECIMALS = 6
NEVER = math.exp(-30)  # stands for a probability of 0


class Option(str):
    """The text of an answer that can be chosen, with the answer.

    Attributes:
        answer: what a judge without probabilities would have to say.
    """

    answer: BaseModel

    def __new__(cls, answer: BaseModel) -> "Option":
        option = super().__new__(cls, answer.model_dump_json(indent=4))
        option.answer = answer
        return option


async def shares_of(
    judge: JudgeProtocol, prompt: str, options: Sequence[str], draw: Draw = (0, 0)
) -> Mapping[str, float]:
    """The probability of each option: 1 for the one that the judge says where it gives no probabilities.

    Raises `JudgementError`.
    """
    answers = [option.answer for option in options if isinstance(option, Option)]
    if judge.capabilities.probabilities or len(answers) < len(options):
        return await judge.choose(prompt, options, draw)
    said = (await judge.opinion(prompt, type(answers[0]), draw)).answer
    if said not in answers:
        raise JudgementError(f"the judge answered {said!r:.80}, which is none of the choices")
    return {option: float(said == answer) for option, answer in zip(options, answers, strict=True)}


async def log_odds(judge: JudgeProtocol, prompt: str, answer: BaseModel, other: BaseModel) -> float:
    """How much likelier one answer is than the other, as a logarithm: 0 where both are as likely, at most 30.

    Raises `JudgementError`.
    """
    options = Option(answer), Option(other)
    shares = await shares_of(judge, prompt, options)
    return log_ratio(*(shares[option] for option in options))


async def probability(judge: JudgeProtocol, prompt: str, answer: BaseModel, other: BaseModel) -> float:
    """The probability of the first of two answers, [0, 1]. Raises `JudgementError`."""
    return round(sigmoid(await log_odds(judge, prompt, answer, other)), DECIMALS)


def log_ratio(one: float, other: float) -> float:
    """The log odds of two probabilities."""
    return round(math.log(max(one, NEVER) / max(other, NEVER)), DECIMALS)


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
