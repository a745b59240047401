"""Which of the candidates become the test set: no two alike, the kinds in their shares, in the order of the slots."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.process import cdist

from rag_evaluator.files import Json, JsonDict, short_digest
from rag_evaluator.run import Record

from .checker import DUPLICATE
from .corpus import Corpus, DocumentChunk
from .prepare import UNANSWERABLE, Slot, in_turn, unit_vectors
from .section import TestsetConfig

AT_ONCE = 256  # questions that are compared with all before them
SAME_WORDS = 100  # whatever their order
SAME_LETTERS = 90  # of 100: two questions that differ in a few letters, or in the order of words
SAME_ANSWER = 80  # of 100: the words that two answers share
SAME_MEANING = 0.95  # cosine


Made = Sequence[tuple[Slot, Record]]  # what became of each slot
Fields = Json  # of a candidate, as `CandidateMaker.make` gives them. Any: JSON
Row = JsonDict  # JSON


def select(made: Made, settings: TestsetConfig) -> tuple[list[int], dict[int, int]]:
    """Choose at most `settings.size` of the candidates that all filters keep.

    Kinds get their shares; what a kind lacks is filled with the others.

    Returns:
        The places of those that were chosen, in order; and place -> place of the question that it repeats.
    """
    kept = {slot.index: record.value for slot, record in made if not record.missing and record.value["keep"]}
    duplicates = duplicates_of(kept) if DUPLICATE in settings.filters else {}
    queues: dict[str, list[int]] = {kind: [] for kind, share in settings.kinds.items() if share > 0}
    for index, fields in kept.items():
        if index not in duplicates:
            queues[fields["kind"]].append(index)
    survivors = sum(map(len, queues.values()))
    chosen: list[int] = []
    for kind in in_turn({kind: settings.kinds[kind] for kind in queues}):
        if len(chosen) == min(settings.size, survivors):
            break
        chosen.append((queues[kind] or max(queues.values(), key=len)).pop(0))
    return sorted(chosen), duplicates


def duplicates_of(kept: Mapping[int, Fields]) -> dict[int, int]:
    """Candidates that repeat an earlier one: the same words, or nearly the same ones and the same answer.

    "How long is the bridge of Arlen?" and "of Tesk?" are nearly the same, too, and two questions.
    """
    indexes = list(kept)
    repeats = dict[int, int]()
    for place, before, letters in _near_ones(list(kept.values())):
        candidate = indexes[place]
        first = indexes[before]
        if candidate in repeats or first in repeats:
            continue
        if letters == SAME_WORDS or _answered_alike(kept[candidate], kept[first]):
            repeats[candidate] = first
    return repeats


def _near_ones(kept: Sequence[Fields]) -> Iterator[tuple[int, int, float]]:
    """Pairs of near questions, in order: place, place of an earlier one, how alike their letters are, of 100."""
    questions = [fields["question"].lower() for fields in kept]
    vectors = unit_vectors(np.asarray([fields["vector"] for fields in kept] or [[]], np.float32))
    for start in range(0, len(kept), AT_ONCE):
        end = min(start + AT_ONCE, len(kept))
        letters = cdist(questions[start:end], questions[:end], scorer=fuzz.token_sort_ratio, dtype=np.float32)
        near = (letters >= SAME_LETTERS) | (vectors[start:end] @ vectors[:end].T >= SAME_MEANING)
        for row, before in np.argwhere(near):
            if before < start + row:
                yield int(start + row), int(before), float(letters[row, before])


def _answered_alike(first: Fields, other: Fields) -> bool:
    """Whether two questions are about a same chunk, and the words of one answer are nearly all in the other."""
    places = [{*fields["chunks"], *fields["correct"]["chunks"]} for fields in (first, other)]
    words = fuzz.token_set_ratio(first["answer"].lower(), other["answer"].lower())
    return not places[0].isdisjoint(places[1]) and words >= SAME_ANSWER


def why(candidate: Record, repeats: int | None) -> tuple[str | None, str | None]:
    """The step that leaves out a candidate, which may repeat another one, and its reason; None for a survivor."""
    if candidate.missing:
        return "question", candidate.reason
    if not candidate.value["keep"]:
        step = next(name for name, verdict in candidate.value["verdicts"].items() if not verdict["keep"])
        return step, candidate.value["verdicts"][step]["reason"]
    return (None, None) if repeats is None else (DUPLICATE, "nearly the same question as another")


def rows_of(made: Made, chosen: Sequence[int], corpus: Sequence[DocumentChunk]) -> Iterator[Row]:
    """The rows of the test set."""
    for index in chosen:
        fields = made[index][1].value
        chunks = [corpus[place] for place in fields["correct"]["chunks"]]
        yield {
            "id": short_digest(f"{fields['question']}\0{fields['answer']}"),
            "user_input": fields["question"],
            "reference": fields["answer"],
            "reference_contexts": [chunk.text for chunk in chunks],
            "reference_places": [place_of(chunk) for chunk in chunks],
            "answerable": fields["kind"] != UNANSWERABLE,
            "kind": fields["kind"],
            "difficulty": fields["difficulty"],
            "made_from": [corpus[place].id for place in fields["chunks"]],
            "recall_known_within": fields["correct"]["pool"],
        }


def place_of(chunk: DocumentChunk) -> Row:
    """Where a chunk is, for users who cut the documents in their own way."""
    return {"document": chunk.document, "start": chunk.start, "end": chunk.end, "headings": list(chunk.headings)}


def details_of(
    made: Made, chosen: Collection[int], duplicates: Mapping[int, int], corpus: Sequence[DocumentChunk]
) -> Iterator[Row]:
    """Every candidate with its verdicts, and what became of it."""
    for slot, candidate in made:
        repeats = duplicates.get(slot.index)
        step, reason = why(candidate, repeats)
        fields = dict(candidate.value or {})
        fields.pop("vector", None)
        yield {
            "candidate": slot.index,
            "kind": slot.kind,
            "chosen": slot.index in chosen,
            "left_out_by": step,
            "reason": reason,
            "repeats": repeats,
            "made_from": [place_of(corpus[place]) for place in fields.pop("chunks", [])],
            **fields,
        }


def summary_of(details: Sequence[Row], corpus: Corpus, wanted: int) -> Row:
    """What was made of what, and how much of it survived."""
    chosen = [candidate for candidate in details if candidate["chosen"]]
    used = {place["document"] for candidate in chosen for place in candidate["made_from"]}
    documents = dict.fromkeys(chunk.document for chunk in corpus.chunks)
    left_out: dict[str, Counter[str]] = {}
    for candidate in details:
        if candidate["left_out_by"]:
            left_out.setdefault(candidate["left_out_by"], Counter())[candidate["reason"]] += 1
    kinds, difficulties = (Counter(str(candidate[name]) for candidate in chosen) for name in ("kind", "difficulty"))
    return {
        "wanted": wanted,
        "chosen": len(chosen),
        "survived": sum(candidate["left_out_by"] is None for candidate in details),
        "candidates": len(details),
        "left_out": {step: dict(counter.most_common()) for step, counter in left_out.items()},
        "kinds": dict(kinds.most_common()),
        "difficulty": dict(difficulties.most_common()),
        "documents": corpus.documents,
        "chunks": len(corpus.chunks),
        "documents_without_questions": [document for document in documents if document not in used],
        "unread": [{"document": entry["id"], "reason": entry["reason"]} for entry in corpus.unread],
    }
