"""A seeded grammar of facts about invented people, places, works and things, each with several wordings."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tools.demo_judge import words


@dataclass(frozen=True)
class Relation:
    """What can be said about one kind of subject; `{s}` stands for the subject and `{v}` for the value."""

    kind: str
    value: str
    about: str
    clause: str
    question: str
    wordings: tuple[str, ...]


@dataclass(frozen=True)
class Fact:
    """One value of one relation of one subject, with the wording it was first told in."""

    relation: Relation
    subject: str
    value: str
    wording: str

    def sentence(self) -> str:
        return capitalised(self.wording.format(s=self.subject, v=self.value)) + "."

    def about(self) -> str:
        return self.relation.about.format(s=self.subject)

    def clause(self) -> str:
        return self.relation.clause.format(s=self.subject)

    def question(self) -> str:
        return self.relation.question.format(s=self.subject)


def _relation(kind: str, value: str, about: str, clause: str, question: str, *wordings: str) -> Relation:
    return Relation(kind, value, about, clause, question, wordings)


_VERBS = {
    "hold": ("holds", "is holding"),
    "carry": ("carries", "is carrying"),
    "hide": ("hides", "is hiding"),
    "cover": ("covers", "is covering"),
    "follow": ("follows", "is following"),
    "need": ("needs", "is in need of"),
    "pull": ("pulls", "is pulling"),
    "protect": ("protects", "is protecting"),
    "produce": ("produces", "is producing"),
    "contain": ("contains", "has within it"),
}

RELATIONS = (
    _relation("person", "year", "the birth year of {s}", "when {s} was born", "When was {s} born?",
              "{s} was born in {v}", "{s} came into the world in {v}"),
    _relation("person", "place", "the birthplace of {s}", "where {s} was born", "Where was {s} born?",
              "{s} was born in {v}", "{s} is a native of {v}", "the birthplace of {s} is {v}"),
    _relation("person", "place", "the home of {s}", "where {s} lives", "Where does {s} live?",
              "{s} lives in {v}", "{s} has a house in {v}", "the home of {s} is in {v}"),
    _relation("person", "profession", "the job of {s}", "what {s} does for a living", "What is the job of {s}?",
              "{s} works as a {v}", "{s} earns a living as a {v}", "the job of {s} is {v}"),
    _relation("person", "person", "the wife or husband of {s}", "who is married to {s}", "Who is married to {s}?",
              "{s} is married to {v}", "{s} married {v}"),
    _relation("person", "person", "the teacher of {s}", "who taught {s}", "Who taught {s}?",
              "{s} was taught by {v}", "{s} was a student of {v}", "the teacher of {s} was {v}"),
    _relation("person", "instrument", "the instrument of {s}", "which instrument {s} plays",
              "Which instrument does {s} play?", "{s} plays the {v}", "{s} is a player of the {v}"),
    _relation("person", "number", "the number of children of {s}", "how many children {s} has",
              "How many children does {s} have?", "{s} has {v} children", "{s} is the parent of {v} children"),
    _relation("person", "food", "the favourite food of {s}", "what {s} likes to eat", "What does {s} like to eat?",
              "{s} likes to eat {v}", "the favourite food of {s} is {v}"),
    _relation("place", "place", "the country of {s}", "in which country {s} is", "In which country is {s}?",
              "{s} is a town in {v}", "{s} is located in {v}"),
    _relation("place", "place", "the capital of {s}", "what the capital of {s} is", "What is the capital of {s}?",
              "the capital of {s} is {v}", "{s} has {v} as its capital"),
    _relation("place", "population", "the population of {s}", "how many people live in {s}",
              "How many people live in {s}?", "{s} has {v} inhabitants", "the population of {s} is {v}"),
    _relation("place", "person", "the mayor of {s}", "who the mayor of {s} is", "Who is the mayor of {s}?",
              "the mayor of {s} is {v}", "{s} is governed by {v}"),
    _relation("place", "language", "the language of {s}", "which language is spoken in {s}",
              "Which language is spoken in {s}?", "{s} has {v} as its language", "the language of {s} is {v}"),
    _relation("place", "year", "the founding year of {s}", "when {s} was founded", "When was {s} founded?",
              "{s} was founded in {v}", "{s} has existed since {v}"),
    _relation("work", "person", "the author of {s}", "who wrote {s}", "Who wrote {s}?",
              "{s} was written by {v}", "the author of {s} is {v}", "{s} is a book by {v}"),
    _relation("work", "year", "the year of {s}", "when {s} was published", "When was {s} published?",
              "{s} was published in {v}", "{s} came out in {v}"),
    _relation("work", "number", "the number of pages of {s}", "how many pages {s} has", "How many pages does {s} have?",
              "{s} has {v} pages", "{s} is {v} pages long"),
    _relation("building", "number", "the height of {s}", "how tall {s} is", "How tall is {s}?",
              "{s} is {v} metres tall", "the height of {s} is {v} metres"),
    _relation("building", "year", "the opening year of {s}", "when {s} was opened", "When was {s} opened?",
              "{s} was opened in {v}", "{s} has been open since {v}"),
    _relation("building", "person", "the architect of {s}", "who designed {s}", "Who designed {s}?",
              "{s} was designed by {v}", "the architect of {s} is {v}"),
    _relation("building", "colour", "the colour of {s}", "what colour {s} is", "What colour is {s}?",
              "{s} is painted {v}", "the colour of {s} is {v}"),
    _relation("company", "person", "the founder of {s}", "who founded {s}", "Who founded {s}?",
              "{s} was founded by {v}", "the founder of {s} is {v}"),
    _relation("company", "things", "the product of {s}", "what {s} makes", "What does {s} make?",
              "{s} makes {v}", "{s} is a maker of {v}"),
    _relation("company", "population", "the staff of {s}", "how many people work for {s}",
              "How many people work for {s}?", "{s} has {v} employees", "{s} employs {v} people"),
    _relation("company", "place", "the main office of {s}", "where the main office of {s} is",
              "Where is the main office of {s}?", "{s} has its main office in {v}", "{s} is based in {v}"),
    _relation("event", "date", "the date of {s}", "when {s} takes place", "When does {s} take place?",
              "{s} takes place on {v}", "the date of {s} is {v}"),
    _relation("event", "person", "the winner of {s}", "who won {s}", "Who won {s}?",
              "{s} was won by {v}", "the winner of {s} was {v}"),
    *(
        _relation("thing", "thing", f"what {{s}} {third}", f"what {{s}} {third}", f"What does {{s}} {base}?",
                  f"{{s}} {third} {{v}}", f"{{s}} {other} {{v}}")
        for base, (third, other) in _VERBS.items()
    ),
)  # fmt: skip

KINDS = tuple(dict.fromkeys(relation.kind for relation in RELATIONS))


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def invented_name(rng: Random, difficulty: float) -> str:
    """One capitalised word: a known word while `difficulty` (0 to 1) is low, random syllables when it is high."""
    if rng.random() >= difficulty:
        return rng.choice(words.NOUNS).capitalize()
    syllables = rng.choice((2, 2, 2, 3))
    name = "".join(rng.choice(words.ONSETS) + rng.choice(words.NUCLEI) for _ in range(syllables))
    return (name + rng.choice(words.CODAS) * rng.randint(0, 1)).capitalize()


def value_of(kind: str, rng: Random, difficulty: float) -> str:
    """A random subject or value of a kind; `difficulty` as in `invented_name`."""
    return _MAKERS[kind](rng, difficulty)


def _person(rng: Random, difficulty: float) -> str:
    names = 2 if rng.random() < difficulty else 1
    return " ".join(invented_name(rng, difficulty) for _ in range(names))


def _thing(rng: Random, difficulty: float) -> str:
    adjective = rng.choice(words.ADJECTIVES) + " " if rng.random() < 0.3 + difficulty / 2 else ""
    return f"the {adjective}{rng.choice(words.NOUNS)}"


_MAKERS = {
    "person": _person,
    "place": lambda rng, difficulty: invented_name(rng, difficulty),
    "work": lambda rng, _: f"The {rng.choice(words.ADJECTIVES).capitalize()} {rng.choice(words.NOUNS).capitalize()}",
    "building": lambda rng, d: f"the {invented_name(rng, d)} {rng.choice(('Tower', 'Bridge', 'Museum', 'Library'))}",
    "company": lambda rng, d: invented_name(rng, d) + rng.choice((" Works", " Group", " Brothers", " Foods")),
    "event": lambda rng, d: f"the {invented_name(rng, d)} {rng.choice(('Cup', 'Race', 'Festival', 'Prize'))}",
    "thing": _thing,
    "things": lambda rng, _: f"{rng.choice(words.ADJECTIVES)} {rng.choice(words.NOUNS)}s",
    "year": lambda rng, _: str(rng.randint(1500, 2029)),
    "number": lambda rng, _: str(rng.randint(2, 900)),
    "population": lambda rng, _: str(rng.randint(11, 9999)),
    "date": lambda rng, _: f"{rng.randint(1, 28)} {rng.choice(words.MONTHS)}",
    "profession": lambda rng, _: rng.choice(words.PROFESSIONS),
    "instrument": lambda rng, _: rng.choice(words.INSTRUMENTS),
    "language": lambda rng, _: rng.choice(words.LANGUAGES),
    "colour": lambda rng, _: rng.choice(words.COLOURS),
    "food": lambda rng, _: rng.choice(words.FOODS),
}


def facts_about(subject: str, kind: str, count: int, rng: Random, difficulty: float) -> list[Fact]:
    """Up to `count` facts of different relations about one subject."""
    relations = [relation for relation in RELATIONS if relation.kind == kind]
    return [
        Fact(relation, subject, value_of(relation.value, rng, difficulty), _wording(relation, rng, difficulty))
        for relation in rng.sample(relations, min(count, len(relations)))
    ]


def _wording(relation: Relation, rng: Random, difficulty: float) -> str:
    return rng.choice(relation.wordings) if rng.random() < 0.2 + 0.8 * difficulty else relation.wordings[0]


def changed(fact: Fact, rng: Random, difficulty: float) -> Fact:
    """The same claim with another value, for years and numbers often a near one."""
    value = fact.value
    while value == fact.value:
        value = value_of(fact.relation.value, rng, difficulty)
        if value.isdigit() and len(fact.value) == len(value) and rng.random() < 0.5:
            place = rng.randrange(1, len(value)) if len(value) > 1 else 0
            value = fact.value[:place] + value[place] + fact.value[place + 1 :]
    return Fact(fact.relation, fact.subject, value, fact.wording)


def reworded(fact: Fact, rng: Random, difficulty: float) -> Fact:
    """The same fact, at higher difficulty often told in another wording."""
    if rng.random() >= difficulty * 0.6:
        return fact
    return Fact(fact.relation, fact.subject, fact.value, rng.choice(fact.relation.wordings))
