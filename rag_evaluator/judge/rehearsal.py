"""What can be known of a judge's work without asking it: prompts as the model gets them, and whether they fit."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from rag_evaluator.errors import PromptTooLongError
from rag_evaluator.judge.cached import Window
from rag_evaluator.judge.engine.protocol import Batched
from rag_evaluator.judge.engine_judge import EngineJudge
from rag_evaluator.judge.grammar.schema import Schema, tighten
from rag_evaluator.judge.protocol import JudgeProtocol
from rag_evaluator.judge.scripted import ScriptedJudge


class Rehearsal(ScriptedJudge):
    """Invents answers that fit, so that metrics ask all they would ask, and measures what a judge would be asked.

    Args:
        judge: its window counts.

    Attributes:
        text: what invented answers say: as long as the judge's are likely to be, which repeat responses.
        longest: tokens of the longest prompt with its longest answer.
        too_long: prompts that did not fit the window.
        longest_prompt: in characters.

    Raises `PromptTooLongError` where the judge would.
    """

    def __init__(self, judge: JudgeProtocol) -> None:
        super().__init__(self._answer, self._shares)
        self.judge, self.text, self.longest, self.too_long, self.longest_prompt = judge, "", 0, 0, ""

    def _answer(self, prompt: str, response_model: type[BaseModel]) -> dict[str, Any]:
        self.longest_prompt = max(self.longest_prompt, prompt, key=len)
        try:
            self._measure(prompt, response_model)
        except PromptTooLongError:
            self.too_long += 1
            raise
        answer: dict[str, Any] = invented(tighten(response_model, getattr(prompt, "data", None)), self.text)
        return answer

    def _shares(self, prompt: str, options: Sequence[str]) -> Mapping[str, float]:
        self.longest_prompt = max(self.longest_prompt, prompt, key=len)
        if self.judge.capabilities.counts_tokens and self.judge.room(prompt) < max(map(self.judge.count, options)):
            self.too_long += 1
            raise PromptTooLongError("the prompt with its options does not fit the model's window")
        return dict.fromkeys(options, 1 / len(options))

    def _measure(self, prompt: str, response_model: type[BaseModel]) -> None:
        if isinstance(self.judge, EngineJudge) and self.judge.capabilities.counts_tokens:
            request = self.judge.request(prompt, response_model)
            self.longest = max(self.longest, len(request.input_ids) + request.budget.max_length)
        else:
            Window(self.judge).room(prompt)


def invented(schema: Schema, text: str) -> Any:
    """A value that a tightened schema allows: of options the last, of free lists one item. Any: JSON."""
    if "anyOf" in schema:
        return invented([part for part in schema["anyOf"] if part.get("type") != "null"][-1], text)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][-1]
    if schema["type"] == "array":
        return [invented(item, text) for item in schema.get("prefixItems") or [schema["items"]]]
    if schema["type"] == "object":
        return {name: invented(part, text) for name, part in schema.get("properties", {}).items()}
    return {"string": text, "integer": 1, "number": 1.0, "boolean": True}.get(schema["type"])


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
