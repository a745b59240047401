"""`python -m benchmarks.sorting`: strategies of `sort` measured; writes benchmarks/sorting.json and sorting.md.

With `--dataset`, rows with a `relevance` column: nDCG of the retriever's and of the judge's order. With `--contexts`,
one question with so many generated contexts. Each strategy gets a judge of its own, so none profits from another's.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"

from benchmarks.report import machine
from benchmarks.rows import make_rows
from rag_evaluator import Judge, load_dataset
from rag_evaluator.config import JudgeConfig, SortConfig
from rag_evaluator.judge import CachedJudge
from rag_evaluator.prompts import PackSet, own_prompts
from rag_evaluator.tasks.ranking import STRATEGIES, compare_orders
from rag_evaluator.tasks.sort import Ranking, Sorter, summarise, with_relevance

FIGURES = Path("benchmarks/sorting.json")
GRADES = [f"nDCG@{depth}" for depth in (1, 5, 10)]


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sorting", description=__doc__)
    parser.add_argument("--dataset", type=Path, help="rows with retrieved_contexts and their relevance")
    parser.add_argument("--contexts", type=int, help="one question with so many contexts (200 shows the difference)")
    parser.add_argument("--model", default="demo", help="the judge (default demo)")
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES), choices=list(STRATEGIES))
    parser.add_argument("--fast", action="store_true", help="sort only what passes the 0-1 filter; else all contexts")
    parser.add_argument("--batch-size", type=int, default=16)
    options = parser.parse_args()
    config = JudgeConfig(model=options.model, batch_size=options.batch_size)
    for strategy in options.strategies:
        if options.dataset:
            samples = load_dataset(options.dataset)
            lists = [str(s.columns["user_input"]) for s in samples], [s.columns["retrieved_contexts"] for s in samples]
            grades = [list(sample.row["relevance"]) for sample in samples]
            mode = "filtered" if options.fast else "all"
            key = f"{options.dataset.stem}, {mode}"
            _keep(options.model, key, strategy, measure(config, strategy, options.fast, *lists, grades))
        if options.contexts:
            rows = make_rows(options.contexts)
            lists = [str(rows[0]["user_input"])], [[str(row["response"]) for row in rows]]
            key = f"{options.contexts} contexts of one question"
            _keep(options.model, key, strategy, measure(config, strategy, False, *lists))


def measure(
    config: JudgeConfig,
    strategy: str,
    fast: bool,
    questions: Sequence[str],
    contexts: Sequence[Sequence[str]],
    grades: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """What one strategy took and found, the model loaded before the clock starts."""
    loaded = Judge.from_config(config)
    judge = CachedJudge(loaded)
    originals = {key: prompt for key, prompt in own_prompts().items() if key[0] == "sort"}
    how = judge, PackSet(originals, "english", Path("prompts")).load(), SortConfig(fast=fast, strategy=strategy)
    compare_orders([0, 1], [0, 1], k=2, top=True, fast=False)  # imports scipy before the clock starts
    wall = time.perf_counter()
    cpu = time.process_time()

    async def sort_all() -> list[Ranking]:
        sorters = (Sorter(*how, *pair) for pair in zip(questions, contexts, strict=True))
        return list(await asyncio.gather(*(sorter.sort() for sorter in sorters)))

    rankings = asyncio.run(sort_all())
    figures: dict[str, Any] = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    if grades:
        rankings = [with_relevance(*pair) for pair in zip(rankings, grades, strict=True)]
    figures["computed"] = loaded.inner.engine.decoder.computed
    summary = summarise(rankings)
    means = {name: row["mean"] for name, row in summary.pop("measures").items()}
    assert all(ranking.fields["sorted"] is not None for ranking in rankings)
    return {**figures, **summary, "asked": judge.asked, "measures": means, "questions": len(questions)}


def _keep(model: str, part: str, strategy: str, figures: dict[str, Any]) -> None:
    """Store figures at once: the next strategy may take an hour."""
    known = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    arguments = [Path(argument).name for argument in sys.argv[1:]]
    told = {"command": " ".join(["python -m benchmarks.sorting", *arguments]), "date": date.today().isoformat()}
    known.setdefault(f"{model}: {part}", {})[strategy] = {**figures, **told, "machine": machine()}
    FIGURES.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    FIGURES.with_suffix(".md").write_text(_render(known), encoding="utf-8")
    print(json.dumps({strategy: figures}))


def _render(known: dict[str, dict[str, dict[str, Any]]]) -> str:
    text = "# Strategies of `sort`\n\nWritten by `python -m benchmarks.sorting`.\n"
    for part, strategies in known.items():
        text += f"\n## {part}\n\n| strategy | comparisons | judge calls | tokens computed | seconds | CPU seconds |"
        text += " agreement |"
        measured = all(f"judge {GRADES[0]} by relevance" in figures["measures"] for figures in strategies.values())
        text += "".join(f" {grade} |" for grade in GRADES) if measured else ""
        text += "\n|---|---|---|---|---|---|---|" + ("---|---|---|" if measured else "") + "\n"
        if measured:
            first = next(iter(strategies.values()))["measures"]
            text += "| the retriever | | | | | | |" + _grades(first, "retriever") + "\n"
        for name, figures in strategies.items():
            share = figures["measures"]["agreement"]
            text += (
                f"| {name} | {figures['comparisons']} | {figures['judge_calls']} | "
                f"{figures.get('computed', '')} | {figures['seconds']:.1f} | {figures['cpu_seconds']:.1f} | "
                f"{'none' if share is None else f'{share:.3f}'} |"
                f"{_grades(figures['measures'], 'judge') if measured else ''}\n"
            )
        for told in dict.fromkeys(f"{one['command']}, {one['date']}, {one['machine']}" for one in strategies.values()):
            text += f"\n{told}\n"
    return text


def _grades(measures: dict[str, float], whose: str) -> str:
    return "".join(f" {100 * measures[f'{whose} {grade} by relevance']:.2f} |" for grade in GRADES)


if __name__ == "__main__":
    main()
