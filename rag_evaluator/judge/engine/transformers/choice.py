"""Probabilities of options from logits: one pass decides, unless options share their first tokens."""

from collections.abc import Callable, Sequence

import torch

from rag_evaluator.judge.requests import common_beginning

Ids = tuple[int, ...]


def probabilities(
    prompts: Sequence[Ids], options: Sequence[Sequence[Ids]], next_logits: Callable[[Sequence[Ids]], torch.Tensor]
) -> list[list[float]]:
    """For each prompt, the probability of each of its options, in order; they sum to 1.

    An option's probability is the product, over the places where options part, of its branch's share among the branches
    there; NaN where the logits are. Where an option ends and another goes on, its branch is whatever the other is not.

    Args:
        prompts: token ids.
        options: for each prompt, its options' token ids, all different.
        next_logits: `(n, vocab)` logits after each of n token sequences.
    """
    shares = [[1.0] * len(choices) for choices in options]
    forks: list[tuple[int, Ids]] = [(index, common_beginning(options[index])) for index in range(len(prompts))]
    while forks:
        logits = next_logits([prompts[index] + shared for index, shared in forks])
        deeper: list[tuple[int, Ids]] = []
        for (index, shared), row in zip(forks, torch.softmax(logits.double().cpu(), dim=-1), strict=True):
            branches: dict[int, list[int]] = {}  # next token, or -1 where the option ends
            for number, option in enumerate(options[index]):
                if option[: len(shared)] == shared:
                    branches.setdefault(option[len(shared)] if len(option) > len(shared) else -1, []).append(number)
            weights = {token: float(row[token]) for token in branches if token >= 0}
            if -1 in branches:
                weights[-1] = 1.0 - min(sum(weights.values()), 1.0)
            total = sum(weights.values())
            for token, numbers in branches.items():
                share = 1 / len(branches) if total == 0 else weights[token] / total
                for number in numbers:
                    shares[index][number] *= share
                if len(numbers) > 1:
                    deeper.append((index, common_beginning([options[index][number] for number in numbers])))
        forks = deeper
    return shares
