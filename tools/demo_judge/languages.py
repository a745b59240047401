"""What a language gives to the rows: relations with their wordings, words, and the sentences around facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Relation:
    """What can be said about one kind of subject; `{s}` stands for the subject and `{v}` for the value."""

    kind: str
    value: str
    about: str
    clause: str
    question: str
    wordings: tuple[str, ...]


def relation(kind: str, value: str, about: str, clause: str, question: str, *wordings: str) -> Relation:
    return Relation(kind, value, about, clause, question, wordings)


@dataclass(frozen=True)
class Language:
    """A language of the rows.

    Attributes:
        words: kind of value -> texts to choose from.
        templates: kind of value -> texts with `{name}` (invented), `{noun}`, `{adjective}`, `{Noun}`, `{day}`.
        pronouns: kind of subject, "" for all others -> how a later sentence begins.
        evasive: with `{clause}` and `{about}`; `filler`: with nouns `{n}`, `{m}` and adjectives `{a}`, `{b}`.
        source: what a reason calls the context, the statement and so on.
        reason: with `{about}`, `{source}`, `{said}`; `compared`: with `{other}`, `{value}`.
        said: verdict -> reason of a phrase that the context has or has not.
        unknown: statement of an answer that evades; `everything`: question about all there is to know;
            `unasked`: question to an answer that names nothing.
    """

    name: str
    relations: tuple[Relation, ...]
    words: Mapping[str, Sequence[str]]
    templates: Mapping[str, Sequence[str]]
    nouns: Sequence[str]
    adjectives: Sequence[str]
    pronouns: Mapping[str, Sequence[str]]
    joint: str
    vague: Sequence[str]
    evasive: Sequence[str]
    filler: Sequence[str]
    salad: Sequence[Sequence[str]]
    source: Mapping[str, str]
    reason: str
    compared: str
    nothing: str
    said: Mapping[bool, str]
    unknown: str
    everything: str
    unasked: str

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(relation.kind for relation in self.relations))


@dataclass(frozen=True)
class World:
    """Where a row's chances come from.

    difficulty: 0 (one short fact) to 1 (up to seven facts, invented names). luring: how often a wrong value is one that
    the text gives to another subject, and another subject is told of with the same relation; more often in training
    than in what is measured, for that is what is taken for right.
    """

    rng: Random
    difficulty: float
    language: Language
    luring: float = 0.5
