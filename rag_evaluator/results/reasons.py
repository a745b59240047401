"""Why a score is what it is, in a few lines: the reason of a missing one, what the judge said of the others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rag_evaluator.results.meanings import WORDS, Meaning, meaning_of
from rag_evaluator.results.panel_names import BETWEEN

LINES, LETTERS = 3, 160  # shown of a score at most
REASONS = ("reason", "feedback")  # names under which prompts ask for one
Json = Any  # whatever a judge answers


class SaidVerdict(NamedTuple):
    """One verdict of a judge with its statement and reason; or why there is none, as `word`."""

    word: str
    statement: str = ""
    reason: str = ""
    is_bad: bool = False

    def __str__(self) -> str:
        text = " · ".join(filter(None, (self.word, self.statement, self.reason)))
        return text if len(text) <= LETTERS else text[: LETTERS - 1].rstrip() + "…"


def said(record: Mapping[str, Json]) -> list[SaidVerdict]:
    """All that was said about a score: why it is missing, or the judge's verdicts with their reasons.

    Args:
        record: a line of `details.jsonl`.
    """
    if record.get("reason"):
        return [SaidVerdict(str(record["reason"]))]
    lines: list[SaidVerdict] = []
    for judgement in record.get("judgements", ()):
        if judgement.get("error"):
            lines.append(SaidVerdict(str(judgement["error"])))
        lines += _opinions(record, judgement)
    return lines


def telling(own: Sequence[SaidVerdict], other: Sequence[SaidVerdict]) -> tuple[str, ...]:
    """The few lines to be shown of one side: first verdicts that the other side does not have, of these bad ones."""
    theirs, shared = Counter(line[:2] for line in other), list[bool]()
    for line in own:
        shared.append(theirs[line[:2]] > 0)
        theirs[line[:2]] -= 1
    order = sorted(range(len(own)), key=lambda place: (shared[place], not own[place].is_bad))
    return tuple(str(own[place]) for place in order[:LINES])


def columns_asked(judgement: Mapping[str, Json]) -> set[str]:
    """The columns that a question names."""
    recorded = judgement.get("input")
    parts = recorded.values() if isinstance(recorded, Mapping) else ()
    return {str(part.get("column")) for part in parts if isinstance(part, Mapping)}


def parts_of(answer: Json, role: str = "") -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The objects in an answer, itself included, each with the name of the list that it stands in."""
    if isinstance(answer, list):
        for item in answer:
            yield from parts_of(item, role)
    if isinstance(answer, Mapping):
        yield role, answer
        for name, value in answer.items():
            yield from parts_of(value, name)


def _opinions(record: Mapping[str, Json], judgement: Mapping[str, Json]) -> Iterator[SaidVerdict]:
    """The verdicts in an answer: its numbers in words; of a part without numbers the name of its list."""
    metric, prompt = str(record.get("metric", "")).partition(BETWEEN)[0], str(judgement.get("prompt"))
    asked = columns_asked(judgement)
    for role, part in parts_of(judgement.get("response")):
        texts = {name: " ".join(value.split()) for name, value in part.items() if isinstance(value, str)}
        reason = " · ".join(texts.pop(name) for name in REASONS if name in texts)
        statement = " · ".join(filter(None, texts.values()))
        numbers: dict[str, Json] = {name: value for name, value in part.items() if isinstance(value, int | float)}
        for key, value in (numbers or ({role: None} if statement or reason else {})).items():
            meaning = meaning_of(metric, prompt, key, value, asked)
            yield SaidVerdict(
                _word(meaning, key, value), statement, reason, meaning is not None and meaning.tone == "bad"
            )


def _word(meaning: Meaning | None, key: str, value: Json) -> str:
    if meaning is not None:
        return WORDS[meaning.word]
    return key if value is None else f"{key} {value}"
