"""What a user's own metric asks the judge: question, scale and examples. Knows no ragas."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.languages import find_language
from rag_evaluator.prompts.pack import ENGLISH, Key
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
