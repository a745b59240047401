"""Old and new way by the longest answer that is allowed: `python -m benchmarks.answer_lengths`.

What is not measured keeps its last figures.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import machine, table

PAGE = Path(__file__).with_suffix(".md")
SIDES = ("old", "new")
Figures = Mapping[str, Any]  # of a `Measurement`
Known = Mapping[str, Mapping[str, Any]]  # answers allowed -> pairs of figures, those of more rows, how they were made
COLUMNS = (
    "max_new_tokens | way | rows | CPU seconds | seconds | answers | tokens generated | tokens an answer | "
    "prompt tokens computed | missing"
).split(" | ")
INTRODUCTION = """# Against ragas with HuggingFacePipeline, by the length of answers

Generated rows, the same for both sides, six metrics, the demo judge, greedy. Each side runs alone in a process of its
own, the sides in turns; models are loaded before the clock starts. CPU seconds are those of the process and its
children, with one thread a forward pass: they hardly depend on what else the machine does, seconds do.

The old way is `LangchainLLMWrapper(HuggingFacePipeline(...))` with `ragas.evaluate`, as its users write it. It asks
each prompt alone, and asks again for what does not parse. Its answers are not constrained: they end where the model
ends them, at `max_new_tokens` at the latest. "Until the limit" is a model that never ends an answer by itself, which is
made by `min_new_tokens`. Here an answer ends where it is complete, in both cases.
"""


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answer_lengths", description=__doc__)
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--budgets", type=int, nargs="+", default=[64, 128, 256], help="max_new_tokens of both sides")
    parser.add_argument("--until-limit", action="store_true", help="answers of the old way end there only")
    parser.add_argument("--main", type=int, default=128, help="the budget that is measured --repeats times")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--many", type=int, default=64, help="rows that the new way judges alone, with --main")
    parser.add_argument("--note", default="", help="what else the machine did")
    parser.add_argument("--side", choices=SIDES, help="measure one side in this process, with the first budget")
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measured(options.side, options.rows, options.budgets[0], options.until_limit)))
        return
    command = " ".join(["python -m benchmarks.answer_lengths", *sys.argv[1:]]).partition(" --note")[0]
    about = {"command": command, "date": date.today().isoformat(), "machine": machine(), "note": options.note}
    for budget in options.budgets:
        is_main = budget == options.main
        many = alone("new", options.many, budget) if is_main else None
        pairs: list[list[Figures]] = []
        for _ in range(options.repeats if is_main else 1):
            pairs.append([alone(side, options.rows, budget, options.until_limit) for side in SIDES])
            _keep(
                f"{budget}{', until the limit' if options.until_limit else ''}", {"pairs": pairs, "many": many, **about}
            )
    print(PAGE.read_text(encoding="utf-8"))


def _keep(answers: str, figures: Mapping[str, Any]) -> None:
    """Store figures at once, and write the page."""
    path = PAGE.with_suffix(".json")
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    known[answers] = figures
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(known), encoding="utf-8")


def alone(side: str, rows: int, budget: int, until_limit: bool = False) -> Figures:
    """The figures of one side, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.answer_lengths", "--side", side, "--rows", str(rows)]
    settings = {"OMP_NUM_THREADS": "1", "RAGAS_DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    done = subprocess.run(
        [*command, "--budgets", str(budget), *(["--until-limit"] if until_limit else [])],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def measured(side: str, rows: int, budget: int, until_limit: bool) -> Figures:
    """The figures of one side, in this process."""
    from benchmarks.rows import make_rows
    from benchmarks.ways import new_way, old_way
    from rag_evaluator.config import JudgeConfig
    from rag_evaluator.demo import DEMO_JUDGE

    settings = JudgeConfig(max_new_tokens=budget, dtype="float32")
    if side == "old":
        return asdict(old_way(make_rows(rows), DEMO_JUDGE, settings, retries=True, until_limit=until_limit))
    return asdict(new_way(make_rows(rows), DEMO_JUDGE, settings))


def page(known: Known) -> str:
    """What was measured: the ratios by the answers that are allowed, then all figures, then how they were made."""
    heading = ("max_new_tokens", "rows", "tokens an answer, old and new", "times by CPU seconds", "times by seconds")
    lines = [
        [answers, *_line(figures)]
        for answers, part in known.items()
        for figures in (*(figures for pair in part["pairs"] for figures in pair), *filter(None, [part["many"]]))
    ]
    made = [f"`{part['command']}`, {part['date']}, {part['machine']}. {part['note']}" for part in known.values()]
    return "\n".join(
        [
            INTRODUCTION,
            table(heading, [_ratios(answers, part["pairs"]) for answers, part in known.items()]),
            "",
            *(_of_many(part["many"], part["pairs"], answers) for answers, part in known.items() if part["many"]),
            "All runs:",
            "",
            table(COLUMNS, lines),
            "",
            *(f"Made by {line}".rstrip() + "\n" for line in dict.fromkeys(made)),
        ]
    )


def _of_many(figures: Figures, pairs: Sequence[Sequence[Figures]], answers: str) -> str:
    """What a row costs where there are many: prompts share what they begin with, which the old way asks anew."""
    old = median(pair[0]["cpu"] / pair[0]["samples"] for pair in pairs)
    new = figures["cpu"] / figures["samples"]
    return (
        f"Of {figures['samples']} rows, with {answers} new tokens at most, a row takes {new:.2f} CPU seconds here, as "
        f"prompts share what they begin with. The old way asks each prompt alone, {old:.1f} CPU seconds a row: "
        f"**{old / new:.0f} times**.\n"
    )


def _ratios(answers: str, pairs: Sequence[Sequence[Figures]]) -> list[str]:
    """The median of the pairs, with the least and the most where there are several."""
    lengths = " and ".join(f"{median(_length(pair[place]) for pair in pairs):.0f}" for place in range(len(SIDES)))
    times = []
    for clock in ("cpu", "seconds"):
        each = sorted(old[clock] / new[clock] for old, new in pairs)
        ends = f" ({each[0]:.1f} to {each[-1]:.1f} in {len(each)} pairs)" if len(each) > 1 else ""
        times.append(f"{median(each):.1f}{ends}")
    return [answers, str(pairs[0][0]["samples"]), lengths, *times]


def _length(figures: Figures) -> float:
    return float(figures["generated"] / figures["requests"])


def _line(figures: Figures) -> list[str]:
    return [
        figures["way"],
        str(figures["samples"]),
        f"{figures['cpu']:.1f}",
        f"{figures['seconds']:.1f}",
        f"{figures['requests']:,}",
        f"{figures['generated']:,}",
        f"{_length(figures):.0f}",
        f"{figures['computed']:,}",
        f"{figures['missing']}/{figures['scores']}",
    ]


if __name__ == "__main__":
    main()
