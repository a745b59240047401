"""Rows in which the judge writes: statements, questions, answers."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from ragas.metrics.collections.answer_relevancy import util as relevancy
from ragas.metrics.collections.faithfulness import util as faithfulness

from rag_evaluator.prompts import own
from tools.demo_judge.facts import facts_about
from tools.demo_judge.languages import World
from tools.demo_judge.texts import any_sentence, evasive, excerpt, other_subject, scene, strange_sentence, told
from tools.demo_judge.verdicts import Pair, context_for, unknown_statement


def statements(world: World) -> Pair:
    rng, language = world.rng, world.language
    known = scene(world, most=4).target
    asked = rng.choice(known)
    question = (
        language.everything.format(s=asked.subject) if len(known) > 1 and rng.random() < 0.3 else asked.question()
    )
    if rng.random() < 0.12:
        answer = rng.choice(language.vague) if rng.random() < 0.3 else evasive(asked, world)
        question, found = asked.question(), [unknown_statement(asked, world)]
    elif rng.random() < 0.3:
        found = [any_sentence(world) for _ in range(rng.randint(1, 1 + round(3 * world.difficulty)))]
        answer = " ".join(found)
    elif rng.random() < 0.25:
        answer = excerpt(strange_sentence(world), world) if rng.random() < 0.5 else asked.value
        question, found = asked.question(), [answer]
    else:
        answer, found = " ".join(told(known, world, world.difficulty)), [fact.sentence() for fact in known]
    return (
        faithfulness.StatementGeneratorInput(question=question, answer=answer),
        faithfulness.StatementGeneratorOutput(statements=found),
    )


def question(world: World) -> Pair:
    rng, language = world.rng, world.language
    known = scene(world, most=3).target
    asked, noncommittal = known[0].question(), 0
    response = " ".join(told(known, world, world.difficulty))
    if rng.random() < 0.35:
        noncommittal, response = 1, evasive(known[0], world)
        if rng.random() < 0.2:
            asked, response = language.unasked, rng.choice(language.vague)
    return (
        relevancy.AnswerRelevanceInput(response=response),
        relevancy.AnswerRelevanceOutput(question=asked, noncommittal=noncommittal),
    )


def answered(world: World) -> Pair:
    """The answer is the sentence of the context that tells it; with none, there is no answer."""
    rng = world.rng
    fact = scene(world, most=1).target[0]
    levels = [rng.choice((0, 1)) for _ in range(rng.randint(0, 1 + round(world.difficulty)))]
    holds = not levels or rng.random() < 0.65
    texts = [context_for(fact, level, world)[0] for level in levels]
    if holds:
        others = [other_subject(fact, world).sentence() for _ in range(rng.randint(0, 1))]
        about = list(facts_about(fact.subject, fact.relation.kind, 1, world))
        others += [one.sentence() for one in about if one.relation is not fact.relation]
        block = [fact.sentence(), *others]
        rng.shuffle(block)
        texts.insert(rng.randint(0, len(texts)), " ".join(block))
    wanted = own.ReferenceOutput(answerable=int(holds), answer=fact.sentence() if holds else "")
    return own.AnswerInput(user_input=fact.question(), contexts=texts), wanted


def reduced(world: World) -> Pair:
    """The sentences of all answers, each once; nothing if all evade."""
    rng, language = world.rng, world.language
    known = scene(world, most=3).target
    if rng.random() < 0.3:
        texts: list[str] = [evasive(known[0], world) for _ in range(2)]
        wanted: Any = own.ReferenceOutput(answerable=0, answer="")
    else:
        sentences = [fact.sentence() for fact in known]
        cut = rng.randint(0, len(sentences) - 1)
        texts = [" ".join(sentences[: cut + 1]), " ".join(sentences[cut:])]
        wanted = own.ReferenceOutput(answerable=1, answer=" ".join(sentences))
    question = known[0].question() if len(known) == 1 else language.everything.format(s=known[0].subject)
    return own.ReduceInput(user_input=question, answers=texts), wanted
