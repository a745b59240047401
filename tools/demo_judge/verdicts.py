"""Rows in which the judge decides: is it said, is it useful, which is better."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from ragas.metrics.collections.answer_correctness import util as correctness
from ragas.metrics.collections.context_precision import util as precision
from ragas.metrics.collections.context_recall import util as recall
from ragas.metrics.collections.context_relevance import util as relevance
from ragas.metrics.collections.faithfulness import util as faithfulness

from rag_evaluator.prompts import own
from tools.demo_judge import marks
from tools.demo_judge.facts import Fact, facts_about, reworded
from tools.demo_judge.languages import World
from tools.demo_judge.texts import (
    Scene,
    any_text,
    context,
    excerpt,
    other_subject,
    scene,
    strange_sentence,
    told,
    unmentioned,
    word_salad,
    wrong,
)

Pair = tuple[Any, Any]  # input and output model of a ragas prompt
FIELDS = {"context": "context", "answer": "answer", "ground truth": "ground_truth"}  # what a source is in the input


def reason(
    claim: Fact,
    said: str | None,
    world: World,
    source: str = "context",
    other: str = "statement",
    evades: bool = False,
) -> str:
    """What is compared, side by side, so that the verdict after it follows from the words just written."""
    language = world.language
    found = claim.looked(said or language.nothing, FIELDS[source])
    text = language.reason.format(about=claim.about(), source=language.source[source], said=found)
    if said is not None:
        value = language.nothing if evades else claim.value
        text += language.compared.format(other=language.source[other], value=value)
    return text + "."


def claims(known: Scene, count: int, world: World) -> list[Fact]:
    """Claims to judge against a scene: about 45 % supported, 30 % contradicted, 25 % unmentioned."""
    made = []
    for _ in range(count):
        fact = world.rng.choice(known.facts)
        draw = world.rng.random()
        if draw >= 0.45:
            fact = wrong(fact, known, world) if draw < 0.75 else unmentioned(known, world)
        made.append(reworded(fact, world))
    return made


def unknown_statement(fact: Fact, world: World) -> str:
    return world.language.unknown.format(clause=fact.clause())


def judged(claim: Fact, known: Scene, world: World) -> Any:
    said = known.value(claim.relation, claim.subject)
    return faithfulness.StatementFaithfulnessAnswer(
        statement=claim.sentence(), reason=reason(claim, said, world), verdict=int(said == claim.value)
    )


def phrase(sentences: list[str], world: World) -> tuple[str, bool]:
    """Words in a row that the text has, or most likely has not, and whether it has them."""
    rng, text = world.rng, " ".join(sentences)
    draw = rng.random()
    words = excerpt(rng.choice(sentences) if draw < 0.75 else strange_sentence(world), world)
    if 0.5 < draw < 0.75:  # one word is another
        changed = words.split()
        other = text if rng.random() < 0.5 else strange_sentence(world)
        changed[rng.randrange(len(changed))] = rng.choice(other.split()).strip(".,;()")
        words = " ".join(changed)
    return marks.phrase(words), words in text


def judged_phrases(sentences: list[str], count: int, world: World) -> list[Any]:
    found = [phrase(sentences, world) for _ in range(count)]
    return [
        faithfulness.StatementFaithfulnessAnswer(statement=words, reason=world.language.said[said], verdict=int(said))
        for words, said in found
    ]


def nli(world: World) -> Pair:
    rng, known = world.rng, scene(world)
    text = context(known, world)
    answers = [judged(claim, known, world) for claim in claims(known, rng.randint(1, _most(world)), world)]
    if rng.random() < 0.08:
        claim = rng.choice([*known.facts, unmentioned(known, world)])
        why = reason(claim, known.value(claim.relation, claim.subject), world, evades=True)
        statement = unknown_statement(claim, world)
        answers = [faithfulness.StatementFaithfulnessAnswer(statement=statement, reason=why, verdict=0)]
    return _with_statements(text, answers)


def nli_words(world: World) -> Pair:
    sentences = any_text(world)
    return _with_statements(" ".join(sentences), judged_phrases(sentences, world.rng.randint(1, _most(world)), world))


def _most(world: World) -> int:
    return 1 + round(3 * world.difficulty)


def _with_statements(text: str, answers: list[Any]) -> Pair:
    asked = faithfulness.NLIStatementInput(context=text, statements=[answer.statement for answer in answers])
    return asked, faithfulness.NLIStatementOutput(statements=answers)


def useful(world: World) -> Pair:
    known = scene(world)
    [claim] = claims(known, 1, world)
    value = known.value(claim.relation, claim.subject)
    answer = claim.sentence() if world.rng.random() < 0.7 else claim.value_alone()
    why = reason(claim, value, world, other="answer")
    asked = precision.ContextPrecisionInput(question=claim.question(), context=context(known, world), answer=answer)
    return asked, precision.ContextPrecisionOutput(reason=why, verdict=int(value == claim.value))


def useful_words(world: World) -> Pair:
    given, said = _words_to_find(world)
    return precision.ContextPrecisionInput(**given), precision.ContextPrecisionOutput(
        reason=world.language.said[said], verdict=int(said)
    )


def attributed_words(world: World) -> Pair:
    given, said = _words_to_find(world)
    one = recall.ContextRecallClassification(
        statement=given["answer"], reason=world.language.said[said], attributed=int(said)
    )
    return recall.ContextRecallInput(**given), recall.ContextRecallOutput(classifications=[one])


def _words_to_find(world: World) -> tuple[dict[str, str], bool]:
    """A question, a context and an answer of words that the context has or has not, and whether it has them."""
    sentences = any_text(world)
    answer, said = phrase(sentences, world)
    question = word_salad(world).rstrip(".") + "?"
    return {"question": question, "context": " ".join(sentences), "answer": answer}, said


def attributed(world: World) -> Pair:
    rng, known = world.rng, scene(world)
    subject = known.target[0].subject
    pool = known.target + [unmentioned(Scene(known.target, []), world) for _ in range(2)]
    pool = [fact for fact in pool if fact.subject == subject]
    picked = rng.sample(pool, rng.randint(1, min(len(pool), 1 + round(2 * world.difficulty))))
    facts = [reworded(fact if rng.random() < 0.6 else wrong(fact, known, world), world) for fact in picked]
    facts = list({fact.relation: fact for fact in facts}.values())
    found = []
    for index, fact in enumerate(facts):
        text = told([facts[0], fact], world, world.difficulty)[-1] if index else fact.sentence()
        if f" {world.language.joint} " in text:
            text = fact.sentence()
        value = known.value(fact.relation, fact.subject)
        why = reason(fact, value, world)
        found.append(
            recall.ContextRecallClassification(statement=text, reason=why, attributed=int(value == fact.value))
        )
    answer = " ".join(one.statement for one in found)
    asked = recall.ContextRecallInput(question=facts[0].question(), context=context(known, world), answer=answer)
    return asked, recall.ContextRecallOutput(classifications=found)


def classified(world: World) -> Pair:
    truth = Scene(scene(world, most=3).target, [])
    count = world.rng.randint(1, 1 + round(2 * world.difficulty))
    answer = Scene(list({claim.relation: claim for claim in claims(truth, count, world)}.values()), [])
    groups: dict[str, list[Any]] = {"TP": [], "FP": [], "FN": []}
    for claim in answer.facts:
        said = truth.value(claim.relation, claim.subject)
        why = reason(claim, said, world, "ground truth", "answer")
        groups["TP" if said == claim.value else "FP"].append(_reasoned(claim, why))
    for fact in truth.facts:
        said = answer.value(fact.relation, fact.subject)
        if said != fact.value:
            groups["FN"].append(_reasoned(fact, reason(fact, said, world, "answer", "ground truth")))
    asked = correctness.CorrectnessClassifierInput(
        question=truth.facts[0].question(),
        answer=[fact.sentence() for fact in answer.facts],
        ground_truth=[fact.sentence() for fact in truth.facts],
    )
    return asked, correctness.ClassificationWithReason(**groups)


def _reasoned(claim: Fact, why: str) -> Any:
    return correctness.StatementsWithReason(statement=claim.sentence(), reason=why)


def rated(known: Scene, world: World) -> tuple[Fact, int]:
    """A question to a scene: 2 if the scene answers it, 1 if it only tells something else of the subject, else 0."""
    fact, level = world.rng.choice(known.facts), world.rng.choice((0, 1, 2))
    if level < 2:
        fact = unmentioned(known, world)
        level = int(any(other.subject == fact.subject for other in known.facts))
    return fact, level


def rating(world: World) -> Pair:
    known = scene(world)
    fact, level = rated(known, world)
    asked = relevance.ContextRelevanceInput(user_input=fact.question(), context=context(known, world))
    return asked, relevance.ContextRelevanceOutput(rating=level)


def context_for(fact: Fact, level: int, world: World) -> tuple[str, int]:
    """A short context and its true level: 2 answers the question for a fact, 1 knows its subject, 0 does not."""
    rng, others = world.rng, []
    facts = facts_about(fact.subject, fact.relation.kind, rng.randint(1, 3), world) if level else []
    facts = [other for other in facts if other.relation is not fact.relation]
    if level == 2:
        facts.insert(rng.randint(0, len(facts)), reworded(fact, world))
    others = [other_subject(fact, world) for _ in range(rng.randint(0 if facts else 1, 2))]
    blocks = [" ".join(told(facts, world, world.difficulty * 0.5))] if facts else []
    blocks += [other.sentence() for other in others]
    rng.shuffle(blocks)
    return " ".join(blocks), 2 if level == 2 else min(len(facts), 1)


def filtered(world: World) -> Pair:
    fact = scene(world, most=1).target[0]
    text, level = context_for(fact, world.rng.choice((0, 1, 2, 2)), world)
    return own.FilterInput(user_input=fact.question(), context=text), own.FilterOutput(verdict=int(level == 2))


def compared(world: World) -> Pair:
    fact, choice = scene(world, most=1).target[0], world.rng.choice((1, 2))
    levels = [2, world.rng.choice((0, 1))] if choice == 1 else [world.rng.choice((0, 1)), 2]
    first, second = (context_for(fact, level, world)[0] for level in levels)
    asked = own.CompareInput(user_input=fact.question(), context_1=first, context_2=second)
    return asked, own.CompareOutput(choice=choice)


def supported(world: World) -> Pair:
    known = scene(world)
    [claim] = claims(known, 1, world)
    answer = claim.sentence() if world.rng.random() < 0.7 else claim.value_alone()
    asked = own.SupportInput(user_input=claim.question(), answer=answer, context=context(known, world))
    verdict = int(known.value(claim.relation, claim.subject) == claim.value)
    return asked, own.SupportOutput(verdict=verdict)
