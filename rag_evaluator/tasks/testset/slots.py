"""What is to be made: the kinds of questions, the places of a test set (`Slot`), and the candidates for them."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from rag_evaluator.dataset.documents.corpus import DocumentChunk
from rag_evaluator.files.digest import short_digest


@dataclass(frozen=True)
class Kind:
    """A kind of question.

    Attributes:
        prompt: attribute of the prompt that makes it.
        contexts: one chunk; a second one of the same document; or of another, as near as there is one.
        about: one line of meaning.
        answerable: whether the documents hold the answer.
    """

    prompt: str
    contexts: Literal["one", "same document", "other document"]
    about: str
    answerable: bool = True


KINDS: Mapping[str, Kind] = {
    "single_fact": Kind("single_fact_prompt", "one", "one fact of one chunk"),
    "reasoning": Kind("reasoning_prompt", "one", "what follows from two facts of a chunk"),
    "several_chunks": Kind("several_chunks_prompt", "same document", "facts of two chunks of one document"),
    "across_documents": Kind("across_documents_prompt", "other document", "facts of two documents that are connected"),
    "comparison": Kind("comparison_prompt", "other document", "how things of two documents differ"),
    "list": Kind("list_prompt", "one", "all of several things that a chunk names"),
    "unanswerable": Kind("unanswerable_prompt", "one", "what a chunk nearly tells, and does not", answerable=False),
    "false_premise": Kind("false_premise_prompt", "one", "takes for granted what a chunk contradicts"),
}


def in_turn(shares: Mapping[str, float]) -> Iterator[str]:
    """Kinds without end, so that any first n of them have the shares as nearly as n allows."""
    counts = dict.fromkeys(shares, 0)
    total = sum(shares.values())
    for count in itertools.count(1):
        kind = max(counts, key=lambda name: shares[name] / total * count - counts[name])
        counts[kind] += 1
        yield kind


NOT_CHECKED = "could not be checked"  # how the reason of a verdict begins that is none


@dataclass(frozen=True)
class FilterVerdict:
    """What a filter says.

    Attributes:
        keep: whether the candidate stays.
        reason: why not, or why it could not be checked.
        details: what the filter saw: answers, probabilities. Any: JSON.
    """

    keep: bool
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"keep": self.keep, "reason": self.reason, **self.details}


@dataclass(frozen=True)
class Candidate:
    """A question that may become part of a test set.

    Attributes:
        kind: name of a row of `KINDS`.
        question, answer: texts without blanks around them.
        chunks: places in the corpus of what it was made from.
        contexts: their texts.
        vector: of the question.
    """

    kind: str
    question: str
    answer: str
    chunks: tuple[int, ...]
    contexts: tuple[str, ...]
    vector: tuple[float, ...] = field(repr=False, default=())

    @property
    def is_answerable(self) -> bool:
        """Whether its documents are meant to hold the answer."""
        return KINDS[self.kind].answerable

    def to_json(self) -> dict[str, Any]:
        """All but texts and vector, which are kept elsewhere."""
        fields = asdict(self)
        return {name: fields[name] for name in ("kind", "question", "answer", "chunks")}


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
