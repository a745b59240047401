"""Measures a judge on generated rows of an unseen seed, asked as the project asks: `make demo-judge-eval`."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from pydantic import BaseModel

from rag_evaluator import Judge, JudgementError, PromptError
from rag_evaluator.config.sections import EmbeddingsConfig, JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.embeddings.embeddings import LocalEmbeddings
from rag_evaluator.embeddings.event_loop import run
from tools.demo_judge.languages import World
from tools.demo_judge.tasks import LANGUAGES, TASKS, Row, Task, prompts, row

UNSEEN_SEED = 20_000_000
ROWS = 300
BATCH = 32
DIFFICULTY = 0.3
Leaves = dict[tuple[str, ...], str | int]


@dataclass(frozen=True)
class Measured:
    """Shares in [0, 1] for one task; None where the task has no such part. A row without an answer has nothing right.

    unanswered: rows for which the judge gave no answer.
    lists: lists of texts of the right length. texts: texts written by the judge that are as expected, to the letter.
    similarity: mean cosine of questions to the expected ones.
    decisions: verdicts, flags, ratings and choices right. majority: what always giving the commonest would get.
    """

    task: str
    language: str
    rows: int
    unanswered: int
    lists: float | None
    texts: float | None
    similarity: float | None
    decisions: float | None
    majority: float | None


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str | int]]:
    """Every text and number of a JSON value with the way to it, reasons left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "reason":
                yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, str(index)))
    else:
        yield path, value


def parts(answer: BaseModel | None, asked: BaseModel) -> tuple[Leaves, Leaves]:
    """The texts that the judge was free to write, and its decisions; a statement is in a group (TP, FP, FN) or not."""
    if answer is None:
        return {}, {}
    given = answer.model_dump()
    if "TP" in given:
        groups = {name: {one["statement"] for one in given[name]} for name in ("TP", "FP", "FN")}
        answers, truths = asked.model_dump()["answer"], asked.model_dump()["ground_truth"]
        return {}, {
            **{("TP", text): int(text in groups["TP"]) for text in answers},
            **{("FN", text): int(text in groups["FN"]) for text in truths},
        }
    found = dict(leaves(given))
    dictated = "statements" in asked.model_dump()
    texts = {path: value for path, value in found.items() if isinstance(value, str) and not dictated}
    return texts, {path: value for path, value in found.items() if not isinstance(value, str)}


def _share(wanted: Sequence[Leaves], given: Sequence[Leaves]) -> float | None:
    """How many of the wanted leaves were given."""
    pairs = [(value, other.get(path)) for one, other in zip(wanted, given, strict=True) for path, value in one.items()]
    return sum(value == other for value, other in pairs) / len(pairs) if pairs else None


def _cosine(wanted: Sequence[str], given: Sequence[str]) -> float:
    vectors = LocalEmbeddings.from_config(EmbeddingsConfig()).embed_texts([*wanted, *given])
    one, other = np.split(np.asarray(vectors), 2)
    return float(np.mean(np.sum(one * other, 1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)))


async def answers(judge: Judge, task: Task, rows: Sequence[Row], language: str) -> list[BaseModel | None]:
    """The judge's answers in the order of the rows, each under one of the task's prompts in turn; None for none."""
    asking = prompts(task, language)

    async def ask(index: int, made: Row) -> BaseModel | None:
        try:
            return await judge.agenerate(asking[index % len(asking)].to_string(made.asked), type(made.wanted))
        except JudgementError:
            return None

    return list(await asyncio.gather(*(ask(index, made) for index, made in enumerate(rows))))


def measure(task: Task, language: str, rows: Sequence[Row], given: Sequence[BaseModel | None]) -> Measured:
    """What was right among what the rows ask for."""
    wanted_texts, wanted_choices = zip(*(parts(made.wanted, made.asked) for made in rows), strict=True)
    texts, choices = zip(*(parts(answer, made.asked) for answer, made in zip(given, rows, strict=True)), strict=True)
    values = Counter(value for made in wanted_choices for value in made.values())
    lists = [len(one) == len(other) for one, other in zip(wanted_texts, texts, strict=True)]
    questions = task.name == "question"
    return Measured(
        task=task.name,
        language=language,
        rows=len(rows),
        unanswered=sum(answer is None for answer in given),
        lists=sum(lists) / len(lists) if task.name in ("statements", "attributed") else None,
        texts=_share(wanted_texts, texts),
        similarity=_cosine(*([str(one.get(("question",), "")) for one in some] for some in (wanted_texts, texts)))
        if questions
        else None,
        decisions=_share(wanted_choices, choices),
        majority=max(values.values()) / values.total() if values else None,
    )


def evaluate(
    judge: Judge, names: Sequence[str], languages: Sequence[str], count: int, difficulty: float, show: int = 0
) -> list[Measured]:
    """Every task that the project asks, in every language it has the prompts in."""
    results = []
    for language in languages:
        for task in TASKS:
            if not task.prompts or (names and task.name not in names):
                continue
            try:
                prompts(task, language)
            except PromptError as error:
                print(f"left out: {error}")
                continue
            world = World(Random(UNSEEN_SEED), difficulty, LANGUAGES[language])
            rows = [row(task, world) for _ in range(count)]
            given = run(answers(judge, task, rows, language))
            for made, answer in list(zip(rows, given, strict=True))[:show]:
                print(
                    f"{made.body}\n--- expected{made.answer}\n--- given {answer and answer.model_dump_json(indent=1)}\n"
                )
            results.append(measure(task, language, rows, given))
            print(table(results[-1:]).splitlines()[-1], flush=True)
    return results


def table(results: Sequence[Measured]) -> str:
    """The results in Markdown."""
    heads = ("task", "language", "rows", "no answer", "lists of right length", "texts exact", "similarity")
    heads += ("decisions right", "always the commonest")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for result in results:
        cells: Mapping[str, Any] = vars(result)
        shown = [
            f"{cell:.2f}" if isinstance(cell, float) else "-" if cell is None else str(cell) for cell in cells.values()
        ]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)


def write_card(text: str, card: Path) -> None:
    """Puts the table in the place of the model card's old one."""
    old = card.read_text(encoding="utf-8")
    new, count = re.subn(r"(?:^\| task .*\n)(?:^\|.*\n)+", lambda _: text + "\n", old, count=1, flags=re.MULTILINE)
    if not count:
        raise SystemExit(f"{card}: no table that begins with '| task' was found to be replaced")
    card.write_text(new, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", type=Path, default=DEMO_JUDGE)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows per task")
    parser.add_argument("--difficulty", type=float, default=DIFFICULTY, help="0 (one short fact) to 1 (up to seven)")
    parser.add_argument("--tasks", nargs="*", default=[], help="all if none is named")
    parser.add_argument("--languages", nargs="*", default=list(LANGUAGES))
    parser.add_argument("--show", type=int, default=0, help="print so many answers per task")
    parser.add_argument("--keep-card", action="store_true", help="leave the judge's model card as it is")
    args = parser.parse_args()
    judge = Judge.from_config(JudgeConfig(model=str(args.judge), batch_size=BATCH))
    text = table(evaluate(judge, args.tasks, args.languages, args.rows, args.difficulty, args.show))
    print(text)
    if not args.keep_card:
        write_card(text, args.judge / "README.md")


if __name__ == "__main__":
    main()
