"""The changes: each makes of a row one that is worse by construction, or one that is just as good."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluator.dataset import Sample
from rag_evaluator.languages import Language, sentences
from rag_evaluator.tasks.probe.facts import Fact, Names, numbers
from rag_evaluator.tasks.probe.texts import EVASIVE, followed_by, holds, normalised, written_otherwise

Columns = Mapping[str, Any]  # canonical columns: texts and lists of texts
MANY = 200  # rows that are looked at for a replacement


@dataclass(frozen=True)
class Material:
    """What changes draw from.

    Attributes:
        samples: the rows of the dataset, the good side of each: `response` is the reference where there is one.
        language: of the texts.
        names: finds names in them.
        numbers, titles: every number and every name of the dataset, by shape, in order of appearance.
        seed: of all choices.
    """

    samples: Sequence[Sample]
    language: Language
    names: Names
    numbers: Mapping[str, Sequence[str]]
    titles: Mapping[str, Sequence[str]]
    seed: int = 0

    def chance(self, probe: str, sample: Sample) -> random.Random:
        """Random numbers of one row and probe."""
        return random.Random(f"{self.seed}\0{probe}\0{sample.digest}")

    def others(self, probe: str, sample: Sample) -> Iterator[Sample]:
        """Other rows, in random order."""
        count = len(self.samples)
        for place in self.chance(probe, sample).sample(range(count), min(MANY, count)):
            if self.samples[place].index != sample.index:
                yield self.samples[place]


def material_of(samples: Sequence[Sample], language: Language, seed: int = 0) -> Material:
    """The material of a dataset."""
    texts = [text for sample in samples for text in _texts(sample.columns)]
    names = Names(texts, language)
    return Material(
        samples,
        language,
        names,
        _by_shape(fact for text in texts for fact in numbers(text, language)),
        _by_shape(fact for text in texts for fact in names.of(text)),
        seed,
    )


def good_side(sample: Sample) -> Sample:
    """The row with its reference as the response, where there is one."""
    if not sample.has("reference"):
        return sample
    return with_columns(sample, response=sample.columns["reference"])


def with_columns(sample: Sample, **changed: Any) -> Sample:
    """The row with other values in some columns; its own columns are not shown any more."""
    columns = {**sample.columns, **changed}
    return Sample(sample.index, columns, columns, sample.where)


def other_answer(sample: Sample, material: Material) -> Columns | None:
    """The response of another row, which neither says the same nor stands in the contexts."""
    response = sample.columns["response"]
    own = [sample.columns["user_input"], *sample.columns.get("retrieved_contexts", ())]
    for other in material.others("other_answer", sample):
        text = other.columns.get("response", "")
        if text.strip() and not any(holds(place, text) for place in [*own, response]) and not holds(text, response):
            return {"response": text}
    return None


def changed_number(sample: Sample, material: Material) -> Columns | None:
    """A number of the response, replaced by another one of the dataset."""
    return _changed(sample, material, "changed_number", numbers(sample.columns["response"], material.language))


def changed_name(sample: Sample, material: Material) -> Columns | None:
    """A name in the response, replaced by another one of the dataset."""
    return _changed(sample, material, "changed_name", material.names.of(sample.columns["response"]))


def contradiction(sample: Sample, material: Material) -> Columns | None:
    """The response with a sentence of the contexts after it, in which a number or a name was replaced."""
    chance = material.chance("contradiction", sample)
    texts = [text for context in sample.columns["retrieved_contexts"] for text in sentences(context, material.language)]
    chance.shuffle(texts)
    for text in map(str.strip, texts):
        for facts in (numbers(text, material.language), material.names.of(text)):
            if wrong := _replaced(text, facts, sample, material, chance):
                return {"response": followed_by(sample.columns["response"], wrong, material.language)}
    return None


def other_contexts(sample: Sample, material: Material) -> Columns | None:
    """The contexts of another row, none of which holds the answer."""
    own = set(map(normalised, sample.columns["retrieved_contexts"]))
    for other in material.others("other_contexts", sample):
        contexts = other.columns.get("retrieved_contexts", [])
        shared = own.intersection(map(normalised, contexts))
        if contexts and not shared and not any(holds(text, sample.columns["response"]) for text in contexts):
            return {"retrieved_contexts": contexts}
    return None


def dropped_context(sample: Sample, material: Material) -> Columns | None:
    """The contexts without the only one that holds the reference."""
    contexts = sample.columns["retrieved_contexts"]
    holding = [rank for rank, text in enumerate(contexts) if holds(text, sample.columns["reference"])]
    if len(contexts) < 2 or len(holding) != 1:
        return None
    return {"retrieved_contexts": [text for rank, text in enumerate(contexts) if rank != holding[0]]}


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


Change = Callable[[Sample, Material], Columns | None]


def _changed(sample: Sample, material: Material, probe: str, facts: Sequence[Fact]) -> Columns | None:
    text = _replaced(sample.columns["response"], facts, sample, material, material.chance(probe, sample))
    return None if text is None else {"response": text}


def _replaced(
    text: str, facts: Sequence[Fact], sample: Sample, material: Material, chance: random.Random
) -> str | None:
    """A text with one of its facts replaced by one that the row does not know; None if there is no such."""
    own = [*_texts(sample.columns), text]
    for fact in chance.sample(list(facts), len(facts)):
        known = material.numbers if fact.text[0].isdecimal() else material.titles
        candidates = known.get(fact.shape, ())
        for new in chance.sample(candidates, min(MANY, len(candidates))):
            if not any(holds(place, new) for place in own):
                return text[: fact.start] + new + text[fact.end :]
    return None


def _texts(columns: Columns) -> list[str]:
    texts = [value for value in columns.values() if isinstance(value, str)]
    lists = [value for value in columns.values() if isinstance(value, list)]
    return texts + [text for value in lists for text in value if isinstance(text, str)]


def _by_shape(facts: Iterable[Fact]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for fact in facts:
        found.setdefault(fact.shape, {})[fact.text] = None
    return {shape: list(texts) for shape, texts in found.items()}
