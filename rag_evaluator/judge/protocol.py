"""What a judge is to everything that asks one. Standard library and pydantic only.

`JudgementError` concerns one question: a missing score. `JudgeLostError` means that no question can be answered any
more: it stops the run and never becomes a missing score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel

Draw = tuple[int, int]
"""(repeat, occurrence): tells equal questions apart when answers are sampled; equal draws give equal answers."""


@dataclass(frozen=True)
class Capabilities:
    """What a judge, or the engine behind it, can do.

    Attributes:
        in_flight: questions that keep it busy: the size of its batches.
        greedy: whether equal questions get equal answers whatever their draw; None: not known.
        probabilities: whether `choose` works.
        confidence: whether `Opinion.confidence` is filled.
        counts_tokens: whether `count` and `room` work.
        same_bytes: when two runs give the same answers: whatever the batches, in equal batches only, or not surely.
        window: tokens of prompt and answer together that it can read; None: not known.
    """

    in_flight: int
    greedy: bool | None
    probabilities: bool
    confidence: bool
    counts_tokens: bool
    same_bytes: Literal["always", "same batches", "no"]
    window: int | None = None


@dataclass(frozen=True)
class Opinion:
    """A validated answer with what it cost.

    Attributes:
        answer: instance of the response model.
        confidence: probability of each verdict or rating in it, in order.
        prompt_tokens: tokens of the prompt, special tokens included; 0 where the judge has no tokenizer.
        generated_tokens: tokens of the answer.
        thinking: what the judge thought before it answered; None if it does not think.
        thinking_tokens: tokens of the thought.
        cut: what of the answer ended at its limit: "string", "list", "thinking".
    """

    answer: BaseModel
    confidence: tuple[float, ...] = ()
    prompt_tokens: int = 0
    generated_tokens: int = 0
    thinking: str | None = None
    cut: frozenset[str] = frozenset()
    thinking_tokens: int = 0


class Shares(dict[str, float]):
    """The probability of each option, with the thought before it.

    Attributes:
        thinking: as in `Opinion`.
        thinking_tokens: as in `Opinion`.
        cut: as in `Opinion`; "thinking" only.
    """

    def __init__(
        self,
        shares: Mapping[str, float],
        thinking: str | None = None,
        thinking_tokens: int = 0,
        cut: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(shares)
        self.thinking, self.thinking_tokens, self.cut = thinking, thinking_tokens, cut


@runtime_checkable
class JudgeProtocol(Protocol):
    """A judge that can be asked, any number of questions at a time, on one event loop."""

    @property
    def signature(self) -> str | None:
        """All that answers depend on beside the question; None: answers are never used by another run."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def about(self) -> Mapping[str, str]:
        """How it is run, for people: the path in use and why."""

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        """A valid answer. Raises `JudgementError` where there is none, `JudgeLostError` where there will be no more."""

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        """The probability of each option as the answer, summing to 1; a `Shares` where there was a thought.

        Raises as `opinion` does.
        """

    def count(self, text: str) -> int:
        """Tokens of a text on its own."""

    def room(self, prompt: str) -> int:
        """Tokens that the judge can read after a prompt and the longest thought, negative where these do not fit."""

    async def aclose(self) -> None:
        """Free memory and end servers; nothing may be asked afterwards."""


@runtime_checkable
class JudgeSource(Protocol):
    """A judge before it is loaded."""

    @property
    def signature(self) -> str | None:
        """As the loaded judge has it."""

    @property
    def capabilities(self) -> Capabilities | None:
        """As far as known before loading."""

    @property
    def about(self) -> Mapping[str, Any]:
        """For the manifest: how the judge is run, as far as known."""

    def check(self) -> None:
        """Everything that can fail before loading. Raises `ModelError`."""

    async def load(self) -> JudgeProtocol:
        """The judge, loaded once. Raises `ModelError`."""
