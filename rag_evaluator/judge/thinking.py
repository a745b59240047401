"""Thoughts before answers: free text first, then the same prompt with the thought, closed, for the answer.

The engine sees two plain requests, so every engine that takes token ids can think. What a thought says is never parsed.
"""

from dataclasses import dataclass, field

from rag_evaluator.config_sections import JudgeConfig
from rag_evaluator.errors import ModelError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.engine.protocol import Engine
from rag_evaluator.judge.grammar.budget import Budget
from rag_evaluator.judge.requests import Reply, Request
from rag_evaluator.models.event_loop import SingleFlight

CUT = frozenset({"thinking"})
Ids = tuple[int, ...]


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


class Thinker:
    """Asks a model for its thoughts; equal questions once.

    Args:
        engine: one that takes token ids, and whose encoder opens thoughts.
        config: of the judge.

    Raises `ModelError` if the engine's prompts open no thought.
    """

    def __init__(self, engine: Engine, config: JudgeConfig) -> None:
        if engine.encoder.thoughts is None:
            raise ModelError("judge.thinking: this judge cannot be made to think. Set judge.thinking: 'off'.")
        self.engine, self.config, self.format = engine, config, engine.encoder.thoughts
        self._replies = SingleFlight[tuple[str, int], Reply]()

    @property
    def reserve(self) -> int:
        """Tokens of the longest thought with what closes it."""
        return self.config.thinking_tokens + max(len(self.format.close), len(self.format.close_cut))

    async def think(self, input_ids: Ids, seed: int, group: str) -> Thought:
        """The thought about a prompt.

        Args:
            input_ids: of the prompt.
            seed: of the answer; the thought has random numbers of its own.
            group: see `Request`.

        Raises `JudgementError`, `JudgeLostError`.
        """
        tokens = self.config.thinking_tokens
        sampled = self.config.temperature > 0
        request = Request(
            input_ids=input_ids,
            grammar=None,
            max_new_tokens=tokens,
            budget=Budget(0, 0, 0, tokens, 0),
            temperature=self.config.temperature,
            seed=int(short_digest(f"thought\0{seed}"), 16) % 2**63 if sampled else 0,
            group=group,
            stop=self.format.stop,
        )
        key = (short_digest(repr(input_ids)), request.seed)
        return self._thought(await self._replies.get(key, lambda: self.engine.generate(request)))

    def clear(self) -> None:
        """Forget all thoughts."""
        self._replies.clear()

    def _thought(self, reply: Reply) -> Thought:
        """The reply without what stopped it, nor a token that begins before its end and goes on into it."""
        ids, stop = list(reply.token_ids), self.format.stop
        if ids and ids[-1] in stop.token_ids:
            ids.pop()
        decode = self.engine.encoder.decode
        text = decode(ids)
        if (place := text.find(stop.text)) >= 0:
            while len(text) > place:
                ids.pop()
                text = decode(ids)
        close = self.format.close if reply.complete else self.format.close_cut
        return Thought(text, len(ids), (*ids, *close), frozenset() if reply.complete else CUT)
