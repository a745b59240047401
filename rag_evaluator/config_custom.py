"""What `custom_metrics` may say: a question with its scale, or a function."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from rag_evaluator.config_sections import Number, Section

# Any in this module: whatever the user wrote.

MOST_LABELS = 101  # 0..100: each is a line of the prompt
NAMED = {"pass/fail": ("fail", "pass"), "yes/no": ("no", "yes")}
"""Scales by name, the worse label first. Their words are English."""
FORMS = "{0: rude, 1: neutral, 2: polite}, [fail, pass], pass/fail, yes/no, 0..10 or {min: 0, max: 10}"
RANGE = re.compile(r"\s*(-?\d{1,6})\s*\.\.\s*(-?\d{1,6})\s*")
ENDS = {"min": "lowest", "max": "highest"}
"""The ends of a range -> the keys under which they may be described."""


def read_scale(written: Any) -> dict[int, str]:
    """Label -> its description, ascending; a range describes its two ends only. Raises `ValueError`."""
    if isinstance(written, str) and (ends := RANGE.fullmatch(written)):
        return _range(int(ends[1]), int(ends[2]), *ENDS)
    if isinstance(written, str) and written in NAMED:
        return dict(enumerate(NAMED[written]))
    if isinstance(written, Mapping) and set(written) & {*ENDS, *ENDS.values()}:
        return _described_range(written)
    if isinstance(written, list | tuple):
        written = dict(enumerate(written))
        if [str(text).lower() for text in written.values()] in (["pass", "fail"], ["yes", "no"]):
            raise ValueError("a list goes from the worst label to the best: write [fail, pass] or [no, yes]")
    if not isinstance(written, Mapping):
        raise ValueError(f"expected labels with their meaning, such as {FORMS}")
    return _labels(written)


def _labels(written: Mapping[Any, Any]) -> dict[int, str]:
    labels: dict[int, str] = {}
    for key, text in written.items():
        number = _whole(key)
        if number in labels:
            raise ValueError(f"label {number} is there twice; remove one of them")
        if isinstance(text, bool):
            raise ValueError(
                'expected a text for each label; YAML reads no and yes as false and true: put "no" in quotes'
            )
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"expected a text that says what label {number} means")
        if text in labels.values():
            raise ValueError(f"'{text}' is the meaning of two labels; give each its own")
        labels[number] = text
    return _enough(labels)


def _described_range(written: Mapping[Any, Any]) -> dict[int, str]:
    unknown = set(written) - {*ENDS, *ENDS.values()}
    if unknown or not set(ENDS) <= set(written):
        raise ValueError("expected the keys min and max, and if you like lowest and highest, which say what these mean")
    words = [written.get(key, end) for end, key in ENDS.items()]
    if not all(isinstance(word, str) and word.strip() for word in words) or words[0] == words[1]:
        raise ValueError("expected different texts as lowest and highest")
    return _range(_whole(written["min"]), _whole(written["max"]), *words)


def _range(low: int, high: int, lowest: str, highest: str) -> dict[int, str]:
    if high - low >= MOST_LABELS:
        raise ValueError(f"expected at most {MOST_LABELS} labels, such as 0..100")
    labels = dict.fromkeys(range(low, high + 1), "")
    if len(labels) > 1:
        labels |= {low: lowest, high: highest}
    return _enough(labels)


def _enough(labels: dict[int, str]) -> dict[int, str]:
    if not 2 <= len(labels) <= MOST_LABELS:
        raise ValueError(f"expected 2 to {MOST_LABELS} labels, such as {FORMS}; the smaller number first")
    return dict(sorted(labels.items()))


def _whole(label: Any) -> int:
    """A label as YAML and JSON have it, 2 or "2"."""
    if isinstance(label, int) and not isinstance(label, bool):
        return label
    if isinstance(label, str) and re.fullmatch(r"-?\d{1,6}", label):
        return int(label)
    raise ValueError(f"label {label!r:.40} is no whole number; number the labels, such as {{0: rude, 1: polite}}")


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("expected a text, received a blank one")
    return text


def _names_once(names: list[str]) -> list[str]:
    twice = [name for position, name in enumerate(names) if name in names[:position]]
    if twice:
        raise ValueError(f"'{twice[0]}' is there twice; remove one of them")
    return names


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise ValueError("expected the lowest value and then the highest, such as [0, 1]")
    return ends


Columns: TypeAlias = Annotated[
    list[str],
    Field(min_length=1),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    AfterValidator(_names_once),
]


class AskedMetric(Section):
    """A metric that asks the judge.

    Attributes:
        question: what is asked about each row.
        columns: what the judge is shown of it: canonical columns and any other.
        scale: label -> what it means, in one of the forms that `read_scale` reads.
        better: which end of the scale is the better one.
        stage: the part of the system that it measures.
        examples: columns, `reason` and `label` of each.
        language: that of question, scale and examples; None: that of the run.
    """

    question: Annotated[str, AfterValidator(_says_something)]
    columns: Columns
    scale: Annotated[dict[int, str], BeforeValidator(read_scale)]
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"
    examples: list[dict[str, Any]] = Field(default_factory=list)
    language: str | None = None


class ComputedMetric(Section):
    """A metric that a function of the row computes.

    Attributes:
        function: `module:name`.
        columns: the columns that are its arguments, by their names.
        range: the lowest and the highest value that it can give.
        kind: `continuous` for a number on a fine scale, `judged` for one of few values.
        better: which end of the range is the better one.
        stage: the part of the system that it measures.
    """

    function: Any
    columns: Columns
    range: Annotated[tuple[Number, Number], AfterValidator(_ascending)] = (0.0, 1.0)
    kind: Literal["judged", "continuous"] = "judged"
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"
