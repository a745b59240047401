"""Which questions are made: each candidate has its kind and the chunk that it begins with, known before any judge."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_evaluator.dataset.documents.chunks import DocumentChunk
from rag_evaluator.files.digest import short_digest
from rag_evaluator.tasks.testset.kinds import KINDS, in_turn

FEWEST_BYTES = 100  # of a chunk in UTF-8: a heading alone has nothing to ask about


@dataclass(frozen=True)
class Slot:
    """A place for a question.

    Attributes:
        index: place in the stage.
        kind: name of a row of `KINDS`.
        chunk: place of the first chunk in the corpus.
        chunk_id: of this chunk.
    """

    index: int
    kind: str
    chunk: int
    chunk_id: str

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of kind and chunk, wherever both stand."""
        return short_digest(f"{self.kind}\0{self.chunk_id}")


def useful(corpus: Sequence[DocumentChunk]) -> list[int]:
    """Places of the chunks that questions can be made from."""
    return [place for place, chunk in enumerate(corpus) if len(chunk.text.encode()) >= FEWEST_BYTES]


def most_slots(places: Sequence[int], shares: Mapping[str, float]) -> int:
    """How many candidates a corpus can give: each useful chunk once for each kind."""
    return len(places) * sum(share > 0 for share in shares.values())


def slots_of(
    corpus: Sequence[DocumentChunk], places: Sequence[int], shares: Mapping[str, float], count: int, seed: int
) -> list[Slot]:
    """The first `count` slots, or all that there are; more of them begin with the same ones.

    Args:
        places: of useful chunks.
        shares: kind -> share.
    """
    orders = {kind: iter(_shuffled(places, f"{seed}\0{kind}")) for kind in KINDS if shares.get(kind, 0) > 0}
    slots: list[Slot] = []
    for kind in in_turn({kind: shares[kind] for kind in orders}):
        if len(slots) == count or not orders:
            break
        if kind not in orders:
            continue
        place = next(orders[kind], None)
        if place is None:
            del orders[kind]
            continue
        slots.append(Slot(len(slots), kind, place, corpus[place].id))
    return slots


def _shuffled(places: Sequence[int], seed: str) -> list[int]:
    return random.Random(seed).sample(places, len(places))
