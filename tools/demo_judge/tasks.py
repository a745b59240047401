"""Training rows: the exact prompts of the project over generated facts, with the answers to learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from pydantic import BaseModel

from rag_evaluator import PromptError
from rag_evaluator.metrics.prompts import load_prompts
from rag_evaluator.prompts.loading import TracedPrompt
from tools.demo_judge import drills, marks, verdicts, writing
from tools.demo_judge.english import ENGLISH
from tools.demo_judge.languages import Language, World
from tools.demo_judge.links import Link, links, phrases
from tools.demo_judge.spanish import SPANISH
from tools.demo_judge.verdicts import Pair

LANGUAGES: Mapping[str, Language] = {"english": ENGLISH, "spanish": SPANISH}
PACKS = Path(__file__).parents[2] / "prompts"


@dataclass(frozen=True)
class Row:
    """One prompt and the answer to it; `head + body` is what the judge is sent, `answer` begins with a blank.

    links: where training shows the judge to look, in characters of `body + answer`.
    phrases: the first and the last character of each row of words to find, where it stands first.
    """

    task: str
    head: str
    body: str
    answer: str
    asked: BaseModel
    wanted: BaseModel
    links: tuple[Link, ...] = ()
    phrases: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Task:
    """A kind of row: the prompts that may ask it (none for a drill), and how a row of it is made."""

    name: str
    share: float
    prompts: tuple[tuple[str, str], ...]  # metric or function, prompt attribute
    make: Callable[[World], Pair]


TASKS = (
    Task("statements", 0.06, (("faithfulness", "statement_generator_prompt"),), writing.statements),
    Task("nli", 0.18, (("faithfulness", "nli_statement_prompt"),), verdicts.nli),
    Task("nli_words", 0.08, (("faithfulness", "nli_statement_prompt"),), verdicts.nli_words),
    Task("find", 0.01, (), drills.find),
    Task("dense_nli", 0.03, (), drills.dense_nli),
    Task("phrases", 0.05, (), drills.phrases),
    Task("rates", 0.01, (), drills.rates),
    Task("question", 0.03, (("answer_relevancy", "prompt"),), writing.question),
    Task("useful", 0.08, (("context_precision_with_reference", "prompt"),), verdicts.useful),
    Task("useful_words", 0.08, (("context_precision_with_reference", "prompt"),), verdicts.useful_words),
    Task("attributed", 0.06, (("context_recall", "prompt"),), verdicts.attributed),
    Task("attributed_words", 0.04, (("context_recall", "prompt"),), verdicts.attributed_words),
    Task(
        "rating",
        0.02,
        (("context_relevance", "judge1_prompt"), ("context_relevance", "judge2_prompt")),
        verdicts.rating,
    ),
    Task("classified", 0.19, (("answer_correctness", "correctness_classifier_prompt"),), verdicts.classified),
    Task("filter", 0.01, (("sort", "filter_prompt"),), verdicts.filtered),
    Task("compare", 0.01, (("sort", "compare_prompt"),), verdicts.compared),
    Task("support", 0.03, (("generate", "support_prompt"),), verdicts.supported),
    Task("answer", 0.02, (("generate", "answer_prompt"),), writing.answered),
    Task("reduce", 0.01, (("generate", "reduce_prompt"),), writing.reduced),
)


@cache
def prompts(task: Task, language: str) -> tuple[TracedPrompt, ...]:
    """The task's prompts in a language. Raises `PromptError` where the project has no pack for it."""
    loaded = load_prompts(tuple({owner for owner, _ in task.prompts}), language, PACKS)
    return tuple(loaded[key] for key in task.prompts)


@cache
def heads(task: Task, language: str = "english") -> tuple[str, ...]:
    """All that comes before the input, one text per prompt; English where there is no pack in the language."""
    sample, _ = task.make(World(Random(0), 0.0, LANGUAGES[language]))
    try:
        found = prompts(task, language)
    except PromptError:
        found = prompts(task, "english")
    texts = [prompt.to_string(_unmarked(sample)) for prompt in found]
    return tuple(text[: text.rindex("input: {")] for text in texts)


def row(task: Task, world: World) -> Row:
    """One row of a task; the same state of the world's `rng` gives the same row."""
    head = world.rng.choice(heads(task, world.language.name)) if task.prompts else ""
    asked, wanted = task.make(world)
    body = f"input: {asked.model_dump_json(indent=4, exclude_none=True)}\nOutput:"
    answer = " " + wanted.model_dump_json(indent=4, exclude_none=True)
    _, found = marks.taken_out(body + answer)
    body, answer = marks.without(body), marks.without(answer)
    shown = tuple(links(task.name, body, answer, found))
    words = tuple(phrases(body + answer, found))
    return Row(task.name, head, body, answer, _unmarked(asked), _unmarked(wanted), shown, words)


def _unmarked(model: BaseModel) -> BaseModel:
    return type(model).model_validate_json(marks.without(model.model_dump_json()))
