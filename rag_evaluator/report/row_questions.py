"""The prompts of a row as they were sent. The text before the input is the same in every row: a page has it once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.report.pages import clean
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.shown_text import MOST, short
from rag_evaluator.results.questions import questions_of

Json = Mapping[str, Any]  # Any: JSON


@dataclass(frozen=True)
class PromptView:
    """A prompt: `head`, `input` and `tail` together are what was sent.

    Their texts are clean: a template escapes them before it could clean them.

    Attributes:
        head: its key in `frames_of`; empty where the whole text is the input.
        head_length: characters of it.
        left_out: characters of the input that are too many for a page.
    """

    name: str
    head: str
    head_length: int
    input: str
    tail: str
    left_out: int = 0


def frames_of(run: RunFiles) -> dict[str, str]:
    """The texts before the inputs by the key that fragments of rows refer to; each once, for any number of runs."""
    heads = [frame["head"] for named in run.prompts.values() for prompt in named.values() for frame in prompt["frames"]]
    return {_key(head): clean(head) for head in heads}


def prompt_views(line: Json, columns: Json, prompts: Json) -> tuple[tuple[PromptView, ...], str]:
    """The prompts behind a score, and why there are no more of them; empty where there are all.

    Args:
        line: of `details.jsonl`.
        columns: the row's columns under ragas' names.
        prompts: what `prompts.json` holds.
    """
    found: list[PromptView] = []
    try:
        for question in questions_of(line, columns, prompts):
            frames = prompts.get(line["metric"], {}).get(question["prompt"], {}).get("frames", ())
            found.append(_view(question["prompt"], question["text"], frames))
    except (ResultsError, KeyError, TypeError, AttributeError) as error:
        return tuple(found), str(error) if isinstance(error, ResultsError) else repr(error)
    return tuple(found), ""


def _view(name: str, text: str, frames: Any) -> PromptView:
    around = [(frame["head"], frame["tail"]) for frame in frames]
    fitting = [(head, tail) for head, tail in around if text.startswith(head) and text.endswith(tail)]
    head, tail = max(fitting, key=lambda pair: len(pair[0]), default=("", ""))
    middle = text[len(head) : len(text) - len(tail)]
    key = _key(head) if head else ""
    return PromptView(short(name), key, len(head), clean(middle[:MOST]), clean(tail), max(len(middle) - MOST, 0))


def _key(head: str) -> str:
    return short_digest(head)

