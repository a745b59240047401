"""What goes into the judge and what comes out: prompt texts, requests, replies."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from rag_evaluator.judge.grammar.lark import Budget


def common_beginning(sequences: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The token ids that all of the sequences begin with."""
    first = min(sequences, key=len)
    for sequence in sequences:
        parted = (i for i, (left, right) in enumerate(zip(first, sequence, strict=False)) if left != right)
        first = first[: next(parted, len(first))]
    return first


class PromptText(str):
    """A prompt with what it was made from; ragas metrics hand it to the judge like any `str`.

    Attributes:
        data: the prompt's input model, from which the judge reads what the answer must repeat.
        name: the prompt's attribute in its metric, for instance `nli_statement_prompt`.
        language: language of instruction and examples.
        source: digest of instruction and examples, the same for every sample.
        values: JSON of `data` if the text can be put together again from that and the prompt's frames; else None.
    """

    data: BaseModel | None
    name: str
    language: str
    source: str
    values: Mapping[str, Any] | None

    def __new__(
        cls,
        text: str,
        data: BaseModel | None = None,
        name: str = "prompt",
        language: str = "english",
        source: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> "PromptText":
        prompt = super().__new__(cls, text)
        prompt.data, prompt.name, prompt.language, prompt.source = data, name, language, source
        prompt.values = values
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
        max_new_tokens: tokens that the model may choose; those that the grammar forces do not count.
        budget: limits of strings and lists, and of the whole answer.
        temperature: 0 is greedy.
        seed: of this request's own random numbers; unused when greedy.
        group: requests of the same group are likely to begin with the same tokens.
        schema: JSON schema of the answer, for engines that take no grammar.
        stop: what ends a free text.
    """

    input_ids: tuple[int, ...] = field(repr=False)
    grammar: str | None = field(repr=False)
    max_new_tokens: int
    budget: Budget
    temperature: float = 0.0
    seed: int = 0
    group: str = ""
    rest: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    stop: "TextEnd | None" = field(default=None, repr=False)


@dataclass(frozen=True)
class TextEnd:
    """What ends a free text, whichever comes first.

    Attributes:
        text: anywhere in the text, in one token or in several.
        token_ids: tokens that end the text: that of `text`, if it has one, and control tokens.
    """

    text: str
    token_ids: frozenset[int]


@dataclass(frozen=True)
class ThoughtFormat:
    """How a thought ends that the end of a prompt has opened.

    Attributes:
        stop: what ends it.
        close: token ids between a thought that has come to its end and the answer, the end of the thought included.
        close_cut: the same of a thought that was cut.
    """

    stop: TextEnd
    close: tuple[int, ...]
    close_cut: tuple[int, ...]


@dataclass(frozen=True)
class Reply:
    """What the model wrote.

    Attributes:
        text: the answer, decoded from the tokens' bytes.
        token_ids: the generated tokens, as 32-bit numbers since thousands of replies are remembered.
        complete: whether the grammar was satisfied, or a free text came to its stop, with which `token_ids` may end;
            False when the budget ended first.
        confidence: probability of each verdict or rating among those that were allowed, in the order of the answer.
        cut: what ended at its limit: "string", "list".
        thinking: the thought of an engine that takes no token ids and thinks by itself; None of all others.
    """

    text: str
    token_ids: "array[int]" = field(repr=False)
    complete: bool
    confidence: tuple[float, ...] = ()
    cut: frozenset[str] = frozenset()
    thinking: str | None = None
