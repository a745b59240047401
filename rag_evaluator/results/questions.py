"""Questions to the judge: recorded by what is special about them, and put together again from that.

A judgement's `input` holds the values of the prompt's input model. What is known from elsewhere is a reference:

    {"column": "user_input"}                                       a column of the row
    {"column": "retrieved_contexts", "item": 2}                    one of its texts
    {"column": "retrieved_contexts", "items": 3, "joined": "\n"}   the first three, joined
    {"each": [...]}                                                a list of texts, a reference to each
    {"column": "retrieved_contexts", "items": 3, "numbered": true} the first three, see `numbered`
    {"judgement": 0, "key": "statements"}                          part of an earlier answer about the same score
    {"object": {...}}                                              an object of which some values are references
    {"literal": {...}}                                             an object that is no reference

Everything else is the value itself. Instruction and examples are in `prompts.json`, as frames around the input.
"""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files import Json, JsonDict, short_digest

from .run import Run

Values = Json  # Any in this module: JSON


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


def numbered(texts: Sequence[str]) -> str:
    """Texts as one, numbered from 1, with blank lines between them."""
    return "\n\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def references(columns: Values) -> dict[Hashable, JsonDict]:
    """Text -> reference, for every text that a row holds as a column or in a list of texts.

    An object of texts is found by its items.
    """
    places: dict[Hashable, JsonDict] = {}
    for name, value in columns.items():
        if isinstance(value, str):
            places.setdefault(value, {"column": name})
    for name, value in columns.items():
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            for position, text in enumerate(value):
                places.setdefault(text, {"column": name, "item": position})
            places.setdefault("\n".join(value), {"column": name, "items": len(value), "joined": "\n"})
            places.setdefault(numbered(value), {"column": name, "items": len(value), "numbered": True})
        if isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values()):
            places.setdefault(tuple(value.items()), {"column": name})
    return places


def refer(values: Values, known: Mapping[Hashable, Values], answers: Sequence[Any]) -> JsonDict:
    """An input with references in place of values, the inverse of `resolve`.

    Args:
        known: see `references`.
        answers: the earlier ones about the same score; None where there is none.
    """
    return {name: _reference(value, known, answers) for name, value in values.items()}


def _reference(value: Any, known: Mapping[Hashable, Values], answers: Sequence[Any]) -> Any:
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, Mapping):
        texts = all(isinstance(text, str) for text in value.values())
        whole = known.get(tuple(value.items())) if texts else None
        if whole is not None:
            return whole
        parts = {name: _reference(part, known, ()) for name, part in value.items()}
        return {"literal": value} if parts == value else {"object": parts}
    for position, answer in enumerate(answers):
        for key, part in (answer or {}).items():
            if isinstance(value, list) and part == value:
                return {"judgement": position, "key": key}
    if isinstance(value, list) and value and all(isinstance(text, str) and text in known for text in value):
        return {"each": [known[text] for text in value]}
    return value


def resolve(reference: Any, columns: Values, answers: Sequence[Any]) -> Any:
    """The value that stood in the input. Raises `LookupError` where the row has no such thing."""
    if not isinstance(reference, Mapping):
        return reference
    if "literal" in reference:
        return reference["literal"]
    if "each" in reference:
        return [resolve(item, columns, answers) for item in reference["each"]]
    if "object" in reference:
        return {name: resolve(part, columns, answers) for name, part in reference["object"].items()}
    if "judgement" in reference:
        return answers[reference["judgement"]][reference["key"]]
    value = columns[reference["column"]]
    if "numbered" in reference:
        return numbered(value[: reference["items"]])
    if "joined" in reference:
        return reference["joined"].join(value[: reference["items"]])
    return value[reference["item"]] if "item" in reference else value


def input_values(parts: Values, columns: Values, answers: Sequence[Any]) -> JsonDict:
    """The values of an input, the inverse of `refer`; those that cannot be found are left out."""
    values = {}
    for name, part in parts.items():
        with suppress(LookupError, TypeError):
            values[name] = resolve(part, columns, answers)
    return values


def questions_of(line: Values, columns: Values, prompts: Values) -> Iterator[JsonDict]:
    """All that the judge was asked about a score: `row, metric, prompt, prompt_digest, text`, in the order of asking.

    That of a repeated score has its `repeat`, too.

    Args:
        line: a record of the details.
        columns: the row's columns under ragas' names.
        prompts: what `prompts.json` holds.

    Raises `ResultsError` where the text is not the one that was sent.
    """
    where = f"row {line['row']}, {line['metric']}"
    for judgement in line["judgements"]:
        if judgement.get("prompt_digest") == "":  # said by a function, which was asked nothing
            continue
        try:
            text = _text(line, judgement, columns, prompts)
        except (LookupError, TypeError):
            text = None
        if text is None or short_digest(text) != judgement["prompt_digest"]:
            raise ResultsError(
                f"{where}: its columns are not those that were judged, or prompts.json is of another run. Leave the "
                "files of a results folder together."
            )
        named = {"prompt": judgement["prompt"], "prompt_digest": judgement["prompt_digest"]}
        key = {name: line[name] for name in ("row", "metric", "repeat") if name in line}
        yield {**key, **named, "text": text}


def _text(line: Values, judgement: Values, columns: Values, prompts: Values) -> str | None:
    recorded = judgement["input"]
    if isinstance(recorded, str):
        return recorded
    answers = [earlier.get("response") for earlier in line["judgements"]]
    values = {name: resolve(part, columns, answers) for name, part in recorded.items()}
    frames = prompts[line["metric"]][judgement["prompt"]]["frames"]
    return put_together((Frame(**frame) for frame in frames), values)


def read_questions(folder: str | Path, row: int | None = None) -> Iterator[JsonDict]:
    """Yield every question that a run asked the judge, in the order of the details.

    Args:
        folder: results folder.
        row: position in the dataset, from 0; None gives those of all rows.

    Yields `row`, `metric`, `prompt` (its name in the metric), `prompt_digest`, `text` (exactly as it was sent, before
    the model's chat template), and `repeat` where scores were repeated. Raises `ResultsError` where that cannot be put
    together.
    """
    run = Run(Path(folder))
    for number in range(run.count) if row is None else [row]:
        for record in run.details(number):
            yield from questions_of(record, run.samples[number].columns, run.prompts)
