"""The filters: what a question of a test set must be. One row each; a verdict says why a candidate is left out."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag_evaluator.languages import Language
from rag_evaluator.prompts.language_id import foreign, script_of
from rag_evaluator.tasks.testset.candidate import Candidate, FilterVerdict
from rag_evaluator.tasks.testset.questions import Questions

LIKELY = 0.5  # a probability above it is a yes
NOT_FOUND = "the judge finds no answer in its contexts"
WORD = re.compile(r"\w+")


class Setting(Protocol):
    """What filters need beside the candidate.

    Attributes:
        questions: who asks the judge.
        language: of the test set.
    """

    @property
    def questions(self) -> Questions: ...

    @property
    def language(self) -> Language: ...

    def distractors(self, candidate: Candidate) -> Sequence[str]:
        """The chunks of other documents that are nearest to the question, the nearest first."""


Check = Callable[[Candidate, Setting], Awaitable[FilterVerdict]]


@dataclass(frozen=True)
class Filter:
    """A filter; `about` is one line of meaning for people."""

    check: Check
    about: str


async def _language(candidate: Candidate, setting: Setting) -> FilterVerdict:
    text = f"{candidate.question} {candidate.answer}"
    reason = _other_letters(text, setting.language) or foreign(text, setting.language)
    return FilterVerdict(reason is None, reason)


def _other_letters(text: str, language: Language) -> str | None:
    """Whether most letters are of another script, which also a short question shows."""
    scripts = Counter(script_of(letter) for letter in text if letter.isalpha())
    own = sum(scripts[script] for script in language.scripts)
    if not language.scripts or 2 * own >= scripts.total():
        return None
    return f"most of its letters are {scripts.most_common(1)[0][0]}"


async def _not_copied(candidate: Candidate, setting: Setting) -> FilterVerdict:
    """Every word of the answer is in the question. A choice between things that it names is no copy."""
    words = [set(map(str.lower, WORD.findall(text))) for text in (candidate.answer, candidate.question)]
    is_copy = candidate.kind != "comparison" and words[0] <= words[1]
    return FilterVerdict(not is_copy, "every word of the answer is in the question" if is_copy else None)


async def _answerable(candidate: Candidate, setting: Setting) -> FilterVerdict:
    """Asked again with the contexts that it was made from."""
    questions = setting.questions
    answer = await questions.answer(candidate.question, candidate.contexts)
    if not candidate.is_answerable:
        return _no_answer(answer, "its contexts hold an answer")
    if answer is None:
        return FilterVerdict(False, NOT_FOUND)
    agreement = await questions.agreement(candidate.question, candidate.answer, answer)
    details = {"answer": answer, "agreement": agreement}
    return FilterVerdict(
        agreement > LIKELY, None if agreement > LIKELY else "another answer from its contexts", details
    )


async def _not_known(candidate: Candidate, setting: Setting) -> FilterVerdict:
    """Asked without contexts: what the judge knows by heart measures no retrieval."""
    if not candidate.is_answerable:
        return FilterVerdict(True)
    answer = await setting.questions.known(candidate.question)
    if answer is None:
        return FilterVerdict(True, details={"answer": None})
    agreement = await setting.questions.agreement(candidate.question, candidate.answer, answer)
    is_known = agreement > LIKELY
    details = {"answer": answer, "agreement": agreement}
    return FilterVerdict(not is_known, "the judge answers it without contexts" if is_known else None, details)


async def _names_document(candidate: Candidate, setting: Setting) -> FilterVerdict:
    """Asked with its contexts among the nearest ones of other documents."""
    others = setting.distractors(candidate)
    shown = [*candidate.contexts, *others]
    answer = await setting.questions.answer(candidate.question, shown, seed=candidate.question)
    details = {"distractors": len(others), "answer": answer}
    if not candidate.is_answerable:
        verdict = _no_answer(answer, "chunks of other documents hold an answer")
        return FilterVerdict(verdict.keep, verdict.reason, details)
    if answer is None:
        return FilterVerdict(False, "no answer among similar chunks of other documents", details)
    agreement = await setting.questions.agreement(candidate.question, candidate.answer, answer)
    reason = None if agreement > LIKELY else "another answer among similar chunks of other documents"
    return FilterVerdict(reason is None, reason, {**details, "agreement": agreement})


def _no_answer(answer: str | None, reason: str) -> FilterVerdict:
    return FilterVerdict(answer is None, reason if answer is not None else None, {"answer": answer})


FILTERS: Mapping[str, Filter] = {
    "language": Filter(_language, "question and answer are in the configured language"),
    "not_copied": Filter(_not_copied, "the answer says something that the question does not"),
    "answerable": Filter(_answerable, "asked again with its contexts, the judge gives the same answer"),
    "not_known": Filter(_not_known, "without contexts the judge does not know the answer"),
    "names_document": Filter(
        _names_document, "among the nearest chunks of other documents the judge gives the same answer"
    ),
}
"""In the order in which they are applied: those that ask nothing first."""
DUPLICATE = "not_duplicate"
"""The filter that compares candidates with each other, when the test set is chosen."""
