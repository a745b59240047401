"""Makes a candidate of a slot: writes the question, passes it through the filters, finds all correct contexts."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.config_testset import TestsetConfig
from rag_evaluator.dataset import is_blank
from rag_evaluator.dataset.documents.chunks import Chunk
from rag_evaluator.errors import JudgementError
from rag_evaluator.languages import Language
from rag_evaluator.run.task import Record
from rag_evaluator.tasks.testset.candidate import Candidate, Verdict
from rag_evaluator.tasks.testset.filters import FILTERS, LIKELY
from rag_evaluator.tasks.testset.kinds import KINDS
from rag_evaluator.tasks.testset.neighbours import Neighbours
from rag_evaluator.tasks.testset.questions import Questions
from rag_evaluator.tasks.testset.slots import Slot

DECIMALS = 4  # of a kept vector
ALONE = "its document has no other chunk"
NO_OTHER = "there is no other document"
NOTHING_WRITTEN = "the judge wrote no question, or no answer"
Embed = Callable[[str], Awaitable[list[float]]]


@dataclass(frozen=True)
class Maker:
    """Makes candidates.

    Attributes:
        useful: places of the chunks that questions are made from.
        embed: the vector of a text.
    """

    corpus: Sequence[Chunk]
    useful: frozenset[int]
    neighbours: Neighbours
    questions: Questions
    embed: Embed
    language: Language
    settings: TestsetConfig

    async def make(self, slot: Slot) -> Record:
        """The candidate with its verdicts, or the reason why there is none."""
        kind = KINDS[slot.kind]
        partner = self._partner(slot)
        if partner is None and kind.contexts != "one":
            return Record(None, ALONE if kind.contexts == "same document" else NO_OTHER)
        chunks = (slot.chunk,) if partner is None else (slot.chunk, partner)
        contexts = tuple(self.corpus[place].text for place in chunks)
        try:
            made = await self.questions.made(kind.prompt, contexts)
        except JudgementError as error:
            return Record(None, str(error), retry=True)
        question, answer = made.question.strip(), made.answer.strip()
        if is_blank(question) or is_blank(answer):
            return Record(None, NOTHING_WRITTEN)
        vector = tuple(await self.embed(question))
        return await self._checked(Candidate(slot.kind, question, answer, chunks, contexts, vector))

    async def _checked(self, candidate: Candidate) -> Record:
        """The candidate with what the filters say, until one leaves it out."""
        verdicts: dict[str, Any] = {}
        is_kept = True
        for name in [name for name in FILTERS if name in self.settings.filters]:
            verdict = await self._verdict(name, candidate)
            verdicts[name] = verdict.to_json()
            is_kept = is_kept and (verdict.keep or (self.settings.keep_hard and name == "names_document"))
            if not is_kept and not self.settings.all_filters:
                break
        value = {
            **candidate.to_json(),
            "keep": is_kept,
            "verdicts": verdicts,
            "difficulty": difficulty(verdicts),
            "correct": await self._correct(candidate) if is_kept else None,
            "vector": [round(number, DECIMALS) for number in candidate.vector],
        }
        return Record(value)

    async def _verdict(self, name: str, candidate: Candidate) -> Verdict:
        try:
            return await FILTERS[name].check(candidate, self)
        except JudgementError as error:  # what could not be checked is not trusted
            return Verdict(False, f"could not be checked: {error}")

    async def _correct(self, candidate: Candidate) -> dict[str, Any]:
        """Of its own chunks and those near the question the ones that support the answer; its own if none does."""
        if not candidate.is_answerable:
            return {"pool": 0, "chunks": [], "support": {}}
        near = self.neighbours.nearest(candidate.vector, self.settings.neighbours, candidate.chunks)
        pool = [*candidate.chunks, *near]

        async def support(place: int) -> float | None:
            try:
                return await self.questions.support(candidate.question, candidate.answer, self.corpus[place].text)
            except JudgementError:
                return None  # the chunk does not fit into the window: not known

        shares = dict(zip(pool, await asyncio.gather(*map(support, pool)), strict=True))
        supporting = {place for place, share in shares.items() if share is not None and share > LIKELY}
        return {
            "pool": len(pool),
            "chunks": sorted(supporting or candidate.chunks),
            "support": {str(place): share for place, share in shares.items()},
        }

    def distractors(self, candidate: Candidate) -> list[str]:
        own = {self.corpus[place].document for place in candidate.chunks}
        near = self.neighbours.nearest(candidate.vector, self.settings.neighbours, candidate.chunks, own)
        return [self.corpus[place].text for place in near]

    def _partner(self, slot: Slot) -> int | None:
        """The second chunk of a question that needs one: the nearest useful one where the kind looks for it."""
        where = KINDS[slot.kind].contexts
        if where == "one":
            return None
        own = self.corpus[slot.chunk].document
        vector = self.neighbours.vector(slot.chunk)
        if where == "same document":
            inside = [place for place in self._of(own) if place != slot.chunk and place in self.useful]
            similar = {
                place: float(self.neighbours.vectors[place] @ self.neighbours.vectors[slot.chunk]) for place in inside
            }
            return max(similar, key=lambda place: similar[place], default=None)
        near = self.neighbours.nearest(vector, len(self.corpus), (), {own})
        return next((place for place in near if place in self.useful), None)

    def _of(self, document: str) -> list[int]:
        return [int(place) for place in (self.neighbours.documents == document).nonzero()[0]]


def difficulty(verdicts: dict[str, Any]) -> str | None:
    """`easy`: the judge knows the answer by heart; `hard`: not even among similar chunks; None: not measured."""
    if "not_known" in verdicts and not verdicts["not_known"]["keep"]:
        return "easy"
    if "names_document" not in verdicts:
        return None
    return "medium" if verdicts["names_document"]["keep"] else "hard"
