"""Questions to the judge: recorded by what is special about them, and put together again from that.

A judgement's `input` holds the values of the prompt's input model. What is known from elsewhere is a reference:

    {"column": "user_input"}                                       a column of the row
    {"column": "retrieved_contexts", "item": 2}                    one of its texts
    {"column": "retrieved_contexts", "items": 3, "joined": "\\n"}   the first three, joined
    {"judgement": 0, "key": "statements"}                          part of an earlier answer about the same score
    {"literal": {...}}                                             an object that is no reference

Everything else is the value itself. Instruction and examples are in `prompts.json`, as frames around the input.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import short_digest

Values = Mapping[str, Any]  # Any in this module: JSON


@dataclass(frozen=True)
class Frame:
    """The text of a prompt around its input; the fields are the keys in `prompts.json`.

    Attributes:
        when: values of the input for which this frame is used; a prompt may show other examples to other inputs.
        head: the text before the input, instruction and examples.
        tail: the text after it.
        keys: names that the text uses in place of the input model's own.
        ascii: whether the text writes other letters as `\\u00e9`.
    """

    when: Mapping[str, str]
    head: str
    tail: str
    keys: Mapping[str, str]
    ascii: bool

    def text(self, values: Values) -> str:
        """The whole prompt: `head`, the input as JSON indented by 4, `tail`."""
        named = {self.keys.get(name, name): value for name, value in values.items()}
        return self.head + json.dumps(named, indent=4, ensure_ascii=self.ascii) + self.tail


def put_together(frames: Iterable[Frame], values: Values) -> str | None:
    """The text of a prompt with an input; None if no frame is for such an input."""
    for frame in frames:
        if all(values.get(name) == value for name, value in frame.when.items()):
            return frame.text(values)
    return None


def references(columns: Values) -> dict[str, dict[str, Any]]:
    """Text -> reference, for every text that a row holds as a column or in a list of texts."""
    places: dict[str, dict[str, Any]] = {}
    for name, value in columns.items():
        if isinstance(value, str):
            places.setdefault(value, {"column": name})
    for name, value in columns.items():
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            for position, text in enumerate(value):
                places.setdefault(text, {"column": name, "item": position})
            places.setdefault("\n".join(value), {"column": name, "items": len(value), "joined": "\n"})
    return places


def refer(values: Values, known: Mapping[str, Values], judgements: Sequence[Values]) -> dict[str, Any]:
    """An input with references in place of values, the inverse of `resolve`.

    Args:
        known: see `references`.
        judgements: earlier ones about the same score.
    """
    return {name: _reference(value, known, judgements) for name, value in values.items()}


def _reference(value: Any, known: Mapping[str, Values], judgements: Sequence[Values]) -> Any:
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, Mapping):
        return {"literal": value}
    for position, judgement in enumerate(judgements):
        for key, part in (judgement["response"] or {}).items():
            if isinstance(value, list) and part == value:
                return {"judgement": position, "key": key}
    return value


def resolve(reference: Any, columns: Values, judgements: Sequence[Values]) -> Any:
    """The value that stood in the input. Raises `LookupError` where the row has no such thing."""
    if not isinstance(reference, Mapping):
        return reference
    if "literal" in reference:
        return reference["literal"]
    if "judgement" in reference:
        return judgements[reference["judgement"]]["response"][reference["key"]]
    value = columns[reference["column"]]
    if "joined" in reference:
        return reference["joined"].join(value[: reference["items"]])
    return value[reference["item"]] if "item" in reference else value


def questions_of(line: Values, columns: Values, prompts: Values) -> Iterator[dict[str, Any]]:
    """All that the judge was asked about a score: `row, metric, prompt, prompt_digest, text`, in the order of asking.

    That of a repeated score has its `repeat`, too.

    Args:
        line: a line of `details.jsonl`.
        columns: the row's columns under ragas' names.
        prompts: what `prompts.json` holds.

    Raises `ResultsError` where the text is not the one that was sent.
    """
    where = f"row {line['row']}, {line['metric']}"
    for judgement in line["judgements"]:
        if "input" not in judgement:
            raise ResultsError(f"{where}: its questions are not recorded: another version of this program judged it.")
        try:
            text = _text(line, judgement, columns, prompts)
        except (LookupError, TypeError):
            text = None
        if text is None or short_digest(text) != judgement["prompt_digest"]:
            raise ResultsError(
                f"{where}: its columns are not those that were judged, or prompts.json is of another run. Give the "
                "rows that were judged, and leave the files of a results folder together."
            )
        named = {"prompt": judgement["prompt"], "prompt_digest": judgement["prompt_digest"]}
        key = {name: line[name] for name in ("row", "metric", "repeat") if name in line}
        yield {**key, **named, "text": text}


def _text(line: Values, judgement: Values, columns: Values, prompts: Values) -> str | None:
    recorded = judgement["input"]
    if isinstance(recorded, str):
        return recorded
    values = {name: resolve(part, columns, line["judgements"]) for name, part in recorded.items()}
    frames = prompts[line["metric"]][judgement["prompt"]]["frames"]
    return put_together((Frame(**frame) for frame in frames), values)
