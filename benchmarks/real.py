"""`python -m benchmarks.real`: a real model on CPUs, by this project, llama.cpp and ragas; writes benchmarks/real.md.

Each way runs in a process of its own; the ways take turns. Loading is a column of its own; what is kept of
a GGUF file is there.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
METRICS = {
    3: ["faithfulness", "context_precision_with_reference", "context_recall"],
    5: ["faithfulness", "context_precision_with_reference", "context_recall", "answer_accuracy", "context_relevance"],
}
WAYS = ["float32 2", "float32 1", "bfloat16 2", "bfloat16 1", "llama.cpp 2"]
COLUMNS = "way | load s | wall s | CPU s | passes | tokens a pass | answers | scores | peak MB".split(" | ")


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("--rows", type=int, default=6, help="of the sample, repeated with other ids where it has fewer")
    parser.add_argument("--metrics", type=int, default=3, choices=METRICS)
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument("--ways", nargs="*", default=WAYS, help="kind and threads; 'ragas 2' takes 19 minutes")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--before", type=Path, help="a checkout of this project, measured beside this one")
    parser.add_argument("--model", type=Path, help="a GGUF file (default SmolLM2-135M-Instruct of make real-models)")
    parser.add_argument("--write", action="store_true", help="add the table to benchmarks/real.md")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run, options)))
        return
    lines: list[list[str]] = []
    for number in range(options.rounds):
        for way in options.ways:
            for tree in [HERE, *filter(None, [options.before if "." not in way else None])]:
                figures = child(way, tree)
                name = way if tree == HERE else f"{way} before"
                lines.append([name, *map(str, figures.values())])
                print(f"round {number + 1}: {lines[-1]}", flush=True)
    if options.write:
        from benchmarks.report import machine, table

        command = " ".join(["python -m benchmarks.real", *sys.argv[1:]])
        with (HERE / "benchmarks/real.md").open("a", encoding="utf-8") as file:
            file.write(f"\n`{command}`, {machine()}\n\n{table(COLUMNS, sorted(lines, key=lambda line: line[0]))}\n")


def child(way: str, tree: Path) -> dict[str, Any]:
    """Figures of a way with the code of a checkout, measured by a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": way.split()[-1], "HF_HUB_OFFLINE": "1"}
    environment |= {"RAGAS_DO_NOT_TRACK": "true", "TRANSFORMERS_VERBOSITY": "error", "TQDM_DISABLE": "1"}
    command = [sys.executable, __file__, *sys.argv[1:], "--run", way]
    output = subprocess.run(command, env=environment, cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def run(way: str, options: argparse.Namespace) -> dict[str, Any]:
    """What one way has done, in this process."""
    import torch

    from rag_evaluator import Judge, RAGEvaluator
    from rag_evaluator.config import JudgeConfig

    kind, threads = way.split()
    torch.set_num_threads(int(threads))
    sample = [json.loads(line) for line in (HERE / "examples/dataset.jsonl").read_text("utf-8").splitlines()]
    rows = [_row(sample, number) for number in range(options.rows)]
    passes: list[int] = []
    with ExitStack() as stack:
        path = options.model or _default()
        settings: dict[str, Any] = {"max_new_tokens": options.max_new_tokens}
        if kind == "ragas":
            from benchmarks.ways import old_way

            measured = old_way(rows, path, JudgeConfig(**settings, dtype="bfloat16"), retries=True)
            return {"load": "", "wall": measured.seconds, "cpu": measured.cpu, "missing": measured.missing}
        if kind == "llama.cpp":
            from tools.gguf_model import llama_cpp

            url = stack.enter_context(llama_cpp(path, slots=6, fast=int(threads)))
            settings |= {"engine": "server", "url": url, "batch_size": 6}
        else:
            settings |= {"model": str(path), "dtype": kind}
        loading = time.perf_counter()
        judge = Judge.from_config(JudgeConfig(**settings))
        loading = time.perf_counter() - loading
        if kind != "llama.cpp":
            count = lambda _, args, kwargs: passes.append(kwargs["input_ids"].numel())  # noqa: E731
            judge.inner.engine.model.register_forward_pre_hook(count, with_kwargs=True)
        evaluator = RAGEvaluator({"metrics": METRICS[options.metrics]}, judge=judge)
        began = time.perf_counter()
        worked = sum(os.times()[:2])
        results = evaluator.evaluate(rows)
        wall = time.perf_counter() - began
        cpu = sum(os.times()[:2]) - worked
        values = [score.value for scores in results.scores.values() for score in scores]
    return {
        "load": round(loading, 1),
        "wall": round(wall, 1),
        "cpu": round(cpu, 1),
        "passes": len(passes) or "",
        "tokens": round(sum(passes) / len(passes), 1) if passes else "",
        "answers": sum(len(score.judgements) for scores in results.scores.values() for score in scores),
        "scores": f"{sum(not math.isnan(value) for value in values)} of {len(values)}, sum {_sum(values)}",
        "peak": round(_peak() / 1e6),
    }


def _row(sample: Sequence[dict[str, Any]], number: int) -> dict[str, Any]:
    """A row of the sample; when all are used up, with the response of another row."""
    row = sample[number % len(sample)]
    turn = number // len(sample)
    return {**row, "response": sample[(number + turn) % len(sample)]["response"]} if turn else row


def _default() -> Path:
    from tools.real_models import models_folder

    return next((models_folder() / "smollm2").glob("*.gguf"))


def _sum(values: Sequence[float]) -> str:
    return f"{sum(value for value in values if not math.isnan(value)):.4f}"


def _peak() -> int:
    """Bytes of memory that this process has had at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
