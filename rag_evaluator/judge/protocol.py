"""What a judge is to everything that asks one: prompts, opinions, choices; and what an engine is asked.

`JudgementError` concerns one question: a missing score. `JudgeLostError` means that no question can be answered any
more: it stops the run and never becomes a missing score.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ValidationError

from rag_evaluator.config import JudgeConfig
from rag_evaluator.errors import BudgetError, JudgementError
from rag_evaluator.files import Json, short_digest

from .grammar.answers import row_of
from .grammar.cut import part_of
from .grammar.faults import Schema
from .grammar.lark import Budget

ENDLESS = 10**9
Draw = tuple[int, int]
"""(repeat, occurrence): tells equal questions apart when answers are sampled; equal draws give equal answers."""
DECIMALS = 6
NEVER = math.exp(-30)  # in place of a probability of 0
Ids = tuple[int, ...]


@dataclass(frozen=True)
class Capabilities:
    """What a judge, or the engine behind it, can do.

    Attributes:
        in_flight: questions that keep it busy: the size of its batches.
        greedy: whether equal questions get equal answers whatever their draw; None: not known.
        probabilities: whether `choose` works.
        window: tokens of prompt and answer together that it can read; None: not known, as nothing counts tokens.
        at_first: scores to begin with where a batch takes minutes, so that the first one comes early; None: all.
    """

    in_flight: int
    greedy: bool | None
    probabilities: bool
    window: int | None = None
    at_first: int | None = None

    @property
    def counts_tokens(self) -> bool:
        """Whether `count` and `room` work."""
        return self.window is not None


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
        cut: what of the answer ended at its limit: "reason", "string" (another one), "list", "thinking".
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

    thinking: str | None = None
    thinking_tokens: int = 0
    cut: frozenset[str] = frozenset()


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


class WithoutTokens:
    """What judges have in common that know nothing of tokens."""

    signature: str | None = None

    @property
    def about(self) -> Mapping[str, str]:
        return {}

    def count(self, text: str) -> int:
        raise NotImplementedError("this judge has no tokenizer: see capabilities.counts_tokens")

    def room(self, prompt: str) -> int:
        raise NotImplementedError("this judge has no tokenizer: see capabilities.counts_tokens")

    async def aclose(self) -> None:
        """Whoever made the LLM closes it."""


def common_beginning(sequences: Sequence[Ids]) -> Ids:
    """The token ids that all of the sequences begin with."""
    # all others are between them, and begin as both do
    first = min(sequences)
    last = max(sequences)
    parted = (i for i, (left, right) in enumerate(zip(first, last, strict=False)) if left != right)
    return first[: next(parted, len(first))]


class PromptText(str):
    """A prompt with what it was made from; ragas metrics hand it to the judge like any `str`.

    Attributes:
        data: the prompt's input model, from which the judge reads what the answer must repeat.
        name: the prompt's attribute in its metric, for instance `nli_statement_prompt`.
        source: digest of instruction and examples, the same for every sample.
        values: JSON of `data` if the text can be put together again from that and the prompt's frames; else None.
        examples: JSON of input and output of each, as its pack has them.
    """

    data: BaseModel | None
    name: str
    source: str
    values: Json | None
    examples: Sequence[Json]

    def __new__(
        cls,
        text: str,
        data: BaseModel | None = None,
        name: str = "prompt",
        source: str = "",
        values: Json | None = None,
        examples: Sequence[Json] = (),
    ) -> "PromptText":
        prompt = super().__new__(cls, text)
        prompt.data = data
        prompt.name = name
        prompt.source = source
        prompt.values = values
        prompt.examples = examples
        return prompt

    @property
    def group(self) -> str:
        """The same for prompts that begin with the same words."""
        return f"{self.name}:{self.source}"


@dataclass(frozen=True)
class Request:
    """One question to the model: token ids and the grammar the answer must obey.

    Attributes:
        input_ids: prompt tokens, without padding.
        grammar: llguidance grammar of the answer; None: free text, which ends at `stop`.
        rest: the grammar of what follows, given the text that was written under `grammar`; None where nothing follows.
        budget: limits of strings, and of the whole answer.
        temperature: 0 is greedy.
        seed: of this request's own random numbers; unused when greedy.
        group: requests of the same group are likely to begin with the same tokens.
        stop: what ends a free text.
        schema: what the grammar allows, as JSON schema.
    """

    input_ids: Ids = field(repr=False)
    grammar: str | None = field(repr=False)
    budget: Budget
    temperature: float = 0.0
    seed: int = 0
    group: str = ""
    rest: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    stop: "ThoughtFormat | None" = field(default=None, repr=False)
    schema: Schema = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class ThoughtFormat:
    """How a thought ends that the end of a prompt has opened.

    Attributes:
        text: what ends it, in one token or in several.
        token_ids: tokens that end it, too: that of `text`, if it has one, and control tokens.
        close: token ids between a thought that has come to its end and the answer, the end of the thought included.
        close_cut: the same of a thought that was cut.
    """

    text: str
    token_ids: frozenset[int]
    close: Ids
    close_cut: Ids


@dataclass(frozen=True)
class Reply:
    """What the model wrote.

    Attributes:
        text: the answer, decoded from the tokens' bytes.
        token_ids: the generated tokens, as 32-bit numbers since thousands of replies are remembered.
        complete: whether the grammar was satisfied, or a free text came to its stop, with which `token_ids` may end;
            False when the budget ended first.
        confidence: probability of each verdict or rating among those that were allowed, in the order of the answer.
        cut: what ended at its limit: "reason", "string".
    """

    text: str
    token_ids: "array[int]" = field(repr=False)
    complete: bool
    confidence: tuple[float, ...] = ()
    cut: frozenset[str] = frozenset()


def seed_of(config: JudgeConfig, prompt: str, draw: Draw) -> int:
    """The seed of an answer; 0 where it is greedy."""
    if config.temperature == 0:
        return 0
    repeat, occurrence = draw
    number = f"{repeat}.{occurrence}" if repeat else f"{occurrence}"
    return int(short_digest(f"{config.seed}\0{number}\0{prompt}"), 16) % 2**63


def validated(reply: Reply, response_model: type[BaseModel], schema: Schema, limit: str) -> BaseModel:
    """The answer that a reply is; of one that was cut its list, where little of it is lacking.

    Args:
        schema: of the answer.
        limit: what to say of an answer that was cut.

    Raises `JudgementError`, `BudgetError` for an answer that was cut.
    """
    text = reply.text.strip()
    counted = row_of(response_model).counted
    if "string" in reply.cut and counted and response_model.model_fields[counted].annotation is str:
        raise BudgetError(limit)  # a text that counts is used whole or not at all
    try:
        if reply.complete:
            return response_model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise JudgementError(f"the answer does not fit {response_model.__name__}: {first['msg']}") from error
    part, is_enough = part_of(text, response_model, schema)
    if part is None or not is_enough:
        raise BudgetError(limit, part)
    return part


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
        option.answer = answer
        option.first = frozenset(first)
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
