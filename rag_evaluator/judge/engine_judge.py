"""The judge that asks a local model: question to request, reply to validated answer, each asked once."""

import asyncio
import functools
import math
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from rag_evaluator.config import JudgeConfig
from rag_evaluator.errors import JudgementError, ModelError, PromptTooLongError
from rag_evaluator.files import short_digest

from .engines.event_loop import SingleFlight
from .engines.protocol import Engine
from .grammar.lark import Budget, share_out, to_lark, to_lark_after
from .grammar.schema import tighten
from .protocol import (
    ENDLESS,
    Capabilities,
    Draw,
    Ids,
    JudgeProtocol,
    Opinion,
    PromptText,
    Reply,
    Request,
    Shares,
    common_beginning,
    seed_of,
    validated,
)

NextLogprobs = Callable[[Ids, Sequence[int]], Awaitable[Sequence[float]]]


@dataclass(frozen=True)
class Thought:
    """What a model thought about a prompt.

    Attributes:
        text: without what ends it.
        tokens: of the text.
        continuation: token ids of the thought and of what closes it: the answer follows them.
        cut: {"thinking"} if the budget ended it, else empty.
    """

    text: str | None = None
    tokens: int = 0
    continuation: Ids = field(default=(), repr=False)
    cut: frozenset[str] = frozenset()


class EngineJudge:
    """Asks a model under the grammar of the response model; a `JudgeProtocol`.

    Args:
        engine: runs the model.
        config: decoding settings; its model keys are not used.

    Attributes:
        window: tokens of prompt and answer together that the model can read.
        thoughts: how thoughts end; None where there are none.
        reserve: tokens that a thought may take between prompt and answer, with what closes it.

    Raises `ModelError` if the judge shall think and the engine's prompts open no thought.
    """

    signature: str | None = None  # its source knows it: `LazyJudge`

    def __init__(self, engine: Engine, config: JudgeConfig) -> None:
        self.engine = engine
        self.config = config
        self.encoder = engine.encoder
        self.window = engine.capabilities.window or ENDLESS
        self._answers = SingleFlight[Hashable, Any]()  # replies, probabilities
        self._count = functools.lru_cache(maxsize=4096)(self.encoder.count)
        self._continuation = functools.lru_cache(maxsize=1024)(self.encoder.continuation)  # options come again
        self.thoughts = engine.encoder.thoughts if config.thinking == "on" else None
        self.reserve = 0
        if self.thoughts is not None:
            self.reserve = config.thinking_tokens + max(len(self.thoughts.close), len(self.thoughts.close_cut))
        elif config.thinking == "on":
            raise ModelError("judge.thinking: this judge cannot be made to think. Set judge.thinking: 'off'.")

    @property
    def capabilities(self) -> Capabilities:
        return self.engine.capabilities

    @property
    def about(self) -> Mapping[str, str]:
        """How the model is run: `path`, `why` where it is the slow one, `alone` where rows are decoded one by one."""
        return self.engine.about

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        """An answer with its token counts.

        Args:
            prompt: a `PromptText` lets the answer be tied to the prompt's input; a plain `str` does not.
            response_model: what the answer must be.
            draw: tells equal requests apart when sampling.
        """
        asked = self.request(prompt, response_model, draw)
        thought = await self.think(asked.input_ids, asked.seed, asked.group)
        reply = await self._generate(replace(asked, input_ids=asked.input_ids + thought.continuation))
        answer = validated(reply, response_model, asked.schema, asked.budget.limit)
        cut = (reply.cut if reply.complete else reply.cut | {"list"}) | thought.cut
        tokens = len(asked.input_ids), len(reply.token_ids)
        return Opinion(answer, reply.confidence, *tokens, thought.text, cut, thinking_tokens=thought.tokens)

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Shares:
        """The probability of each option as the answer, summing to 1, from the logits after the prompt.

        Raises `PromptTooLongError` if the prompt does not fit the model's window.
        """
        input_ids = tuple(self.encoder.encode(prompt))
        ids = tuple(tuple(self._continuation(str(option))) for option in options)
        if not options or len(set(ids)) < len(ids) or not all(ids):
            raise ValueError(f"options must be different, non-empty texts, got {list(options)!r}")
        if len(input_ids) + self.reserve + max(map(len, ids)) > self.window:
            raise PromptTooLongError(
                f"the prompt with its options does not fit the model's window of {self.window} tokens"
            )
        name = getattr(prompt, "group", "")
        thought = await self.think(input_ids, seed_of(self.config, prompt, draw), name)
        before = input_ids + thought.continuation

        def ask() -> Coroutine[Any, Any, list[float]]:
            return probabilities(before, ids, functools.partial(self.engine.next_logprobs, group=f"choose {name}"))

        shares = await self._answers.get(short_digest(repr((before, ids))), ask)
        if not all(map(math.isfinite, shares)):
            raise JudgementError("the model gave no number for any option (NaN or infinite logits); try another dtype")
        weights = Shares(zip(options, shares, strict=True))
        weights.thinking = thought.text
        weights.thinking_tokens = thought.tokens
        weights.cut = thought.cut
        return weights

    def count(self, text: str) -> int:
        return self.encoder.count(text)

    def room(self, prompt: str) -> int:
        return self.window - len(self.encoder.encode(prompt)) - self.reserve

    async def aclose(self) -> None:
        self._answers.clear()
        await self.engine.aclose()

    def request(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Request:
        """The request as the model gets it. Raises `PromptTooLongError` if it does not fit the model's window."""
        data = prompt.data if isinstance(prompt, PromptText) else None
        schema = tighten(response_model, data, self.config.reasons)
        input_ids = self.encoder.encode(prompt)
        room = self.window - len(input_ids) - self.reserve
        budget = share_out(schema, self.config.max_new_tokens, max(room, 1), self._count)
        if room < budget.needed:
            raise PromptTooLongError(
                f"the prompt with the shortest useful answer does not fit the model's window of {self.window} tokens"
            )
        return Request(
            input_ids=tuple(input_ids),
            grammar=to_lark(schema, self.encoder.answer_prefix),
            rest=functools.partial(to_lark_after, schema) if "x-partition" in schema else None,
            budget=budget,
            temperature=self.config.temperature,
            seed=seed_of(self.config, prompt, draw),
            group=getattr(prompt, "group", ""),
            schema=schema,
        )

    async def think(self, input_ids: Ids, seed: int, group: str) -> Thought:
        """The thought about a prompt; none of a judge that does not think.

        Args:
            input_ids: of the prompt.
            seed: of the answer; the thought has random numbers of its own.
            group: see `Request`.

        Raises `JudgementError`, `JudgeLostError`.
        """
        if self.thoughts is None:
            return Thought()
        tokens = self.config.thinking_tokens
        temperature = self.config.temperature
        stop = self.thoughts
        seed = int(short_digest(f"thought\0{seed}"), 16) % 2**63 if temperature > 0 else 0
        budget = Budget(0, tokens, tokens, 0)
        reply = await self._generate(Request(input_ids, None, budget, temperature, seed, group, stop=stop))
        ids = list(reply.token_ids)
        decode = self.encoder.decode
        if ids and ids[-1] in stop.token_ids:
            ids.pop()
        text = decode(ids)
        place = text.find(stop.text)
        while 0 <= place < len(text):  # a token may begin before the end and go on into it
            ids.pop()
            text = decode(ids)
        close = stop.close if reply.complete else stop.close_cut
        return Thought(text, len(ids), (*ids, *close), frozenset() if reply.complete else frozenset({"thinking"}))

    async def _generate(self, request: Request) -> Reply:
        """The model's answer to a request, asked once."""
        key = (short_digest(repr(request.input_ids)), short_digest(request.grammar or ""), request.seed)
        reply: Reply = await self._answers.get(key, lambda: self.engine.generate(request))
        return reply


def engine_of(judge: JudgeProtocol) -> Engine | None:
    """The engine behind a judge; None for a ragas or LangChain LLM."""
    return judge.engine if isinstance(judge, EngineJudge) else None


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
