"""The judgements of a row as rows of a table: one for each verdict.

Confidences are in `details.jsonl` only: they may differ by millionths between batches, and a workbook has the same
bytes whatever the batches were.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluator.results.reasons import parts_of
from rag_evaluator.results.rows import Scored

COLUMNS = ("row", "question", "metric", "repeat", "prompt", "statement", "key", "value", "reason")
QUESTION = 80  # characters of it that are shown
Cells = dict[str, Any]  # column -> what it shows; Any: JSON


def judgement_rows(scored: Scored) -> Iterator[Cells]:
    """What the judge answered about a row; `key` and `value` are a verdict as the answer has it: `rating`, 2."""
    about = {"row": scored.sample.index, "question": _short(scored.sample.columns.get("user_input"))}
    for metric, score in scored.judged_scores().items():
        for repeat, made in enumerate(score.repeated or [score]):
            for judgement in made.judgements:
                asked = {**about, "metric": metric, "repeat": repeat, "prompt": judgement.get("prompt")}
                for verdict in _verdicts(judgement):
                    yield {**asked, **verdict}


def _verdicts(judgement: Mapping[str, Any]) -> Iterator[Cells]:
    answer = judgement.get("response")
    if answer is None:
        yield {"reason": f"no answer: {judgement.get('error') or 'unknown'}"}
        return
    found = [verdict for role, part in parts_of(answer) for verdict in _of_part(role, part)]
    yield from found or [{"key": ", ".join(answer)}]


def _of_part(role: str, part: Mapping[str, Any]) -> Iterator[Cells]:
    """The verdicts of an object: its numbers; if it has none, the name of its list; and its lists of texts."""
    texts = {name: value for name, value in part.items() if isinstance(value, str)}
    said = {"reason": texts.pop("reason", None), "statement": "\n".join(texts.values()) or None}
    numbers = [{**said, "key": name, "value": value} for name, value in part.items() if isinstance(value, int | float)]
    yield from numbers or ([{**said, "key": role}] if any(said.values()) else [])
    for name, value in part.items():
        if isinstance(value, list) and (lines := [line for line in value if isinstance(line, str)]):
            yield {"key": name, "statement": "\n".join(lines)}


def _short(text: Any) -> str | None:
    """A question on one line, cut where it is long; None if there is none."""
    if not isinstance(text, str):
        return None
    line = " ".join(text[: 4 * QUESTION].split())
    return line if len(line) <= QUESTION else f"{line[: QUESTION - 1]}…"
