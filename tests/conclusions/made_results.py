"""Results made by hand: scores as lists, judged by whom the test says."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluator import METRICS
from rag_evaluator.dataset import open_dataset
from rag_evaluator.metrics import about_metrics
from rag_evaluator.results import Results, Score

NAN = math.nan
QWEN = "/models/Qwen3-8B"


def made(
    scores: Mapping[str, Sequence[float]],
    name: str = "a",
    judge: str = QWEN,
    clusters: Sequence[str] | None = None,
    outcomes: Mapping[str, Sequence[str]] | None = None,
    reasons: Mapping[int, str] | None = None,
    **config: Any,
) -> Results:
    """Results of rows 0, 1, 2, ... NaN is a score that is missing, as the judge gave no answer.

    Args:
        clusters: what the rows have in the column `document`, by which they are then clustered.
        outcomes: of metrics that name those.
        reasons: of rows whose missing scores have another one.
    """
    count = len(next(iter(scores.values())))
    rows = [
        {"id": str(row), "user_input": f"question {row}", "response": f"response {row}", "document": labels}
        for row, labels in zip(range(count), clusters or range(count), strict=True)
    ]
    names = {metric: (outcomes or {}).get(metric, [None] * count) for metric in scores}
    signatures = {
        metric: f"metric:{metric}|judge:{judge}|language:english" if METRICS[metric].judge else f"metric:{metric}"
        for metric in scores
    }
    why = reasons or {}
    by_cluster = {"cluster": "document"} if clusters else {}
    return Results(
        list(open_dataset(rows)),
        {
            metric: [
                Score(value, why.get(row, "the judge gave no answer") if math.isnan(value) else None, outcome=outcome)
                for row, (value, outcome) in enumerate(zip(values, names[metric], strict=True))
            ]
            for metric, values in scores.items()
        },
        signatures,
        {
            "name": name,
            "signatures": signatures,
            "metrics": about_metrics({metric: METRICS[metric] for metric in scores}),
            "config": {"judge": {"model": judge}, **by_cluster, **config},
        },
    )
