"""A seeded grammar of facts about invented people, places, works and things, each with several wordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from tools.demo_judge import marks, words
from tools.demo_judge.languages import Relation, World


@dataclass(frozen=True)
class Fact:
    """One value of one relation of one subject, with the wording it was first told in; all its texts have marks."""

    relation: Relation
    subject: str
    value: str
    wording: str

    def sentence(self) -> str:
        return capitalised(self.told(self.wording)) + "."

    def told(self, wording: str) -> str:
        value = marks.told(self.value, self.relation.about, self.subject)
        return wording.format(s=marks.name(self.subject), v=value)

    def value_alone(self) -> str:
        """The shortest answer: the value as a sentence."""
        return marks.told(capitalised(self.value), self.relation.about, self.subject) + "."

    def looked(self, said: str, source: str) -> str:
        """What was found on this fact in a field of the input, marked as looked up there."""
        return marks.looked(said, self.relation.about, self.subject, source)

    def about(self) -> str:
        return self.relation.about.format(s=marks.name(self.subject))

    def clause(self) -> str:
        return self.relation.clause.format(s=marks.name(self.subject))

    def question(self) -> str:
        question = self.relation.question.format(s=marks.name(self.subject))
        return marks.asked(question, self.relation.about, self.subject)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def invented_name(rng: Random, difficulty: float) -> str:
    """One capitalised word: a known one while `difficulty` (0 to 1) is low; else random syllables or like an English
    word."""
    if rng.random() >= difficulty:
        return rng.choice(words.NOUNS).capitalize()
    if rng.random() < 0.4:
        return shaped_word((words.COMMON, words.NOUNS), rng).capitalize()
    syllables = rng.choice((2, 2, 2, 3))
    name = "".join(rng.choice(words.ONSETS) + rng.choice(words.NUCLEI) for _ in range(syllables))
    return (name + rng.choice(words.CODAS) * rng.randint(0, 1)).capitalize()


def shaped_word(lists: Sequence[Sequence[str]], rng: Random) -> str:
    """A word whose letters follow one another as in the words of the lists."""
    followers, word = _followers(tuple(map(tuple, lists))), ""
    while len(word) < 3 or len(word) > 14:
        word = "  "
        while word[-1] != "." and len(word) < 20:
            word += rng.choice(followers[word[-2:]])
        word = word.strip(" .")
    return word


@cache
def _followers(lists: Sequence[Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """Two letters -> those that come next; blanks before a word, a full stop after it."""
    found: dict[str, list[str]] = {}
    for padded in (f"  {word.lower()}." for some in lists for word in some):
        for index in range(len(padded) - 2):
            found.setdefault(padded[index : index + 2], []).append(padded[index + 2])
    return found


_NUMBERS = {"year": (1500, 2029), "number": (2, 900), "population": (11, 9999)}


def value_of(kind: str, world: World) -> str:
    """A random subject or value of a kind."""
    rng, language = world.rng, world.language
    if kind in _NUMBERS:
        return str(rng.randint(*_NUMBERS[kind]))
    if kind in language.words:
        return rng.choice(language.words[kind])
    if kind not in language.templates:
        names = 2 if kind == "person" and rng.random() < world.difficulty else 1
        return " ".join(invented_name(rng, world.difficulty) for _ in range(names))
    noun, adjective = rng.choice(language.nouns), rng.choice(language.adjectives)
    return rng.choice(language.templates[kind]).format(
        name=invented_name(rng, world.difficulty),
        noun=noun,
        adjective=adjective,
        Noun=invented_name(rng, 1.0) if rng.random() < world.difficulty * 0.5 else noun.capitalize(),
        Adjective=adjective.capitalize(),
        day=rng.randint(1, 28),
    )


def facts_about(subject: str, kind: str, count: int, world: World) -> list[Fact]:
    """Up to `count` facts of different relations about one subject."""
    relations = [relation for relation in world.language.relations if relation.kind == kind]
    return [
        Fact(relation, subject, value_of(relation.value, world), _wording(relation, world))
        for relation in world.rng.sample(relations, min(count, len(relations)))
    ]


def _wording(relation: Relation, world: World) -> str:
    free = world.rng.random() < 0.2 + 0.8 * world.difficulty
    return world.rng.choice(relation.wordings) if free else relation.wordings[0]


def changed(fact: Fact, world: World) -> Fact:
    """The same claim with another value, for years and numbers often a near one."""
    rng, value = world.rng, fact.value
    while value == fact.value:
        value = value_of(fact.relation.value, world)
        if value.isdigit() and len(fact.value) == len(value) and rng.random() < 0.5:
            place = rng.randrange(1, len(value)) if len(value) > 1 else 0
            value = fact.value[:place] + value[place] + fact.value[place + 1 :]
    return replace(fact, value=value)


def reworded(fact: Fact, world: World) -> Fact:
    """The same fact, at higher difficulty often told in another wording."""
    if world.rng.random() >= world.difficulty * 0.6:
        return fact
    return replace(fact, wording=world.rng.choice(fact.relation.wordings))
