"""Probabilities of options: those of the next token, unless options share their first tokens."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence

from rag_evaluator.judge.requests import common_beginning

Ids = tuple[int, ...]
NextLogprobs = Callable[[Ids, Sequence[int]], Awaitable[Sequence[float]]]


async def probabilities(prompt: Ids, options: Sequence[Ids], next_logprobs: NextLogprobs) -> list[float]:
    """The probability of each option as what follows a prompt, in order; they sum to 1.

    An option's probability is the product, over the places where options differ, of its branch's share among the
    branches there; NaN where the model gives no number. Where an option ends and another continues, the branch of the
    first is everything that does not continue the other.

    Args:
        prompt: token ids.
        options: their token ids, all different.
        next_logprobs: log probabilities of candidates for the token after a sequence.
    """
    shares = [1.0] * len(options)

    async def fork(numbers: Sequence[int]) -> None:
        """Share out what these options have in common among the branches where they differ."""
        shared = common_beginning([options[number] for number in numbers])
        branches: dict[int, list[int]] = {}  # next token, or -1 where the option ends
        for number in numbers:
            option = options[number]
            branches.setdefault(option[len(shared)] if len(option) > len(shared) else -1, []).append(number)
        candidates = [token for token in branches if token >= 0]
        logprobs = await next_logprobs(prompt + shared, candidates)
        weights = {token: math.exp(logprob) for token, logprob in zip(candidates, logprobs, strict=True)}
        if -1 in branches:
            weights[-1] = 1.0 - min(sum(weights.values()), 1.0)
        total = sum(weights.values())
        for token, members in branches.items():
            share = 1 / len(branches) if total == 0 else weights[token] / total
            for number in members:
                shares[number] *= share
        await asyncio.gather(*(fork(members) for members in branches.values() if len(members) > 1))

    if len(options) > 1:
        await fork(range(len(options)))
    return shares
