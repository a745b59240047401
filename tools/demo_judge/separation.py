"""How well the judge tells right answers and contexts from wrong ones on data it never saw, as AUC.

`python -m tools.demo_judge.separation rag_en.jsonl`. The rows need `response_is_correct` and `reference_contexts`
beside the usual columns. Faithfulness: rows with a right against rows with a wrong response. Context precision: the
reference context of a row against its other contexts. 0.5 is chance, 1.0 is perfect; equal scores count as half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragas.metrics.collections.context_precision.util import ContextPrecisionInput, ContextPrecisionOutput
from scipy.stats import mannwhitneyu

from rag_evaluator import Judge, RAGEvaluator
from rag_evaluator.config.sections import JudgeConfig
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.metrics.prompts import load_prompts
from tools.demo_judge.tasks import PACKS

PRECISION = ("context_precision_with_reference", "prompt")


def auc(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """The probability that a positive scores above a negative (Mann-Whitney)."""
    u = mannwhitneyu(positives, negatives).statistic
    return float(u) / (len(positives) * len(negatives))


def faithfulness(judge: Path, rows: Sequence[dict[str, Any]], language: str) -> str:
    settings = {"metrics": ["faithfulness"], "language": language, "prompts_dir": str(PACKS)}
    results = RAGEvaluator({**settings, "judge": {"model": str(judge)}}).evaluate(list(rows))
    scores = results.to_pandas()["faithfulness"].tolist()
    sides: dict[bool, list[float]] = {True: [], False: []}
    for made, score in zip(rows, scores, strict=True):
        if not math.isnan(score):
            sides[made["response_is_correct"]].append(score)
    means = " and ".join(f"{sum(side) / len(side):.2f}" for side in sides.values())
    return (
        f"faithfulness: AUC {auc(sides[True], sides[False]):.2f} of {sum(map(len, sides.values()))} rows, means {means}"
    )


def precision(judge: Judge, rows: Sequence[dict[str, Any]], language: str) -> str:
    prompt = load_prompts((PRECISION[0],), language, PACKS)[PRECISION]

    async def ask(made: dict[str, Any], context: str) -> float:
        data = ContextPrecisionInput(question=made["user_input"], context=context, answer=made["reference"])
        answer = await judge.agenerate(prompt.to_string(data), ContextPrecisionOutput)
        return float(answer.verdict)

    async def ask_all() -> list[float]:
        return list(await asyncio.gather(*(ask(made, text) for made in rows for text in made["retrieved_contexts"])))

    sides: dict[bool, list[float]] = {True: [], False: []}
    pairs = [(text in made["reference_contexts"]) for made in rows for text in made["retrieved_contexts"]]
    for gold, verdict in zip(pairs, run(ask_all()), strict=True):
        sides[gold].append(verdict)
    means = " and ".join(f"{sum(side) / len(side):.2f}" for side in sides.values())
    return f"context precision: AUC {auc(sides[True], sides[False]):.2f} of {len(pairs)} contexts, means {means}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--judge", type=Path, default=DEMO_JUDGE)
    parser.add_argument("--rows", type=int, default=200, help="of each file, from its beginning")
    parser.add_argument("--language", default="english", help="of the prompts")
    args = parser.parse_args()
    for file in args.files:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[: args.rows]]
        print(f"{file.name}, {args.language} prompts")
        print(" ", faithfulness(args.judge, rows, args.language), flush=True)
        judge = Judge.from_config(JudgeConfig(model=str(args.judge)))
        print(" ", precision(judge, rows, args.language), flush=True)


if __name__ == "__main__":
    main()
