"""Results folders of known scores, without a judge and without texts, to look at what is made of them."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from folders import write_lines

from rag_evaluator import Results, load_dataset
from rag_evaluator.results import Score
from rag_evaluator.statistics import Scale

NONE = math.nan


def made_run(
    folder: Path,
    scores: Mapping[str, Sequence[float]],
    scales: Mapping[str, Scale] | None = None,
    stages: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    rows: Sequence[Mapping[str, Any]] | None = None,
    details: Sequence[Mapping[str, Any]] = (),
    **manifest: Any,
) -> Path:
    """A run with these scores, NaN where one is missing.

    Args:
        groups: column -> its value in each row.
        rows: the input rows; None: a response of as many letters as the row has predecessors.
    """
    folder.mkdir(parents=True)
    count = len(next(iter(scores.values())))
    by = groups or {}
    rows = [{"response": "x" * row} for row in range(count)] if rows is None else rows
    columns = {**by, **scores}
    written = [
        {**row, **{name: _json(values[place]) for name, values in columns.items()}} for place, row in enumerate(rows)
    ]
    about = {}
    for metric in scores:
        scale = (scales or {}).get(metric, Scale())
        stage = (stages or {}).get(metric, "generation")
        about[metric] = {"range": [scale.low, scale.high], "kind": scale.kind, "better": scale.better, "stage": stage}
    made = {"program": "rag_evaluator", "name": folder.name, "rows": count, "metrics": about, "config": {}, **manifest}
    samples = load_dataset([{"user_input": str(row), **{name: by[name][row] for name in by}} for row in range(count)])
    reported = {"metrics": about, "config": {"group_by": list(by)}}
    summary = Results(samples, {name: list(map(_score, scores[name])) for name in scores}, {}, reported).summary()
    (folder / "manifest.json").write_text(json.dumps(made))
    (folder / "summary.json").write_text(json.dumps(summary))
    write_lines(folder / "scores.jsonl", written)
    write_lines(folder / "details.jsonl", details)
    return folder


def _score(value: float) -> Score:
    return Score(value, "no reference in this row" if math.isnan(value) else None)


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
