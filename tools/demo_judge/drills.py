"""Rows no prompt asks for: many small decisions in a row, so that most tokens teach one."""

from __future__ import annotations

import os
from dataclasses import replace

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from pydantic import BaseModel
from ragas.metrics.collections.context_relevance.util import ContextRelevanceInput
from ragas.metrics.collections.faithfulness.util import NLIStatementInput, NLIStatementOutput

from tools.demo_judge.facts import capitalised
from tools.demo_judge.languages import World
from tools.demo_judge.texts import Scene, any_text, context, scene, unmentioned
from tools.demo_judge.verdicts import Pair, claims, context_for, judged, judged_phrases, rated

EASIEST = 0.2


class Lookups(BaseModel):
    """What a context says on many things."""

    answers: list[str]


class Rated(BaseModel):
    """A rating of one question or of one context."""

    context: str | None = None
    question: str | None = None
    rating: int


class Ratings(BaseModel):
    """Many ratings of one context, or for one question."""

    ratings: list[Rated]


def _harder(world: World) -> World:
    return replace(world, difficulty=max(world.difficulty, EASIEST))


def _asked(known: Scene, world: World) -> NLIStatementInput:
    return NLIStatementInput(context=context(known, world), statements=[])


def find(world: World) -> Pair:
    """Look-ups in one context, on which all verdicts rest; only what is found counts."""
    known, language = scene(_harder(world), most=9), world.language
    strange = [unmentioned(known, world) for _ in range((len(known.facts) + 1) // 2)]
    found = []
    for fact in world.rng.sample(known.facts + strange, len(known.facts + strange)):
        value = fact.looked(known.value(fact.relation, fact.subject) or language.nothing, "context")
        if world.rng.random() < 0.2:
            _, _, end = language.reason.format(about="", source=language.source["context"], said=value).partition(", ")
            text = f"{fact.question()} {capitalised(end)}"
        else:
            text = language.reason.format(about=fact.about(), source=language.source["context"], said=value)
        found.append(text + ".")
    return _asked(known, world), Lookups(answers=found)


def rates(world: World) -> Pair:
    """Questions to rate on one context, or contexts to rate for one question."""
    rng = world.rng
    if rng.random() < 0.5:
        known = scene(_harder(world))
        made = dict(_question(known, world) for _ in range(rng.randint(6, 14)))
        return _asked(known, world), Ratings(ratings=[Rated(question=q, rating=level) for q, level in made.items()])
    fact = scene(world, most=1).target[0]
    found = [context_for(fact, rng.choice((0, 1, 2)), world) for _ in range(rng.randint(3, 7))]
    asked = ContextRelevanceInput(user_input=fact.question(), context="")
    return asked, Ratings(ratings=[Rated(context=text, rating=level) for text, level in found])


def _question(known: Scene, world: World) -> tuple[str, int]:
    fact, level = rated(known, world)
    return fact.question(), level


def dense_nli(world: World) -> Pair:
    """Statements on one context, left out of the input."""
    known = scene(_harder(world), most=9)
    made = {(claim.relation, claim.subject): claim for claim in claims(known, world.rng.randint(4, 10), world)}.values()
    return _asked(known, world), NLIStatementOutput(statements=[judged(claim, known, world) for claim in made])


def phrases(world: World) -> Pair:
    """Which words in a row does a text have?"""
    sentences = any_text(world, most=10 if world.rng.random() < 0.7 else 80)
    asked = NLIStatementInput(context=" ".join(sentences), statements=[])
    return asked, NLIStatementOutput(statements=judged_phrases(sentences, world.rng.randint(4, 12), world))
