"""Certificates of runs whose scores and labels are known, and draws with known probabilities."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labelled_runs import scored_run

from rag_evaluator import certify
from rag_evaluator.features.certify import DrawRecord
from rag_evaluator.results import Run


def certified(folder: Path, scores: Sequence[Any], labels: Sequence[Any], **options: Any) -> dict[str, Any]:
    """What a certificate has of such a run; `options`: of `scored_run`, and `threshold` and `grades` of the labels."""
    threshold = options.pop("threshold", None)
    grades = [f"m={options['scale'][0]}..{options['scale'][1]}"] if "scale" in options else []
    run = scored_run(folder, list(map(float, scores)), list(map(float, labels)), **options)
    limit = {} if threshold is None else {"m": threshold}
    made = certify(run, label={"m": "human"}, threshold=limit, scale=grades, out=folder / "c.json").certificate
    part: dict[str, Any] = made["metrics"]["m"]
    return part


def keep_draw(run: Path, rows: Sequence[int], probabilities: Sequence[float], metric_name: str = "m") -> str:
    """Keep a draw of rows as `certify sheet` does, with probabilities of all rows; its name."""
    record = DrawRecord(
        Run(run).data,
        [metric_name],
        "stratified",
        len(rows),
        0,
        list(rows),
        list(probabilities),
        [0] * len(probabilities),
    )
    (run / "labels").mkdir(exist_ok=True)
    (run / "labels" / f"{record.name}.json").write_text(json.dumps(asdict(record)), encoding="utf-8")
    return record.name
