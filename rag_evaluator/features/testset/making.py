"""Makes a candidate of a slot: writes the question, passes it through the filters, finds all correct contexts."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset.json_values import is_blank
from rag_evaluator.errors import JudgementError
from rag_evaluator.features.testset.checker import AMONG_OTHERS, LIKELY, MEASURED, Checker
from rag_evaluator.features.testset.corpus import DocumentChunk
from rag_evaluator.features.testset.prepare import KINDS, NOT_CHECKED, Candidate, Slot
from rag_evaluator.run.task import Record

DECIMALS = 4  # of a kept vector
ALONE = "its document has no other chunk"
NO_OTHER = "there is no other document"
NOTHING_WRITTEN = "the judge wrote no question, or no answer"


@dataclass(frozen=True)
class CandidateMaker:
    """Makes candidates.

    Attributes:
        useful: places of the chunks that questions are made from.
        checker: what its candidates pass through.
    """

    corpus: Sequence[DocumentChunk]
    useful: frozenset[int]
    checker: Checker

    async def make(self, slot: Slot) -> Record:
        """The candidate with its verdicts, or the reason why there is none."""
        kind = KINDS[slot.kind]
        partner = self._partner(slot)
        if partner is None and kind.contexts != "one":
            return Record(None, ALONE if kind.contexts == "same document" else NO_OTHER)
        chunks = (slot.chunk,) if partner is None else (slot.chunk, partner)
        contexts = tuple(self.corpus[place].text for place in chunks)
        try:
            made = await self.checker.questions.made(kind.prompt, contexts)
        except JudgementError as error:
            return Record(None, str(error), retry=True)
        question, answer = made.question.strip(), made.answer.strip()
        if is_blank(question) or is_blank(answer):
            return Record(None, NOTHING_WRITTEN)
        vector = tuple(await self.checker.embed(question))
        return await self._checked(Candidate(slot.kind, question, answer, chunks, contexts, vector))

    async def _checked(self, candidate: Candidate) -> Record:
        """The candidate with what the filters say, until one leaves it out."""
        is_kept, verdicts = await self.checker.verdicts(candidate)
        second = await self.checker.of_second(candidate) if is_kept else None
        value = {
            **candidate.to_json(),
            "keep": is_kept,
            "verdicts": verdicts,
            "difficulty": difficulty(verdicts),
            "correct": await self._correct(candidate) if is_kept else None,
            "vector": [round(number, DECIMALS) for number in candidate.vector],
        }
        if second is not None:
            value["second"] = {"difficulty": difficulty(second), "verdicts": second}
        return Record(value)

    async def _correct(self, candidate: Candidate) -> dict[str, Any]:
        """Of its own chunks and those near the question the ones that support the answer; its own if none does."""
        if not candidate.is_answerable:
            return {"pool": 0, "chunks": [], "support": {}}
        near = self.checker.neighbours.nearest(candidate.vector, self.checker.settings.neighbours, candidate.chunks)
        pool = [*candidate.chunks, *near]

        async def support(place: int) -> float | None:
            try:
                return await self.checker.questions.support(
                    candidate.question, candidate.answer, self.corpus[place].text
                )
            except JudgementError:
                return None  # the chunk does not fit into the window: not known

        shares = dict(zip(pool, await asyncio.gather(*map(support, pool)), strict=True))
        supporting = {place for place, share in shares.items() if share is not None and share > LIKELY}
        return {
            "pool": len(pool),
            "chunks": sorted(supporting or candidate.chunks),
            "support": {str(place): share for place, share in shares.items()},
        }

    def _partner(self, slot: Slot) -> int | None:
        """The second chunk of a question that needs one: the nearest useful one where the kind looks for it."""
        where = KINDS[slot.kind].contexts
        if where == "one":
            return None
        document = self.corpus[slot.chunk].document
        vector = self.checker.neighbours.vector(slot.chunk)
        if where == "same document":
            inside = [place for place in self._of(document) if place != slot.chunk and place in self.useful]
            vectors = self.checker.neighbours.vectors
            similar = {place: float(vectors[place] @ vectors[slot.chunk]) for place in inside}
            return max(similar, key=lambda place: similar[place], default=None)
        near = self.checker.neighbours.nearest(vector, len(self.corpus), (), {document})
        return next((place for place in near if place in self.useful), None)

    def _of(self, document: str) -> list[int]:
        return [int(place) for place in (self.checker.neighbours.documents == document).nonzero()[0]]


def difficulty(verdicts: dict[str, Any]) -> str | None:
    """`easy`: the model knows the answer by heart; `hard`: not even among similar chunks; None: not measured."""
    measured = [verdicts[name] for name in MEASURED if name in verdicts]
    if any(str(verdict["reason"]).startswith(NOT_CHECKED) for verdict in measured):
        return None
    if "not_known" in verdicts and not verdicts["not_known"]["keep"]:
        return "easy"
    if AMONG_OTHERS not in verdicts:
        return None
    return "medium" if verdicts[AMONG_OTHERS]["keep"] else "hard"
