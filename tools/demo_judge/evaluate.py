"""Measures the judge on rows of an unseen seed, under the full prompts: `python -m tools.demo_judge.evaluate`."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rag_evaluator.demo import DEMO_JUDGE
from tools.demo_judge.tasks import TASKS, Row, Task, row

UNSEEN_SEED = 20_000_000
Leaf = tuple[tuple[str, ...], str | int]


@dataclass(frozen=True)
class Measured:
    """Shares in [0, 1] for one task; None where the task has no such part.

    texts: statements and questions that are as expected, to the letter. decisions: verdicts, flags and ratings right.
    majority: what always giving the most frequent decision would get.
    """

    task: str
    rows: int
    legal: float
    texts: float | None
    decisions: float | None
    majority: float | None


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
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


def opening(task: Task, tokenizer: Any) -> str:
    """The tokens every answer of a task begins with: layout that a constrained decoder writes without the judge."""
    made = [row(task, Random(seed), 0.5).answer for seed in range(50)]
    columns = zip(*(tokenizer(answer, add_special_tokens=False).input_ids for answer in made), strict=False)
    same = takewhile(lambda column: len(set(column)) == 1, columns)
    return tokenizer.decode([column[0] for column in same])


def answers(model: Any, tokenizer: Any, rows: list[Row], start_with: str = "", batch_size: int = 16) -> list[str]:
    """Greedy answers without a grammar after a given opening, in the order of `rows`; any causal LM will do."""
    tokenizer.padding_side = "left"
    found = []
    for start in range(0, len(rows), batch_size):
        some = rows[start : start + batch_size]
        encoded = tokenizer([made.head + made.body + start_with for made in some], return_tensors="pt", padding=True)
        longest = max(len(tokenizer(made.answer).input_ids) for made in some)
        with torch.inference_mode():
            made_ids = model.generate(
                input_ids=encoded.input_ids,
                attention_mask=encoded.attention_mask,
                max_new_tokens=longest + 40,
                do_sample=False,
            )
        texts = tokenizer.batch_decode(made_ids[:, encoded.input_ids.shape[1] :], skip_special_tokens=True)
        found += [start_with + text for text in texts]
    return found


def judged(model: Any, tokenizer: Any, made: Row) -> str:
    """A greedy NLI answer with every statement written in, as the project's grammar does; empty if no verdict comes."""
    expected = json.loads(made.answer)["statements"]
    given = []
    for wanted in expected:
        blank = {"statement": wanted["statement"], "reason": "", "verdict": 0}
        so_far = " " + json.dumps({"statements": [*given, blank]}, indent=4, ensure_ascii=False)
        so_far = so_far[: so_far.rindex('"reason": "') + len('"reason": "')]
        ids = tokenizer(made.head + made.body + so_far, return_tensors="pt").input_ids
        with torch.inference_mode():
            out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=60, do_sample=False)
        match = re.match(r'(.*?)",\s*"verdict": (\d)', tokenizer.decode(out[0, ids.shape[1] :]), re.DOTALL)
        if not match:
            return ""
        given.append({"statement": wanted["statement"], "reason": match[1], "verdict": int(match[2])})
    return json.dumps({"statements": given})


def measure(task: Task, rows: list[Row], found: list[str]) -> Measured:
    """What was right among what the rows ask for; an answer that is no JSON has nothing right."""
    legal, right, wanted, values = 0, Counter[str](), Counter[str](), Counter[str | int]()
    for made, text in zip(rows, found, strict=True):
        try:
            given = dict(leaves(json.loads(text)))
            legal += 1
        except json.JSONDecodeError:
            given = {}
        for path, value in leaves(json.loads(made.answer)):
            kind = "decisions" if isinstance(value, int) else "texts"
            wanted[kind] += 1
            right[kind] += given.get(path) == value
            if kind == "decisions":
                values[value] += 1
    share = {kind: right[kind] / wanted[kind] if wanted[kind] else None for kind in ("texts", "decisions")}
    majority = max(values.values()) / wanted["decisions"] if values else None
    return Measured(task.name, len(rows), legal / len(rows), share["texts"], share["decisions"], majority)


def table(results: list[Measured]) -> str:
    """The results in Markdown."""
    lines = [
        "| task | rows | legal JSON | texts exact | decisions right | always the commonest |",
        "|---|---|---|---|---|---|",
    ]
    for result in results:
        shares = (result.legal, result.texts, result.decisions, result.majority)
        cells = ["-" if share is None else f"{share:.2f}" for share in shares]
        lines.append(f"| {result.task} | {result.rows} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", type=Path, default=DEMO_JUDGE)
    parser.add_argument("--rows", type=int, default=24, help="rows per task")
    parser.add_argument("--difficulty", type=float, default=0.3, help="0 (one short fact) to 1 (up to seven facts)")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    parser.add_argument("--show", type=int, default=0, help="print so many answers per task")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(args.judge)
    model = AutoModelForCausalLM.from_pretrained(args.judge, use_safetensors=True, dtype=torch.float32).eval()
    results = []
    for task in TASKS:
        if not task.prompts:
            continue
        rng = Random(UNSEEN_SEED)
        rows = [row(task, rng, args.difficulty) for _ in range(args.rows)]
        if task.name == "nli":
            found = [judged(model, tokenizer, made) for made in rows]
        else:
            found = answers(model, tokenizer, rows, opening(task, tokenizer))
        for made, text in list(zip(rows, found, strict=True))[: args.show]:
            print(f"{made.body}\n--- expected{made.answer}\n--- given{text}\n")
        results.append(measure(task, rows, found))
    text = table(results)
    print(text)
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
