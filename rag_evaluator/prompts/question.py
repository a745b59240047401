"""What a user's own metric asks the judge: question, scale and examples. Knows no ragas."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.config.languages import find_language
from rag_evaluator.errors import PromptError
from rag_evaluator.prompts.pack import ENGLISH, Key, Pack
from rag_evaluator.resources import command
from rag_evaluator.results.questions import numbered

SHELL: Key = ("custom", "prompt")
"""The prompt around all questions: one pack a language serves every metric."""
DEFINITION = "definition"
"""The name of a metric's own pack: question, scale and examples in the language of the run."""


@dataclass(frozen=True)
class CustomQuestion:
    """A question about a row.

    Attributes:
        text: the question.
        scale: label -> what it means, ascending.
        language: in which it is written.
        examples: `{"values": column -> text, "reason": ..., "label": ...}` of each; none: those of the prompt.
    """

    text: str
    scale: Mapping[int, str]
    language: str = ENGLISH
    examples: Sequence[Mapping[str, Any]] = ()

    def needs_pack(self, language: str) -> bool:
        """Whether it is to be translated for a run in a language."""
        return find_language(self.language) != find_language(language)


def as_shown(value: Any) -> str:
    """A value of a row as the judge reads it: a list is numbered from 1, what is no text becomes JSON.

    Any: a JSON value, as rows hold them.
    """
    if isinstance(value, list):
        return numbered(list(map(as_shown, value)))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class DefinitionInput(BaseModel):
    """The scale, or the texts of an example."""

    scale: dict[str, str] | None = Field(default=None, description="What each label means")
    values: dict[str, str] | None = Field(default=None, description="The texts that the question is about, by name")


class DefinitionOutput(BaseModel):
    """The answer of an example."""

    reason: str | None = Field(default=None, description="Why this label fits")
    label: int | None = Field(default=None, description="The number in the scale that fits best")


class DefinitionPrompt(BasePrompt[DefinitionInput, DefinitionOutput]):
    """An English question to be translated."""

    input_model, output_model = DefinitionInput, DefinitionOutput

    def __init__(self, question: CustomQuestion) -> None:
        self.instruction, self.language = question.text, ENGLISH
        scale = {str(label): text for label, text in question.scale.items()}
        self.examples = [
            (DefinitionInput(scale=scale), DefinitionOutput()),
            *(
                (
                    DefinitionInput(values=example["values"]),
                    DefinitionOutput(reason=example["reason"], label=example["label"]),
                )
                for example in question.examples
            ),
        ]


def definition_prompts(questions: Mapping[str, CustomQuestion]) -> dict[Key, BasePrompt[Any, Any]]:
    """The English questions that may be translated: metric -> prompt under its key."""
    return {
        (name, DEFINITION): DefinitionPrompt(question)
        for name, question in questions.items()
        if not question.needs_pack(ENGLISH)
    }


def translated(question: CustomQuestion, pack: Pack, path: Path) -> CustomQuestion:
    """The question as a pack has it. Raises `PromptError` unless it has the same labels."""
    first, *more = pack.examples
    labels = [str(label) for label in question.scale]
    if sorted(first["input"].get("scale") or ()) != sorted(labels):
        raise PromptError(
            f"{path}: the first example has not the labels {', '.join(labels)}. The scale was changed after the pack "
            f"was made: correct the pack, or make it anew with '{command('prompts', 'adapt', '--force')}'."
        )
    return replace(
        question,
        text=pack.instruction,
        scale={label: first["input"]["scale"][str(label)] for label in question.scale},
        examples=[{"values": example["input"].get("values") or {}, **example["output"]} for example in more],
        language=pack.language,
    )
