"""One answer that a server writes, and that our own grammar and budget check token by token.

A server is sent the grammar of an answer, and limits that are about right. What it writes is accepted as far as our own
engine would have written it; from there on the next request asks for the rest. So an answer that was cut by its limits,
or whose text a server splits into other tokens, is the same as with our own engine.
"""

import math
from collections import abc
from contextlib import aclosing
from dataclasses import dataclass

from rag_evaluator.errors import JudgementError
from rag_evaluator.judge.encoding.sequence import FreeText, Sequence, Vocabulary
from rag_evaluator.judge.engines.vllm.dialects import Continuation, Dialect, WrittenToken
from rag_evaluator.judge.grammar.tree import after, parse, until
from rag_evaluator.judge.protocol import Reply, Request

FEW = 128  # allowed tokens whose log probabilities are worth a request of their own
MOST_REFUSED = 8  # in one place; llama.cpp lets bytes pass that are no UTF-8
NO_TOKENS: frozenset[int] = frozenset()


async def write(dialect: Dialect, vocabulary: Vocabulary, request: Request) -> Reply:
    """The answer to a request. Raises `JudgementError`, `JudgeLostError`."""
    if request.grammar is None:
        return await _free(dialect, FreeText(request, vocabulary))
    answer = _Answer(dialect, Sequence(request, vocabulary))
    while not answer.ended():
        await answer.extend()
    reply = answer.sequence.reply()
    if isinstance(reply, JudgementError):
        raise reply
    return reply


async def _free(dialect: Dialect, text: FreeText) -> Reply:
    """A text without a grammar, asked for again where a server tells only a part of it."""
    asked = text.request
    while not text.done:
        before = len(text.tokens)
        continuation = Continuation(
            [*asked.input_ids, *text.tokens],
            None,
            0,
            asked.max_new_tokens - before,
            asked.temperature,
            (asked.seed + before) % 2**31,
            stop=text.stop,
        )
        async with aclosing(dialect.write(continuation)) as tokens:
            async for written in tokens:
                _check_token(written, text.vocabulary)
                text.push(written.token)
                if text.done:
                    break
        text.complete = text.complete or len(text.tokens) == before  # it ends with a token that is not shown
    reply = text.reply()
    assert isinstance(reply, Reply)
    return reply


def _check_token(written: WrittenToken, vocabulary: Vocabulary) -> None:
    if written.token >= vocabulary.size:
        raise JudgementError(f"the server wrote token {written.token}, which judge.model does not have")


@dataclass(frozen=True)
class _Digit:
    """A digit whose log probabilities the server has not given.

    Attributes:
        place: among the confidences.
        allowed: tokens that could have been there.
    """

    place: int
    token: int
    input_ids: list[int]
    allowed: list[int]


class _Answer:
    """An answer, as far as it is written."""

    def __init__(self, dialect: Dialect, sequence: Sequence) -> None:
        self.dialect, self.sequence, self.request = dialect, sequence, sequence.request
        self._unweighed: list[_Digit] = []
        self._refused: set[int] = set()  # tokens that the server wrote here although our grammar does not allow them

    @property
    def input_ids(self) -> list[int]:
        return [*self.request.input_ids, *self.sequence.tokens]

    def ended(self) -> bool:
        """Whether the answer is whole or its budget is used; forced tokens are added here, without the server."""
        while forced := self.sequence.next_forced():
            self.sequence.push(forced[0])
        return self.sequence.done

    async def extend(self) -> None:
        """Add at least one token."""
        allowed, banned = self._within_budget()
        if len(allowed) == 1:
            self.sequence.push(allowed.pop())
            return
        before, refused = len(self.sequence.tokens), len(self._refused)
        continuation = self._continuation(banned | self._refused)
        if continuation is not None:
            async with aclosing(self.dialect.write(continuation)) as tokens:
                async for written in tokens:
                    _check_token(written, self.sequence.vocabulary)
                    if not self._accept(written, banned):
                        break
        await self._weigh_later()  # the server is free again
        if len(self.sequence.tokens) > before:
            self._refused.clear()
        elif continuation is None or len(self._refused) == refused or refused >= MOST_REFUSED:
            await self._choose(allowed or set(self.sequence.mask().nonzero().flatten().tolist()))

    def _continuation(self, banned: frozenset[int]) -> Continuation | None:
        """What the server is asked; None in the middle of a character, where no grammar of texts can begin."""
        sequence = self.sequence
        try:
            text = sequence.text_since(sequence.began).decode()
        except UnicodeDecodeError:
            return None
        grammar = after(parse(sequence.grammar), text)
        assert grammar is not None, text
        budget = self.request.budget
        most = sequence.spare_length - (0 if sequence.limited else max(budget.reserve_length - 1, 0))
        return Continuation(
            self.input_ids,
            until(grammar, sequence.vocabulary.markers),
            budget.string_tokens,
            max(most, 1),
            self.request.temperature,
            (self.request.seed + len(sequence.tokens)) % 2**31,
            banned,
        )

    def _within_budget(self) -> tuple[set[int], frozenset[int]]:
        """Tokens that grammar and budget allow next, and those that only the grammar allows.

        None of both where nothing is limited and nobody need know.
        """
        if not self.sequence.limited:
            return set(), NO_TOKENS
        mask = self.sequence.mask()
        left = self.sequence.within_budget(mask)
        allowed, banned = left.nonzero().flatten().tolist(), (mask & ~left).nonzero().flatten().tolist()
        return set(allowed), frozenset(banned)

    def _accept(self, written: WrittenToken, asked: frozenset[int]) -> bool:
        """Add a token if it is the one that our own engine would have chosen.

        Args:
            asked: tokens that the request bans.
        """
        sequence, token = self.sequence, written.token
        forced = sequence.next_forced()
        if forced or sequence.done:
            if not forced or forced[0] != token:
                return False
            sequence.push(token)
            return True
        if not sequence.allows(token):
            self._refused.add(token)
            return False
        limited = sequence.limited
        allowed, banned = self._within_budget()
        if (limited and token not in allowed) or any(map(sequence.allows, asked - banned)):
            return False
        self._weigh(written)
        sequence.push(token)
        return True

    def _weigh(self, written: WrittenToken) -> None:
        """Keep the confidence of a digit, or that the server has to be asked for it."""
        sequence, logprobs = self.sequence, written.logprobs
        if not sequence.is_weighed(written.token):
            return
        allowed: list[int] = sequence.mask().nonzero().flatten().tolist()
        known = {token: logprobs[token] for token in allowed if token in logprobs}
        if written.token not in known or (not self.dialect.masked and len(known) < len(allowed) <= FEW):
            self._unweighed.append(_Digit(len(sequence.confidence), written.token, self.input_ids, allowed))
            sequence.confidence.append(math.nan)
        else:
            sequence.confidence.append(sequence.share(written.token, known))

    async def _weigh_later(self) -> None:
        for digit in self._unweighed:
            logprobs = await self._logprobs(digit.input_ids, digit.allowed)
            known = dict(zip(digit.allowed, logprobs, strict=True))
            self.sequence.confidence[digit.place] = self.sequence.share(digit.token, known)
        self._unweighed.clear()

    async def _logprobs(self, input_ids: list[int], candidates: list[int]) -> abc.Sequence[float]:
        """Raises `JudgementError` where the server does not tell all of them."""
        logprobs = await self.dialect.next_logprobs(input_ids, candidates)
        if any(map(math.isnan, logprobs)):
            raise JudgementError("the server gave no log probabilities of some tokens")
        return logprobs

    async def _choose(self, allowed: set[int]) -> None:
        """Add the likeliest of a few tokens."""
        if not 0 < len(allowed) <= FEW:
            raise JudgementError("the server wrote what the grammar of the answer does not allow")
        candidates = sorted(allowed)
        logprobs = await self._logprobs(self.input_ids, candidates)
        best = max(range(len(candidates)), key=lambda place: logprobs[place])
        self._weigh(WrittenToken(candidates[best], dict(zip(candidates, logprobs, strict=True))))
        self.sequence.push(candidates[best])
