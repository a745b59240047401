"""Results folders of known scores, without a judge and without texts, to look at what is made of them."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_evaluator.results.summary import Remark, figures
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
    summary = {}
    about = {}
    for metric, values in scores.items():
        scale = (scales or {}).get(metric, Scale())
        said = {"kind": scale.kind, "better": scale.better, "stage": (stages or {}).get(metric, "generation")}
        parts = {
            column: {
                value: _figures([values[p] for p in range(count) if found[p] == value], scale)
                for value in sorted(set(found))
            }
            for column, found in by.items()
        }
        summary[metric] = {**_figures(values, scale), **said, **({"groups": parts} if by else {})}
        about[metric] = {"range": [scale.low, scale.high], **said, "threshold": None}
    made = {"program": "rag_evaluator", "name": folder.name, "rows": count, "metrics": about, "config": {}, **manifest}
    (folder / "manifest.json").write_text(json.dumps(made))
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))
    (folder / "details.jsonl").write_text("".join(json.dumps(line) + "\n" for line in details))
    return folder


def _figures(values: Sequence[float], scale: Scale) -> dict[str, Any]:
    remarks = [Remark("no reference in this row") if math.isnan(value) else Remark() for value in values]
    return figures(np.array(values, dtype=np.float64), remarks, None, scale, 0.95)


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
