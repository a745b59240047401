"""Turns facts into running text: pronouns, joined sentences, filler, evasive answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from tools.demo_judge.facts import Fact, capitalised, changed, facts_about, invented_name, shaped_word, value_of
from tools.demo_judge.languages import Relation, World


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


def scene(world: World, most: int = 7) -> Scene:
    """One to `most` facts, fewer at low difficulty; some of the misleading ones share a relation with the target."""
    rng = world.rng
    count = rng.randint(1, 1 + round((most - 1) * world.difficulty))
    kind = rng.choice(world.language.kinds)
    subject = value_of(kind, world)
    target = facts_about(subject, kind, rng.randint(1, min(count, 4)), world)
    others: list[Fact] = []
    while len(target) + len(others) < count:
        other = other_subject(rng.choice(target), world)
        if all((f.relation, f.subject) != (other.relation, other.subject) for f in target + others):
            others.append(other)
    return Scene(target, others)


def other_subject(fact: Fact, world: World) -> Fact:
    """A fact about another subject, at times of the same relation."""
    rng = world.rng
    relation = fact.relation if rng.random() < world.luring else rng.choice(world.language.relations)
    subject = fact.subject
    while subject == fact.subject:
        subject = value_of(relation.kind, world)
    return Fact(relation, subject, value_of(relation.value, world), rng.choice(relation.wordings))


def unmentioned(known: Scene, world: World) -> Fact:
    """A claim the scene says nothing about: another subject, or another relation of the same subject."""
    base = world.rng.choice(known.facts)
    while True:
        if world.rng.random() < 0.5:
            claim = other_subject(base, world)
        else:
            claim = world.rng.choice(facts_about(base.subject, base.relation.kind, 9, world))
        if known.value(claim.relation, claim.subject) is None:
            return claim
        base = world.rng.choice(known.facts)


def wrong(fact: Fact, known: Scene, world: World) -> Fact:
    """The fact with another value, sometimes one that the scene gives to another subject."""
    lures = [f.value for f in known.facts if f.relation.value == fact.relation.value and f.value != fact.value]
    if lures and world.rng.random() < world.luring:
        return Fact(fact.relation, fact.subject, world.rng.choice(lures), fact.wording)
    return changed(fact, world)


def filler(world: World) -> str:
    first, second = world.rng.sample(world.language.nouns, 2)
    one, other = world.rng.choice(world.language.adjectives), world.rng.choice(world.language.adjectives)
    return world.rng.choice(world.language.filler).format(a=one, b=other, n=first, m=second)


def word_salad(world: World) -> str:
    """A sentence no grammar can guess, so that it can only be copied."""
    rng = world.rng
    count = rng.randint(2, 4 + round(5 * world.difficulty))
    chosen = [rng.choice(rng.choice(world.language.salad)) for _ in range(count)]
    if rng.random() < world.difficulty:
        chosen = [invented_name(rng, 1.0).lower() if rng.random() < 0.3 else word for word in chosen]
    if rng.random() < 0.4 * world.difficulty:
        chosen[0] += ","
    if rng.random() < 0.5:
        chosen.insert(rng.randrange(len(chosen) + 1), invented_name(rng, world.difficulty))
    if rng.random() < 0.3:
        chosen.append(str(rng.randint(0, 9999)))
    return capitalised(" ".join(chosen)) + "."


def any_text(world: World, most: int = 10) -> list[str]:
    """Sentences that are no facts of the grammar, up to `most` of them, at times many more."""
    count = world.rng.randint(1, 2 + round((most - 2) * world.difficulty))
    if world.rng.random() < world.difficulty:
        count += world.rng.randint(5, 40)
    if world.rng.random() < 0.5:
        return glued_text(world, count)
    return [strange_sentence(world) for _ in range(count)]


def glued_text(world: World, count: int) -> list[str]:
    """Sentences of words that are glued of a few pieces, some used often: all words are alike and many come again."""
    rng = world.rng
    chosen = [rng.choice(rng.choice(world.language.salad)) for _ in range(rng.randint(10, 60))]
    pieces = [word[start : start + rng.randint(1, 4)] for word in chosen for start in (0, len(word) // 2)]
    lexicon = ["".join(rng.choices(pieces, k=rng.randint(1, 3))) for _ in range(rng.randint(30, 300))]
    lexicon = [word.capitalize() if rng.random() < 0.15 else word for word in lexicon]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(lexicon))))
    return [
        capitalised(" ".join(rng.choices(lexicon, cum_weights=weights, k=rng.randint(4, 20)))) + "."
        for _ in range(count)
    ]


def strange_sentence(world: World) -> str:
    return prose(world) if world.rng.random() < 0.5 else any_sentence(world)


def prose(world: World) -> str:
    """A sentence of real words, of words that only look real, and of numbers, with what stands between words."""
    rng, salad, numbers = world.rng, world.language.salad, ("{}", "{}%", "${}.{}", "{}-{}", "{},{}", "{} °C")
    chosen = []
    for _ in range(rng.randint(4, 20)):
        draw = rng.random()
        word = rng.choice(rng.choice(salad)) if draw < 0.45 else shaped_word(salad, rng)
        if draw > 0.93:
            word = rng.choice(numbers).format(rng.randint(1, 2020), rng.randint(1, 999))
        elif draw > 0.8:
            word = word.capitalize() + "'s" * (rng.random() < 0.15)
        ending = rng.choices(("", ",", ";", ")"), (0.86, 0.1, 0.02, 0.02))[0]
        chosen.append("(" * (ending == ")") + word + ending)
    return capitalised(" ".join(chosen).rstrip(",;")) + "."


def any_sentence(world: World) -> str:
    return filler(world) if world.rng.random() < 0.2 else word_salad(world)


def excerpt(sentence: str, world: World) -> str:
    """Some words in a row out of a sentence."""
    words = sentence.rstrip(".").split()
    length = world.rng.randint(1, min(6, len(words)))
    start = world.rng.randint(0, len(words) - length)
    return " ".join(words[start : start + length]).rstrip(",;")


def told(facts: list[Fact], world: World, change: float) -> list[str]:
    """Sentences about one subject: the first names it, later ones may say he, she or it, or be joined by `and`.

    change: how often, from 0 to 1.
    """
    pronouns, joint = world.language.pronouns, f" {world.language.joint} "
    pronoun = world.rng.choice(pronouns.get(facts[0].relation.kind, pronouns[""]))
    sentences: list[str] = []
    for fact in facts:
        starts = fact.wording.startswith("{s} ") and bool(sentences)
        rest = fact.told(fact.wording.removeprefix("{s} "))
        if starts and joint not in sentences[-1] and world.rng.random() < 0.25 * change:
            sentences[-1] = f"{sentences[-1][:-1]}{joint}{rest}."
        elif starts and world.rng.random() < 0.6 * change:
            sentences.append(capitalised(f"{pronoun}{rest}."))
        else:
            sentences.append(fact.sentence())
    return sentences


def context(known: Scene, world: World) -> str:
    """The scene as running text with filler between; joined by blanks or, as retrieved contexts are, by newlines."""
    rng, difficulty = world.rng, world.difficulty
    blocks = [" ".join(told(known.target, world, difficulty * 0.5))] if rng.random() < 0.5 else []
    loose = known.others + ([] if blocks else known.target)
    blocks += [fact.sentence() for fact in loose]
    blocks += [filler(world) for _ in range(rng.randint(0, round(3 * difficulty)))]
    if rng.random() < 0.04 * difficulty:
        blocks += [filler(world) for _ in range(rng.randint(10, 60))]
    rng.shuffle(blocks)
    return rng.choice((" ", "\n", "\n\n")).join(blocks)


def evasive(fact: Fact, world: World) -> str:
    return capitalised(world.rng.choice(world.language.evasive).format(clause=fact.clause(), about=fact.about()))
