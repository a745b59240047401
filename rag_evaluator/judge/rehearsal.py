"""What can be known of a judge's work without asking it: prompts as the model gets them, and whether they fit."""

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.judge.context_window import Window
from rag_evaluator.judge.engine.batched import Batched
from rag_evaluator.judge.engine_judge import EngineJudge
from rag_evaluator.judge.protocol import Capabilities, Draw, JudgeProtocol, Opinion


class Rehearsal:
    """Stands in a judge's place and invents answers, so that metrics ask all they would ask; a `JudgeProtocol`.

    Args:
        judge: its window counts.

    Attributes:
        text: what invented answers say: as long as the judge's are likely to be, which repeat responses.
        longest: tokens of the longest prompt with its longest answer.
        too_long: prompts that did not fit the window.
        longest_prompt: in characters.

    Raises `PromptTooLongError` where the judge would.
    """

    signature = None
    about: Mapping[str, str] = {}

    def __init__(self, judge: JudgeProtocol) -> None:
        self.judge, self.text, self.longest, self.too_long, self.longest_prompt = judge, "", 0, 0, ""

    @property
    def capabilities(self) -> Capabilities:
        return self.judge.capabilities

    async def opinion(self, prompt: str, response_model: type[BaseModel], draw: Draw = (0, 0)) -> Opinion:
        self.longest_prompt = max(self.longest_prompt, prompt, key=len)
        try:
            self._measure(prompt, response_model)
        except PromptTooLongError:
            self.too_long += 1
            raise
        return Opinion(response_model.model_validate(self._invented(response_model)))

    async def choose(self, prompt: str, options: Sequence[str], draw: Draw = (0, 0)) -> Mapping[str, float]:
        self.longest_prompt = max(self.longest_prompt, prompt, key=len)
        if self.capabilities.counts_tokens and self.judge.room(prompt) < max(map(self.judge.count, options)):
            self.too_long += 1
            raise PromptTooLongError("the prompt with its options does not fit the model's window")
        return dict.fromkeys(options, 1 / len(options))

    def count(self, text: str) -> int:
        return self.judge.count(text)

    def room(self, prompt: str) -> int:
        return self.judge.room(prompt)

    async def aclose(self) -> None:
        """The judge stays open."""

    def _measure(self, prompt: str, response_model: type[BaseModel]) -> None:
        if isinstance(self.judge, EngineJudge) and self.capabilities.counts_tokens:
            request = self.judge.request(prompt, response_model)
            self.longest = max(self.longest, len(request.input_ids) + request.budget.max_length)
        else:
            Window(self.judge).room(prompt)

    def _invented(self, kind: Any) -> Any:
        """A value of a type; of lists one item. Any: a type annotation, and a value of it."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return inner[0]
        if origin in (Union, UnionType):
            return self._invented(next(part for part in inner if part is not type(None)))
        if origin is list:
            return [self._invented(inner[0])]
        if origin is dict:
            return {}
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return {name: self._invented(field.annotation) for name, field in kind.model_fields.items()}
        return {str: self.text, int: 1, float: 1.0, bool: True}.get(kind)


def shown_prompt(judge: JudgeProtocol, prompt: str) -> str:
    """A prompt with the special tokens around it, as the model gets it; as it is where a server puts them there."""
    if isinstance(judge, EngineJudge) and judge.capabilities.counts_tokens:
        return judge.encoder.decode(judge.encoder.encode(prompt))
    return str(prompt)


def sequences_that_fit(judge: JudgeProtocol, length: int) -> int | None:
    """How many sequences of a length in tokens are decoded together; None where a server decides."""
    inner = judge.engine.inner if isinstance(judge, EngineJudge) and isinstance(judge.engine, Batched) else None
    decoder = getattr(inner, "decoder", None)  # not every batch engine has one
    return None if decoder is None else int(decoder.batch_size.that_fit(length))
