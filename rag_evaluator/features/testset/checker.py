"""The filters that candidates pass, and `Checker`, which applies them."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from rag_evaluator.config.languages import Language
from rag_evaluator.errors import JudgementError
from rag_evaluator.features.testset.prepare import NOT_CHECKED, Candidate, FilterVerdict, Neighbours
from rag_evaluator.features.testset.questions import Questions
from rag_evaluator.features.testset.section import TestsetConfig
from rag_evaluator.prompts.language_id import foreign, script_of

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
    letters = sum(scripts[script] for script in language.scripts)
    if not language.scripts or 2 * letters >= scripts.total():
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
    distractors = setting.distractors(candidate)
    shown = [*candidate.contexts, *distractors]
    answer = await setting.questions.answer(candidate.question, shown, seed=candidate.question)
    details = {"distractors": len(distractors), "answer": answer}
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


Embed = Callable[[str], Awaitable[list[float]]]
AMONG_OTHERS = "names_document"
MEASURED = ("not_known", AMONG_OTHERS)  # filters that say how hard a question is


@dataclass(frozen=True)
class Checker:
    """Applies the filters.

    Attributes:
        text: of the chunk at a place of the corpus.
        neighbours: of the corpus.
        embed: the vector of a text.
        second: who asks a second model, whose answers the judge compares.
    """

    text: Callable[[int], str]
    neighbours: Neighbours
    questions: Questions
    embed: Embed
    language: Language
    settings: TestsetConfig
    second: Questions | None = None

    async def verdicts(self, candidate: Candidate, all_filters: bool | None = None) -> tuple[bool, dict[str, Any]]:
        """Whether a candidate stays, and what each filter says, until one leaves it out.

        Args:
            all_filters: also what the others would say; None: as configured.
        """
        verdicts: dict[str, Any] = {}
        is_kept = True
        goes_on = self.settings.all_filters if all_filters is None else all_filters
        for name in [name for name in FILTERS if name in self.settings.filters]:
            verdict = await self._verdict(name, candidate)
            verdicts[name] = verdict.to_json()
            is_kept = is_kept and (verdict.keep or (self.settings.keep_hard and name == AMONG_OTHERS))
            if not is_kept and not goes_on:
                break
        return is_kept, verdicts

    async def of_second(self, candidate: Candidate) -> dict[str, Any] | None:
        """What the filters that measure difficulty say of the second model; None without one."""
        if self.second is None:
            return None
        other = replace(self, questions=self.second)
        return {name: (await other._verdict(name, candidate)).to_json() for name in MEASURED}

    async def _verdict(self, name: str, candidate: Candidate) -> FilterVerdict:
        try:
            return await FILTERS[name].check(candidate, self)
        except JudgementError as error:  # what could not be checked is not trusted
            return FilterVerdict(False, f"{NOT_CHECKED}: {error}")

    def distractors(self, candidate: Candidate) -> Sequence[str]:
        documents_of_answer = {str(self.neighbours.documents[place]) for place in candidate.chunks}
        near = self.neighbours.nearest(
            candidate.vector, self.settings.neighbours, candidate.chunks, documents_of_answer
        )
        return [self.text(place) for place in near]
