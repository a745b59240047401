"""`python -m benchmarks.plan`: what `plan` says of 200 rows, beside what the run then asks; writes Markdown to stdout.

Plan and run have folders of their own, so that the run judges every row. CPU seconds are compared, too: on a shared
machine the clock tells of others. Afterwards the finished run is planned again with other samples, which asks nothing:
what one sample says is chance, what many say is the estimator.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"

from benchmarks.rows import make_rows
from rag_evaluator import PlannedJudge, RAGEvaluator, plan
from rag_evaluator.features.setup.plan import Expected
from rag_evaluator.features.setup.trial import read_measured

METRICS = ["context_precision", "faithfulness", "answer_relevancy", "context_relevance"]
TWICE = 20  # rows that are there twice: their questions are asked once
NEAR = 0.1
Asked = Mapping[str, tuple[int, int]]  # a question -> tokens of its prompt and of its answer


def main() -> None:
    """Plan, run, compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan", description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=20, help="other samples of the finished run")
    options = parser.parse_args()
    rows = make_rows(options.rows - TWICE)
    rows += rows[:TWICE]
    settings: dict[str, Any] = {"metrics": METRICS, "report": False}
    with tempfile.TemporaryDirectory() as folder:
        planned, run = Path(folder) / "planned", Path(folder) / "run"
        judge = plan(settings, rows, planned, sample=options.sample).judges[0]
        measured = read_measured(planned, RAGEvaluator(settings).stage(rows).plan)
        assert measured is not None
        evaluator = RAGEvaluator(settings)
        clock, cpu = time.perf_counter(), time.process_time()
        evaluator.evaluate(rows, folder=run)
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        real = dict(_asked(run / "details.jsonl"))
        others = {size: _others(settings, run, rows, size, options.seeds) for size in (options.sample, 60)}
    print(f"# Plan and run\n\n{options.rows} rows, {options.sample} of them judged for the plan, demo judge.\n")
    print(
        "| metric | calls, planned | calls | prompt tokens, planned | prompt tokens | generated, planned | generated |"
    )
    print("|---|---|---|---|---|---|---|")
    for metric in judge.metrics:
        assert metric.all is not None
        print(f"| {metric.metric} | {_line(metric.all, real[metric.metric])} |")
    assert judge.all is not None
    assert judge.left is not None
    assert judge.seconds is not None
    print(f"| together | {_line(judge.all, _sum(real))} |")
    share = judge.seconds / measured.seconds  # of the time of the judged rows
    seconds, busy = judge.seconds + measured.seconds, (1 + share) * measured.cpu_seconds
    print(f"\nTime without loading, all rows: {_ratio(seconds, clock - measured.load_seconds, 's')}.")
    print(f"CPU time: {_ratio(busy, cpu, 's')} (the run's includes loading).")
    _print_others(others, real)


def _others(settings: dict[str, Any], run: Path, rows: Any, size: int, seeds: int) -> list[PlannedJudge]:
    """Plans of a finished run from other samples; nothing is judged."""
    return [plan({**settings, "sample_seed": seed}, rows, run, sample=size).judges[0] for seed in range(seeds)]


def _print_others(others: Mapping[int, Sequence[PlannedJudge]], real: Mapping[str, Asked]) -> None:
    """How far the generated tokens are off, over all samples."""
    print("\n| rows judged | metric | mean error | spread | least | most | within 10 % | in the range |")
    print("|---|---|---|---|---|---|---|---|")
    for size, judges in others.items():
        for name in [*real, "together"]:
            parts = [judge.all if name == "together" else _named(judge, name) for judge in judges]
            count = sum(tokens[1] for tokens in (_sum(real) if name == "together" else real[name]).values())
            print(f"| {size} | {name} | {_errors([part for part in parts if part is not None], count)} |")


def _named(judge: PlannedJudge, name: str) -> Expected | None:
    return next(metric.all for metric in judge.metrics if metric.metric == name)


def _errors(parts: Sequence[Expected], count: int) -> str:
    """Mean, standard deviation and bounds of the relative error; shares of samples."""
    errors = [(part.generated_tokens or 0.0) / count - 1 for part in parts]
    margins = [(part.within.generated_tokens or 0.0) / count if part.within else 0.0 for part in parts]
    near = fmean(abs(error) <= NEAR for error in errors)
    held = fmean(abs(error) <= margin + 1e-9 for error, margin in zip(errors, margins, strict=True))
    figures = [fmean(errors), pstdev(errors), min(errors), max(errors)]
    return " | ".join([*(f"{figure:+.1%}" for figure in figures), f"{near:.0%}", f"{held:.0%}"])


def _asked(details: Path) -> Iterator[tuple[str, dict[str, tuple[int, int]]]]:
    """Metric -> its different questions -> tokens of the prompt and of the answer."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    with details.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            for judgement in line["judgements"]:
                tokens = (judgement["prompt_tokens"], judgement["generated_tokens"])
                found.setdefault(line["metric"], {})[judgement["prompt_digest"]] = tokens
    yield from found.items()


def _sum(real: Mapping[str, Mapping[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    return {digest: tokens for asked in real.values() for digest, tokens in asked.items()}


def _line(planned: Expected, real: Mapping[str, tuple[int, int]]) -> str:
    assert planned.prompt_tokens is not None
    assert planned.generated_tokens is not None
    pairs = [
        (planned.calls, len(real)),
        (planned.prompt_tokens, sum(tokens[0] for tokens in real.values())),
        (planned.generated_tokens, sum(tokens[1] for tokens in real.values())),
    ]
    return " | ".join(f"{guess:,.0f} | {count:,} ({guess / count - 1:+.1%})" for guess, count in pairs)


def _ratio(planned: float, real: float, unit: str) -> str:
    return f"{planned:.0f} {unit} planned, {real:.0f} {unit} measured ({planned / real - 1:+.0%})"


if __name__ == "__main__":
    main()
