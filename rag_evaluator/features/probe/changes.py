"""The changes: each makes of a row one that is worse by construction, or one that is just as good."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise, product, zip_longest
from typing import Any

from rag_evaluator.config import Language, sentences
from rag_evaluator.dataset import Sample

from .facts import (
    EVASIVE,
    Fact,
    Names,
    are_near,
    followed_by,
    holds,
    is_alternative,
    is_claim,
    normalised,
    numbers,
    shared,
    written_otherwise,
)

Columns = Mapping[str, Any]  # canonical columns: texts and lists of texts
KINDS = ("number", "name")  # of facts
MANY = 200  # rows that are looked at for a replacement
BESIDE = ("retrieved_context_ids", "document_score")  # of contexts that are changed
MOST_SHARED = 0.5  # of an answer, by contexts that are no help, and by other answers
LEAST_SHARED = 0.6  # of the reference, by the context that it comes from
BRACKETS = ("()", "（）", "[]", "《》", "「」", "“”")
ORDINAL = re.compile(r"(?<!\d)\d{1,2}\.\s*$")  # "im 17. Jahrhundert": no sentence ends there


@dataclass(frozen=True)
class Material:
    """What changes draw from.

    Attributes:
        samples: rows of the dataset, the good side of each, see `good_side`.
        language: of the texts.
        seed: of all choices.
    """

    samples: Sequence[Sample]
    language: Language
    seed: int

    @cached_property
    def texts(self) -> list[str]:
        return [text for sample in self.samples for text in _texts(sample.columns)]

    @cached_property
    def names(self) -> Names:
        return Names(self.texts, self.language)

    @cached_property
    def known(self) -> dict[tuple[str, str], list[str]]:
        """Kind and shape of a fact -> all such numbers or names in the samples, sorted."""
        known: dict[tuple[str, str], set[str]] = {}
        for kind, text in product(KINDS, self.texts):
            for fact in self.facts(kind, text):
                known.setdefault((kind, fact.shape), set()).add(fact.text)
        return {key: sorted(texts) for key, texts in known.items()}

    def facts(self, kind: str, text: str) -> list[Fact]:
        """The numbers or the names of a text."""
        return numbers(text, self.language) if kind == "number" else self.names.of(text)

    def chance(self, probe: str, sample: Sample) -> random.Random:
        """Random numbers of one row and probe."""
        return random.Random(f"{self.seed}\0{probe}\0{sample.digest}")

    def others(self, probe: str, sample: Sample) -> Iterator[Sample]:
        """Rows with another question, in random order."""
        count = len(self.samples)
        question = _question(sample)
        for place in self.chance(probe, sample).sample(range(count), min(MANY, count)):
            other = self.samples[place]
            if other.index != sample.index and (not question or _question(other) != question):
                yield other


def good_side(sample: Sample) -> Sample:
    """The row with its reference as the response, where there is one; scores and ids of contexts are left out."""
    columns = {name: value for name, value in sample.columns.items() if name not in BESIDE}
    if sample.has("reference"):
        columns["response"] = sample.columns["reference"]
    return replace(sample, columns=columns)


def other_answer(sample: Sample, material: Material) -> Columns | None:
    """The response of another row, which has little in common with this one, and does not occur in the contexts."""
    response = sample.columns["response"]
    texts_of_row = [_question(sample), *sample.columns.get("retrieved_contexts", ())]
    for other in material.others("other_answer", sample):
        text = other.columns["response"] if other.has("response") else ""
        if text and not _are_alike(text, response) and not any(holds(place, text) for place in texts_of_row):
            return {"response": text}
    return None


def _are_alike(first: str, second: str) -> bool:
    """Whether two answers may say the same: one has most of what the other says."""
    common = max(shared(first, second), shared(second, first))
    return common > MOST_SHARED or holds(first, second) or holds(second, first)


def changed_fact(kind: str, sample: Sample, material: Material) -> Columns | None:
    """A number or a name of the response, replaced by another one of the dataset."""
    chance = material.chance(f"changed_{kind}", sample)
    parts = sentences(sample.columns["response"], material.language)
    for place in chance.sample(range(len(parts)), len(parts)):
        if wrong := _replaced(parts[place], kind, sample, material, chance):
            return {"response": "".join([*parts[:place], wrong, *parts[place + 1 :]])}
    return None


def contradiction(sample: Sample, material: Material) -> Columns | None:
    """The response with a sentence of the contexts after it, in which a number or a name was replaced."""
    chance = material.chance("contradiction", sample)
    contexts = sample.columns["retrieved_contexts"]
    texts = [text for context in contexts for text in _whole_sentences(context, material.language)]
    for text in chance.sample(texts, len(texts)):
        for kind in KINDS:
            if wrong := _replaced(text, kind, sample, material, chance):
                return {"response": followed_by(sample.columns["response"], wrong, material.language)}
    return None


def other_contexts(sample: Sample, material: Material) -> Columns | None:
    """The contexts of another row, none of which holds the answer or most of it."""
    response = sample.columns["response"]
    contexts_of_row = set(map(normalised, sample.columns["retrieved_contexts"]))
    for other in material.others("other_contexts", sample):
        contexts = other.columns["retrieved_contexts"] if other.has("retrieved_contexts") else []
        if (
            contexts
            and contexts_of_row.isdisjoint(map(normalised, contexts))
            and not any(_helps(text, response) for text in contexts)
        ):
            return {"retrieved_contexts": contexts}
    return None


def as_many_contexts(sample: Sample, material: Material) -> Columns | None:
    """As many contexts of other rows, one of each in turn, none of which holds the answer or a good part of it."""
    response = sample.columns["response"]
    own = sample.columns["retrieved_contexts"]
    chance = material.chance("context_of_row", sample)
    lists = [other.columns.get("retrieved_contexts", ()) for other in material.others("as_many_contexts", sample)]
    in_turn = chain.from_iterable(zip_longest(*(chance.sample(texts, len(texts)) for texts in lists), fillvalue=""))
    seen = set(map(normalised, own))
    drawn = list[str]()
    for text in in_turn:
        if len(drawn) == len(own):
            break
        if (key := normalised(text)) and key not in seen and not _helps(text, response):
            seen.add(key)
            drawn.append(text)
    return {"retrieved_contexts": drawn} if len(drawn) == len(own) else None


def dropped_context(sample: Sample, material: Material) -> Columns | None:
    """The contexts without the one that shares most with the reference, where no other helps."""
    contexts = sample.columns["retrieved_contexts"]
    reference = sample.columns["reference"]
    shares = [shared(text, reference) for text in contexts]
    best = shares.index(max(shares))
    left = [text for rank, text in enumerate(contexts) if rank != best]
    if not left or shares[best] < LEAST_SHARED or any(_helps(text, reference) for text in left):
        return None
    return {"retrieved_contexts": left}


def _helps(context: str, answer: str) -> bool:
    """Whether a context holds an answer, or a good part of it."""
    return holds(context, answer) or shared(context, answer) > MOST_SHARED


def shuffled_contexts(sample: Sample, material: Material) -> Columns | None:
    """The contexts in another order: those that should be found come last."""
    expected = set(map(normalised, sample.columns["reference_contexts"]))
    contexts = sample.columns["retrieved_contexts"]
    relevant = [text for text in contexts if normalised(text) in expected]
    order = [*(text for text in contexts if normalised(text) not in expected), *relevant]
    return {"retrieved_contexts": order} if relevant and order != list(contexts) else None


def evasive(sample: Sample, material: Material) -> Columns | None:
    """An answer that says nothing."""
    text = EVASIVE.get(material.language.name)
    return None if text is None else {"response": text}


def same_text(sample: Sample, material: Material) -> Columns | None:
    """The response and the contexts with other quotes and spaces."""
    contexts = [written_otherwise(text) for text in sample.columns.get("retrieved_contexts", ())]
    texts = {"response": written_otherwise(sample.columns["response"])}
    return {**texts, "retrieved_contexts": contexts} if contexts else texts


def longer(sample: Sample, material: Material) -> Columns | None:
    """The response said twice."""
    response = sample.columns["response"]
    return {"response": followed_by(response, response, material.language)}


def _replaced(text: str, kind: str, sample: Sample, material: Material, chance: random.Random) -> str | None:
    """A sentence with one of its facts replaced by one that the row does not know; None if there is no such."""
    facts = [fact for fact in material.facts(kind, text) if not is_alternative(text, fact.start, fact.end)]
    if not is_claim(text):
        return None
    texts_of_row = [*_texts(sample.columns), text]
    for fact in chance.sample(facts, len(facts)):
        candidates = material.known.get((kind, fact.shape), ())
        for new in chance.sample(candidates, min(MANY, len(candidates))):
            is_known = any(holds(place, new) for place in texts_of_row)
            if not is_known and not (kind == "number" and are_near(fact.text, new)):
                return text[: fact.start] + new + text[fact.end :]
    return None


def _whole_sentences(text: str, language: Language) -> Iterator[str]:
    """The sentences of a text, without those that were cut off after an ordinal number or within brackets."""
    parts = ["", *sentences(text, language)]
    for before, part in pairwise(parts):
        is_cut = ORDINAL.search(before) or ORDINAL.search(part)
        if not is_cut and all(part.count(pair[0]) == part.count(pair[1]) for pair in BRACKETS):
            yield part.strip()


def _question(sample: Sample) -> str:
    return normalised(sample.columns.get("user_input", ""))


def _texts(columns: Columns) -> list[str]:
    texts = [value for value in columns.values() if isinstance(value, str)]
    lists = [value for value in columns.values() if isinstance(value, list)]
    return texts + [text for value in lists for text in value if isinstance(text, str)]
