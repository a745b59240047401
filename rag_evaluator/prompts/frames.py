"""Finds the text of a prompt around its input, so that it is kept only once."""

import json
from typing import Any

from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.pack import Pack
from rag_evaluator.results.questions import Frame

LEVELS = ("atomicity", "coverage")  # values of the input that choose the examples
MARK = "input: "  # comes before the input in every prompt of ragas
LETTER = "é"  # shows whether the text keeps letters that are not ASCII


def find_frames(prompt: "BasePrompt[Any, Any]", pack: Pack) -> tuple[Frame, ...]:
    """The frames of a prompt, one for each set of examples; none for a prompt in which no input can be found."""
    inputs = [example["input"] for example in pack.examples]
    levels = {tuple(values[name] for name in LEVELS if name in values): values for values in inputs}
    probes = [{name: _probe(name, value) for name, value in values.items()} for values in levels.values()]
    frames = [_find_frame(prompt, values) for values in probes]
    return tuple(frame for frame in frames if frame is not None)


def _probe(name: str, value: Any) -> Any:
    if name in LEVELS:
        return value
    return [LETTER] if isinstance(value, list) else LETTER if isinstance(value, str) else value


def _find_frame(prompt: "BasePrompt[Any, Any]", values: dict[str, Any]) -> Frame | None:
    text = prompt.to_string(prompt.input_model(**values))
    start = text.rfind(MARK) + len(MARK)
    try:
        shown, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return None
    if not isinstance(shown, dict) or list(shown.values()) != list(values.values()):
        return None
    when = {name: value for name, value in values.items() if name in LEVELS}
    keys = {name: key for name, key in zip(values, shown, strict=True) if name != key}
    frame = Frame(when, text[:start], text[end:], keys, LETTER not in text[start:end])
    return frame if frame.text(values) == text else None
