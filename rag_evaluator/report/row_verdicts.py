"""Every verdict in an answer of a judge as a page shows it, with its statement, reason and confidence."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.report.pages import page_text
from rag_evaluator.report.shown_text import ShownText, short, shown
from rag_evaluator.report.texts import TEXTS
from rag_evaluator.results.meanings import CHOSEN, PAIRED, SIGNS, Tone, grade_tone, meaning_of
from rag_evaluator.results.reasons import REASONS, columns_asked, parts_of

Json = Mapping[str, Any]  # Any in this module: JSON
SOURCE = "details.jsonl"


@dataclass(frozen=True)
class VerdictView:
    """One verdict, rating or statement of a judge.

    Attributes:
        tone: whether it is good news.
        word: what it says, in words: 'not supported', 'label 2'.
        label: the name of the statement in the answer, where it is none of a statement.
        statement: what it is about; None where that is what the whole question is about.
        confidence: of the verdict, as percent; empty where the judge gave none.
    """

    tone: Tone
    word: str
    label: str
    statement: ShownText | None
    reason: ShownText | None
    confidence: str

    @property
    def sign(self) -> str:
        return SIGNS[self.tone]


@dataclass(frozen=True)
class ScoredMetric:
    """What a verdict is read with.

    Attributes:
        metric: without the name of a judge.
        about: what the manifest says of the metric.
        columns: the row's columns under ragas' names.
        judgements: all of the score.
    """

    metric: str
    about: Json
    columns: Json
    judgements: Sequence[Json]


def inputs_of(judgement: Json) -> Json:
    """The input of a question as it was recorded; empty where the whole prompt is its input."""
    recorded = judgement.get("input")
    return recorded if isinstance(recorded, Mapping) else {}


def verdict_views(
    scored: ScoredMetric, judgement: Json, values: Json, later: Mapping[str, int]
) -> Iterator[VerdictView]:
    answer = judgement.get("response")
    if answer is None:
        return
    if _is_shares(answer):
        yield from (_plain(page_text("row.choice", option=short(key)), percent(value)) for key, value in answer.items())
        return
    parts = list(parts_of(answer))
    confidences = _confidences(judgement, parts)
    for role, part in parts:
        yield from _of_part(scored, judgement, role, part, values, confidences)
        for key, items in part.items():
            if isinstance(items, list) and key not in later:
                yield from _of_list(scored, judgement, key, items, values)


def _of_part(
    scored: ScoredMetric, judgement: Json, role: str, part: Json, values: Json, confidences: Iterator[Any]
) -> Iterator[VerdictView]:
    """The verdicts of an object: its numbers; if it has none, the name of its list."""
    texts = {name: value for name, value in part.items() if isinstance(value, str) and value.strip()}
    reasons = [texts.pop(name) for name in REASONS if name in texts]
    reason = shown("\n".join(reasons), SOURCE) if reasons else None
    statement = shown("\n".join(texts.values()), SOURCE) if texts else None
    label = ", ".join(short(name) for name in texts if name != "statement")
    numbers = {name: value for name, value in part.items() if isinstance(value, int | float)}
    for key, value in numbers.items():
        tone, word = _said(scored, judgement, key, value, values)
        yield VerdictView(tone, word, label, statement, reason, percent(next(confidences)))
    if not numbers and (reason or statement):
        tone, word = _said(scored, judgement, role, None, values)
        yield VerdictView(tone, word, label, statement, reason, "")


def _of_list(
    scored: ScoredMetric, judgement: Json, key: str, items: Sequence[Any], values: Json
) -> Iterator[VerdictView]:
    """The verdicts of a list of texts or numbers; of one that chooses, one for each that could be chosen."""
    offered = values.get(CHOSEN.get((scored.metric, key), ""))
    paired = values.get(PAIRED.get((scored.metric, key), ""))
    if isinstance(offered, list):
        found: list[tuple[Any, Any]] = [(int(number in items), text) for number, text in enumerate(offered, start=1)]
    elif isinstance(paired, list) and len(paired) == len(items):
        found = list(zip(items, paired, strict=True))
    else:
        texts = [str(item) for item in items if isinstance(item, str | int | float)]
        found = [(None, "\n".join(texts))] if texts else []
    for value, text in found:
        tone, word = _said(scored, judgement, key, value, values)
        yield VerdictView(tone, word, "", shown(str(text), SOURCE), None, "")


def _said(scored: ScoredMetric, judgement: Json, key: str, value: Any, values: Json) -> tuple[Tone, str]:
    """Tone and word of a verdict; those of a key that nobody knows are plain."""
    meaning = meaning_of(scored.metric, str(judgement.get("prompt")), key, value, columns_asked(judgement))
    if meaning is not None:
        return meaning.tone, TEXTS[f"row.word.{meaning.word}"]
    if value is None:
        return "plain", short(key)
    tone = grade_tone(scored.metric, key, value, scored.about) if isinstance(value, int | float) else "plain"
    scale = values.get("scale")
    described = scale.get(str(value)) if isinstance(scale, Mapping) else None
    word = page_text("row.grade", name=short(key), value=short(f"{value:g}" if isinstance(value, float) else value))
    return tone, f"{word}: {short(described)}" if described else word


def _confidences(judgement: Json, parts: Sequence[tuple[str, Json]]) -> Iterator[Any]:
    """The confidence of each number in an answer; None where the judge gave them to something else."""
    count = sum(isinstance(value, int | float) for _, part in parts for value in part.values())
    given = judgement.get("confidence") or ()
    return iter(given if len(given) == count else [None] * count)


def _is_shares(answer: Any) -> bool:
    """Whether it is the probability of each answer that the judge could choose from."""
    if not isinstance(answer, Mapping) or len(answer) < 2:
        return False
    shares = [value for value in answer.values() if isinstance(value, float) and 0 <= value <= 1]
    return len(shares) == len(answer) and abs(math.fsum(shares) - 1) < 0.01


def _plain(word: str, confidence: str) -> VerdictView:
    return VerdictView("plain", word, "", None, None, confidence)


def percent(share: Any) -> str:
    """A probability as percent, never rounded to certainty; empty for none."""
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        return ""
    if 0.995 <= share < 1:
        return ">99%"
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"
