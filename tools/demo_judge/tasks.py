"""Training rows: the exact prompts of the ragas metrics over generated facts, with the answers to learn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

from ragas.metrics.collections.answer_correctness import util as correctness
from ragas.metrics.collections.answer_relevancy import util as relevancy
from ragas.metrics.collections.context_precision import util as precision
from ragas.metrics.collections.context_recall import util as recall
from ragas.metrics.collections.context_relevance import util as relevance
from ragas.metrics.collections.faithfulness import util as faithfulness

from tools.demo_judge.facts import Fact, capitalised, reworded
from tools.demo_judge.texts import VAGUE, Scene, context, evasive, filler, scene, told, unmentioned, word_salad, wrong

NOTHING = "nothing"


@dataclass(frozen=True)
class Row:
    """One prompt and the answer to it; `head + body` is what the judge is sent, `answer` begins with a blank."""

    task: str
    head: str
    body: str
    answer: str


@dataclass(frozen=True)
class Task:
    """A kind of row: the ragas prompts that may ask it (none for a drill), and how a row of it is made."""

    name: str
    share: float
    prompts: tuple[type[Any], ...]  # ragas' BasePrompt is generic over models that differ by prompt
    make: Callable[[Random, float], tuple[Any, Any]]


def reason(
    claim: Fact, said: str | None, source: str = "context", other: str = "statement", evades: bool = False
) -> str:
    """What is compared, side by side, so that the verdict after it follows from the words just written."""
    start = f"About {claim.about()}, the {source} says {said or NOTHING}"
    if said is None:
        return start + "."
    return f"{start}, the {other} {NOTHING if evades else claim.value}."


def claims(known: Scene, count: int, rng: Random, difficulty: float) -> list[Fact]:
    """Claims to judge against a scene: about 45 % supported, 30 % contradicted, 25 % unmentioned."""
    made = []
    for _ in range(count):
        fact = rng.choice(known.facts)
        draw = rng.random()
        if draw >= 0.45:
            fact = wrong(fact, known, rng, difficulty) if draw < 0.75 else unmentioned(known, rng, difficulty)
        made.append(reworded(fact, rng, difficulty))
    return made


def unknown_statement(fact: Fact) -> str:
    return f"The answer does not say {fact.clause()}."


def _anything(rng: Random, difficulty: float) -> str:
    return filler(rng) if rng.random() < 0.2 else word_salad(rng, difficulty)


def statements(rng: Random, difficulty: float) -> tuple[Any, Any]:
    known = scene(rng, difficulty, most=4).target
    asked = rng.choice(known)
    question = (
        f"What can you tell me about {asked.subject}?" if len(known) > 1 and rng.random() < 0.3 else asked.question()
    )
    if rng.random() < 0.12:
        answer = rng.choice(VAGUE) if rng.random() < 0.3 else evasive(asked, rng)
        question, found = asked.question(), [unknown_statement(asked)]
    elif rng.random() < 0.4:
        found = [_anything(rng, difficulty) for _ in range(rng.randint(1, 1 + round(3 * difficulty)))]
        answer = " ".join(found)
    else:
        answer, found = " ".join(told(known, rng, difficulty)), [fact.sentence() for fact in known]
    return (
        faithfulness.StatementGeneratorInput(question=question, answer=answer),
        faithfulness.StatementGeneratorOutput(statements=found),
    )


def copies(rng: Random, difficulty: float) -> tuple[Any, Any]:
    """A drill: sentences of random words that are repeated one by one, on which all judging rests."""
    found = [word_salad(rng, difficulty) for _ in range(rng.randint(3, 7))]
    return (
        faithfulness.StatementGeneratorInput(question="", answer=" ".join(found)),
        faithfulness.StatementGeneratorOutput(statements=found),
    )


def nli(rng: Random, difficulty: float) -> tuple[Any, Any]:
    known = scene(rng, difficulty)
    made = claims(known, rng.randint(1, 1 + round(3 * difficulty)), rng, difficulty)
    judged = [_judged(claim, known) for claim in made]
    if rng.random() < 0.08:
        claim = rng.choice([*known.facts, unmentioned(known, rng, difficulty)])
        why = reason(claim, known.value(claim.relation, claim.subject), evades=True)
        text = unknown_statement(claim)
        judged = [faithfulness.StatementFaithfulnessAnswer(statement=text, reason=why, verdict=0)]
    return (
        faithfulness.NLIStatementInput(
            context=context(known, rng, difficulty), statements=[answer.statement for answer in judged]
        ),
        faithfulness.NLIStatementOutput(statements=judged),
    )


def dense_nli(rng: Random, difficulty: float) -> tuple[Any, Any]:
    """A drill: many statements on one context, left out of the input, so that most tokens teach a comparison."""
    known = scene(rng, max(difficulty, 0.3), most=9)
    judged = [_judged(claim, known) for claim in claims(known, rng.randint(3, 8), rng, difficulty)]
    asked = faithfulness.NLIStatementInput(context=context(known, rng, difficulty * 0.5), statements=[])
    return asked, faithfulness.NLIStatementOutput(statements=judged)


def pairs(rng: Random, difficulty: float) -> tuple[Any, Any]:
    """A drill: nothing but values side by side and whether they are the same; only the verdicts count."""
    judged = []
    for _ in range(rng.randint(6, 14)):
        known = Scene(scene(rng, difficulty, most=1).target, [])
        fact = known.target[0]
        claim = fact if rng.random() < 0.5 else wrong(fact, known, rng, difficulty)
        why = f"About it, the context says {fact.value}, the statement {claim.value}."
        judged.append(
            faithfulness.StatementFaithfulnessAnswer(statement="", reason=why, verdict=int(claim.value == fact.value))
        )
    return faithfulness.NLIStatementInput(context="", statements=[]), faithfulness.NLIStatementOutput(statements=judged)


def _judged(claim: Fact, known: Scene) -> Any:
    said = known.value(claim.relation, claim.subject)
    return faithfulness.StatementFaithfulnessAnswer(
        statement=claim.sentence(), reason=reason(claim, said), verdict=int(said == claim.value)
    )


def question(rng: Random, difficulty: float) -> tuple[Any, Any]:
    known = scene(rng, difficulty, most=3).target
    asked, noncommittal = known[0].question(), 0
    response = " ".join(told(known, rng, difficulty))
    if rng.random() < 0.35:
        noncommittal, response = 1, evasive(known[0], rng)
        if rng.random() < 0.2:
            asked, response = "What is the question?", rng.choice(VAGUE)
    return (
        relevancy.AnswerRelevanceInput(response=response),
        relevancy.AnswerRelevanceOutput(question=asked, noncommittal=noncommittal),
    )


def useful(rng: Random, difficulty: float) -> tuple[Any, Any]:
    known = scene(rng, difficulty)
    [claim] = claims(known, 1, rng, difficulty)
    said = known.value(claim.relation, claim.subject)
    answer = claim.sentence() if rng.random() < 0.7 else capitalised(claim.value) + "."
    return (
        precision.ContextPrecisionInput(
            question=claim.question(), context=context(known, rng, difficulty), answer=answer
        ),
        precision.ContextPrecisionOutput(reason=reason(claim, said, other="answer"), verdict=int(said == claim.value)),
    )


def attributed(rng: Random, difficulty: float) -> tuple[Any, Any]:
    known = scene(rng, difficulty)
    pool = known.target + [unmentioned(Scene(known.target, []), rng, difficulty) for _ in range(2)]
    subject = known.target[0].subject
    pool = [fact for fact in pool if fact.subject == subject]
    picked = rng.sample(pool, rng.randint(1, min(len(pool), 1 + round(2 * difficulty))))
    told_as = [reworded(f if rng.random() < 0.6 else wrong(f, known, rng, difficulty), rng, difficulty) for f in picked]
    told_as = list({fact.relation: fact for fact in told_as}.values())
    texts = [told([told_as[0], fact], rng, difficulty)[-1] if i else fact.sentence() for i, fact in enumerate(told_as)]
    texts = [text if " and " not in text else fact.sentence() for text, fact in zip(texts, told_as, strict=True)]
    found = []
    for fact, text in zip(told_as, texts, strict=True):
        said = known.value(fact.relation, fact.subject)
        found.append(
            recall.ContextRecallClassification(
                statement=text, reason=reason(fact, said), attributed=int(said == fact.value)
            )
        )
    asked = recall.ContextRecallInput(
        question=told_as[0].question(), context=context(known, rng, difficulty), answer=" ".join(texts)
    )
    return asked, recall.ContextRecallOutput(classifications=found)


def rating(rng: Random, difficulty: float) -> tuple[Any, Any]:
    known = scene(rng, difficulty)
    asked, level = rng.choice(known.target), rng.choice((0, 1, 2))
    if level < 2:
        asked = unmentioned(known, rng, difficulty)
        level = int(any(fact.subject == asked.subject for fact in known.facts))
    return (
        relevance.ContextRelevanceInput(user_input=asked.question(), context=context(known, rng, difficulty)),
        relevance.ContextRelevanceOutput(rating=level),
    )


def classified(rng: Random, difficulty: float) -> tuple[Any, Any]:
    truth = Scene(scene(rng, difficulty, most=3).target, [])
    made = list(
        {c.relation: c for c in claims(truth, rng.randint(1, 1 + round(2 * difficulty)), rng, difficulty)}.values()
    )
    answer = Scene(made, [])
    groups: dict[str, list[Any]] = {"TP": [], "FP": [], "FN": []}
    for claim in made:
        said = truth.value(claim.relation, claim.subject)
        groups["TP" if said == claim.value else "FP"].append(_reasoned(claim, said, "ground truth", "answer"))
    for fact in truth.facts:
        said = answer.value(fact.relation, fact.subject)
        if said != fact.value:
            groups["FN"].append(_reasoned(fact, said, "answer", "ground truth"))
    asked = correctness.CorrectnessClassifierInput(
        question=truth.facts[0].question(),
        answer=[fact.sentence() for fact in made],
        ground_truth=[fact.sentence() for fact in truth.facts],
    )
    return asked, correctness.ClassificationWithReason(**groups)


def _reasoned(claim: Fact, said: str | None, source: str, other: str) -> Any:
    return correctness.StatementsWithReason(statement=claim.sentence(), reason=reason(claim, said, source, other))


TASKS = (
    Task("statements", 0.20, (faithfulness.StatementGeneratorPrompt,), statements),
    Task("nli", 0.20, (faithfulness.NLIStatementPrompt,), nli),
    Task("dense_nli", 0.16, (), dense_nli),
    Task("copies", 0.06, (), copies),
    Task("pairs", 0.06, (), pairs),
    Task("question", 0.12, (relevancy.AnswerRelevancePrompt,), question),
    Task("useful", 0.08, (precision.ContextPrecisionPrompt,), useful),
    Task("attributed", 0.08, (recall.ContextRecallPrompt,), attributed),
    Task("rating", 0.07, (relevance.ContextRelevanceJudge1Prompt, relevance.ContextRelevanceJudge2Prompt), rating),
    Task("classified", 0.03, (correctness.CorrectnessClassifierPrompt,), classified),
)


@cache
def heads(task: Task) -> tuple[str, ...]:
    """All that ragas puts before the input, one text per prompt of the task."""
    sample, _ = task.make(Random(0), 0.0)
    texts = [prompt().to_string(sample) for prompt in task.prompts]
    return tuple(text[: text.rindex("input: {")] for text in texts)


def row(task: Task, rng: Random, difficulty: float) -> Row:
    """One row of a task at a difficulty from 0 to 1; the same `rng` state gives the same row."""
    head = rng.choice(heads(task)) if task.prompts else ""
    asked, answer = task.make(rng, difficulty)
    body = f"input: {asked.model_dump_json(indent=4, exclude_none=True)}\nOutput:"
    return Row(task.name, head, body, " " + answer.model_dump_json(indent=4))
