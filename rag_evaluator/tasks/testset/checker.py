"""Passes candidates through the filters, among the chunks that are nearest to their questions."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_evaluator.config_testset import TestsetConfig
from rag_evaluator.errors import JudgementError
from rag_evaluator.languages import Language
from rag_evaluator.tasks.testset.candidate import NOT_CHECKED, Candidate, FilterVerdict
from rag_evaluator.tasks.testset.filters import FILTERS
from rag_evaluator.tasks.testset.neighbours import Neighbours
from rag_evaluator.tasks.testset.questions import Questions

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
        own = {str(self.neighbours.documents[place]) for place in candidate.chunks}
        near = self.neighbours.nearest(candidate.vector, self.settings.neighbours, candidate.chunks, own)
        return [self.text(place) for place in near]
