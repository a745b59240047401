"""What vLLM may write next, by our own answers: grammar, budget, rests and forced text are those of every engine.

vLLM asks a back end for the grammar of each request, and the grammar for bits before each token. In this process that
back end can be ours. Its interfaces are `StructuredOutputBackend` and `StructuredOutputGrammar`; what only speculative
decoding calls is left out.
"""

import itertools
from typing import Any

import llguidance.torch
import torch

from rag_evaluator.judge.encoding.sequence import Sequence as Answer
from rag_evaluator.judge.encoding.sequence import Vocabulary, to_bits


class Mask:
    """One answer that vLLM writes.

    Attributes:
        weighed: of each token that has a confidence its place, and the tokens that were allowed there.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.weighed: dict[int, list[int]] = {}

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Add tokens that vLLM has chosen; False if one of them is not allowed."""
        answer = self.answer
        for token in tokens:
            if answer.done:
                return True  # the token that ends a text
            if not answer.allows(token):
                return False
            if not answer.next_forced() and answer.is_weighed(token):
                self.weighed[len(answer.tokens)] = answer.mask().nonzero().flatten().tolist()
            answer.push(token)
        return True

    def fill_bitmask(self, bitmask: torch.Tensor, index: int) -> None:
        """Write which tokens are allowed next into a row of int32 `(rows, words)`."""
        answer = self.answer
        words = bitmask.shape[1]
        forced = answer.next_forced()[:1]
        if answer.done or forced:
            only = torch.zeros(answer.vocabulary.size, dtype=torch.bool)
            only[forced or [answer.vocabulary.engine.eos_token]] = True
            bitmask[index] = to_bits(only, words)
        elif answer.limited:
            bitmask[index] = to_bits(answer.within_budget(answer.mask()), words)
        else:
            llguidance.torch.fill_next_token_bitmask(answer.matcher, bitmask, index)

    def is_terminated(self) -> bool:
        """Whether vLLM may write what it likes: never, an answer that is done allows nothing but its end."""
        return False


class Masks:
    """The answers that vLLM is to write, by what it takes for their grammar."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._numbers = itertools.count()
        self._masks: dict[str, Mask] = {}

    def add(self, mask: Mask) -> str:
        """Keep an answer until vLLM asks for it, by the grammar that is returned."""
        grammar = f'start: "{next(self._numbers)}"'  # vLLM checks that it is one
        self._masks[grammar] = mask
        return grammar

    def compile_grammar(self, request_type: Any, grammar: str, **_: Any) -> Mask:
        """The answer that is meant by a grammar."""
        return self._masks.pop(grammar)

    def allocate_token_bitmask(self, rows: int) -> torch.Tensor:
        """int32 `(rows, words)`."""
        return llguidance.torch.allocate_token_bitmask(rows, self.vocabulary.engine.vocab_size)

    def destroy(self) -> None:
        """Forget the answers that vLLM has not asked for."""
        self._masks.clear()
