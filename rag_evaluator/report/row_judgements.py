"""The judgements behind a score as a page shows them: what was asked about, every statement with its verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluator.report.pages import page_text
from rag_evaluator.report.row_verdicts import SOURCE, ScoredMetric, VerdictView, inputs_of, verdict_views
from rag_evaluator.report.shown_text import ShownText, short, shown
from rag_evaluator.report.texts import TEXTS
from rag_evaluator.results.questions import resolve

Json = Mapping[str, Any]  # Any in this module: JSON


@dataclass(frozen=True)
class JudgementView:
    """An answer of the judge.

    Attributes:
        about: what the question named, in words: 'retrieved context 2', 'reference'.
        context: column and position of the context that the verdict is about; None: it is about more.
        failed: whether there is no answer.
        error: why; None where that is shown elsewhere.
        used: lists of texts in the answer that a later question is about: (name, number of texts).
    """

    prompt: str
    about: tuple[str, ...]
    context: tuple[str, int] | None
    failed: bool
    error: ShownText | None
    verdicts: tuple[VerdictView, ...]
    used: tuple[tuple[str, int], ...]

    @property
    def told(self) -> bool:
        """Whether there is an answer, or an error that is shown nowhere else."""
        return not self.failed or self.error is not None


def judgement_views(scored: ScoredMetric) -> list[JudgementView]:
    """The judgements of a score, in the order of asking."""
    seen: dict[tuple[str, str], int] = {}
    used = {
        (part["judgement"], part["key"])
        for judgement in scored.judgements
        for part in inputs_of(judgement).values()
        if isinstance(part, Mapping) and "judgement" in part
    }
    return [_view(scored, place, seen, used) for place in range(len(scored.judgements))]


def _view(
    scored: ScoredMetric, place: int, seen: dict[tuple[str, str], int], used: set[tuple[int, str]]
) -> JudgementView:
    judgement = scored.judgements[place]
    answer, values = judgement.get("response"), _values(scored, judgement)
    listed = answer if isinstance(answer, Mapping) else {}
    later = {key: len(value) for key, value in listed.items() if (place, key) in used and isinstance(value, list)}
    error = judgement.get("error")
    return JudgementView(
        short(judgement.get("prompt", "")),
        tuple(dict.fromkeys(_named(part) for part in inputs_of(judgement).values() if _named(part))),
        _context(scored, values, str(judgement.get("prompt")), seen) if _is_single(answer) else None,
        answer is None,
        shown(str(error), SOURCE) if error else None,
        tuple(verdict_views(scored, judgement, values, later)),
        tuple((short(key), count) for key, count in later.items()),
    )


def _values(scored: ScoredMetric, judgement: Json) -> dict[str, Any]:
    """The values of the input; those that cannot be found are left out."""
    found = {}
    for name, part in inputs_of(judgement).items():
        try:
            found[name] = resolve(part, scored.columns, scored.judgements)
        except (LookupError, TypeError):
            continue
    return found


def _named(part: Any) -> str:
    """A part of an input in words; empty for what comes from the prompt itself."""
    if not isinstance(part, Mapping) or not ("column" in part or "judgement" in part):
        return ""
    if "judgement" in part:
        return page_text("row.about.judgement", name=short(part["key"]))
    column = short(part["column"])
    number = part["item"] + 1 if "item" in part else part.get("items")
    if number is None:
        return column
    form = "items" if part.get("items", 1) > 1 else "item"
    own = f"row.about.{column}.{form}"
    return page_text(own if own in TEXTS else f"row.about.{form}", column=column, number=number)


def _is_single(answer: Any) -> bool:
    """Whether an answer is one verdict."""
    return isinstance(answer, Mapping) and isinstance(answer.get("verdict"), int | float)


def _context(
    scored: ScoredMetric, values: Json, prompt: str, seen: dict[tuple[str, str], int]
) -> tuple[str, int] | None:
    """The context that a question is about: equal ones are asked about in their order."""
    for key, column in (("context", "retrieved_contexts"), ("reference_context", "reference_contexts")):
        text, contexts = values.get(key), scored.columns.get(column, ())
        if isinstance(text, str):
            places = [place for place, context in enumerate(contexts) if context == text]
            count = seen.get((prompt, text), 0)
            seen[prompt, text] = count + 1
            if places:
                return column, places[min(count, len(places) - 1)]
    return None
