"""Turns facts into running text: pronouns, joined sentences, filler, evasive answers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tools.demo_judge import words
from tools.demo_judge.facts import (
    KINDS,
    RELATIONS,
    Fact,
    Relation,
    capitalised,
    changed,
    facts_about,
    invented_name,
    value_of,
)

VAGUE = (
    "I don't know.",
    "I'm not sure.",
    "It depends.",
    "I cannot answer that question.",
    "That is hard to say.",
    "I have no information about that.",
)
EVASIVE = (
    "I don't know {clause}.",
    "I do not know {clause}.",
    "I'm not sure {clause}.",
    "I cannot say {clause}.",
    "I have no idea {clause}.",
    "I don't have any information about {about}.",
    "Sorry, I am not sure about {about}.",
    "It is not clear {clause}.",
    "I cannot find {about} in the documents.",
    "It depends on many things {clause}.",
)
_FILLER = (
    "There was a {a} {n} near the {m}.",
    "Nobody talked about the {n} that day.",
    "Some {n}s are {a} and some are {b}.",
    "The weather was {a} and the {n} was {b}.",
    "People often put a {n} on the {m}.",
    "A {a} {n} is better than a {b} {m}.",
    "This page was last changed by a {a} {n}.",
    "Many {n}s were sold at the market.",
)


@dataclass(frozen=True)
class Scene:
    """Facts a context tells: some about one subject, the others to mislead."""

    target: list[Fact]
    others: list[Fact]

    @property
    def facts(self) -> list[Fact]:
        return self.target + self.others

    def value(self, relation: Relation, subject: str) -> str | None:
        """What the scene says on a relation of a subject, None if it says nothing."""
        return next((f.value for f in self.facts if f.relation is relation and f.subject == subject), None)


def scene(rng: Random, difficulty: float, most: int = 7) -> Scene:
    """One to `most` facts, fewer at low difficulty; half of the misleading ones share a relation with the target."""
    count = rng.randint(1, 1 + round((most - 1) * difficulty))
    kind = rng.choice(KINDS)
    subject = value_of(kind, rng, difficulty)
    target = facts_about(subject, kind, rng.randint(1, min(count, 4)), rng, difficulty)
    others: list[Fact] = []
    while len(target) + len(others) < count:
        other = other_subject(rng.choice(target), rng, difficulty)
        if all((f.relation, f.subject) != (other.relation, other.subject) for f in target + others):
            others.append(other)
    return Scene(target, others)


def other_subject(fact: Fact, rng: Random, difficulty: float) -> Fact:
    """A fact about another subject, half of the time of the same relation."""
    relation = fact.relation if rng.random() < 0.5 else rng.choice(RELATIONS)
    subject = fact.subject
    while subject == fact.subject:
        subject = value_of(relation.kind, rng, difficulty)
    return Fact(relation, subject, value_of(relation.value, rng, difficulty), rng.choice(relation.wordings))


def unmentioned(known: Scene, rng: Random, difficulty: float) -> Fact:
    """A claim the scene says nothing about: another subject, or another relation of the same subject."""
    base = rng.choice(known.facts)
    while True:
        if rng.random() < 0.5:
            claim = other_subject(base, rng, difficulty)
        else:
            claim = rng.choice(facts_about(base.subject, base.relation.kind, 9, rng, difficulty))
        if known.value(claim.relation, claim.subject) is None:
            return claim


def wrong(fact: Fact, known: Scene, rng: Random, difficulty: float) -> Fact:
    """The fact with another value, sometimes one that the scene gives to another subject."""
    lures = [f.value for f in known.facts if f.relation.value == fact.relation.value and f.value != fact.value]
    if lures and rng.random() < 0.5:
        return Fact(fact.relation, fact.subject, rng.choice(lures), fact.wording)
    return changed(fact, rng, difficulty)


def filler(rng: Random) -> str:
    first, second = rng.sample(words.NOUNS, 2)
    sentence = rng.choice(_FILLER)
    return sentence.format(a=rng.choice(words.ADJECTIVES), b=rng.choice(words.ADJECTIVES), n=first, m=second)


def word_salad(rng: Random, difficulty: float) -> str:
    """A sentence no grammar can guess, so that it can only be copied."""
    pool = (words.COMMON, words.NOUNS, words.ADJECTIVES, words.PROFESSIONS)
    chosen = [rng.choice(rng.choice(pool)) for _ in range(rng.randint(2, 4 + round(5 * difficulty)))]
    if rng.random() < 0.5:
        chosen.insert(rng.randrange(len(chosen) + 1), invented_name(rng, difficulty))
    if rng.random() < 0.3:
        chosen.append(str(rng.randint(0, 9999)))
    return capitalised(" ".join(chosen)) + "."


def told(facts: list[Fact], rng: Random, difficulty: float) -> list[str]:
    """Sentences about one subject: the first names it, later ones may say he, she or it, or be joined by `and`."""
    pronoun = rng.choice(("He", "She")) if facts[0].relation.kind == "person" else "It"
    sentences: list[str] = []
    for fact in facts:
        starts = fact.wording.startswith("{s} ") and bool(sentences)
        rest = fact.wording.removeprefix("{s} ").format(s=fact.subject, v=fact.value)
        if starts and " and " not in sentences[-1] and rng.random() < 0.25 * difficulty:
            sentences[-1] = f"{sentences[-1][:-1]} and {rest}."
        elif starts and rng.random() < 0.6 * difficulty:
            sentences.append(f"{pronoun} {rest}.")
        else:
            sentences.append(fact.sentence())
    return sentences


def context(known: Scene, rng: Random, difficulty: float) -> str:
    """The scene as running text with filler between; joined by blanks or, as retrieved contexts are, by newlines."""
    blocks = [" ".join(told(known.target, rng, difficulty * 0.5))] if rng.random() < 0.5 else []
    loose = known.others + ([] if blocks else known.target)
    blocks += [fact.sentence() for fact in loose]
    blocks += [filler(rng) for _ in range(rng.randint(0, round(3 * difficulty)))]
    if rng.random() < 0.04 * difficulty:
        blocks += [filler(rng) for _ in range(rng.randint(10, 60))]
    rng.shuffle(blocks)
    return rng.choice((" ", "\n", "\n\n")).join(blocks)


def evasive(fact: Fact, rng: Random) -> str:
    return capitalised(rng.choice(EVASIVE).format(clause=fact.clause(), about=fact.about()))
