"""The scores that `compare` and `gate` are given, from wherever they are; and the scales of their metrics."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ConfigError, ResultsError, did_you_mean
from rag_evaluator.metrics import METRICS, canonical_name
from rag_evaluator.results import (
    REFUSED,
    SEALED,
    Cell,
    Details,
    Record,
    Results,
    ScoredRows,
    ScoreTable,
    is_ours,
    of_table,
    refused_by,
    reporting_of,
)
from rag_evaluator.statistics import Scale
from rag_evaluator.tasks import open_run


def read_scores(source: Any, position: int = 0, no_scores: Collection[str] = ()) -> ScoredRows:
    """The scores of a results folder, of `Results`, or of a file or frame of scores from elsewhere.

    Args:
        source: Any: one of these.
        position: in the list of runs, for the name of one that has none.
        no_scores: columns of a table that hold no scores.

    Raises `RagEvaluatorError` for a folder without scores, an unfinished run, a table without scores.
    """
    name = f"run {position + 1}"
    scores: ScoredRows
    if isinstance(source, Results):
        scores = _of_results(source, str(source.manifest.get("name") or name))
    elif isinstance(source, str | Path):
        scores = _of_path(Path(source).expanduser(), no_scores)
    else:
        scores = of_table(source, name, canonical_name, no_scores)
    for metric, values in scores.scores.items():
        scale = known_scale(metric, [scores])
        expected = "a finite number" if scale is None else f"a number from {scale.low:g} to {scale.high:g}"
        for place, value in enumerate(values):
            if math.isinf(value) or not (scale is None or math.isnan(value) or scale.holds(value)):
                where = f"{scores.name}, {scores.samples[place].where}"
                raise ResultsError(f"{where}: {metric} is {value:g}, expected {expected}.")
    return scores


def _of_path(path: Path, no_scores: Collection[str]) -> ScoredRows:
    """The scores of a results folder, or of a table.

    Of a table that a run wrote itself, the manifest beside it says what it holds, and what its metrics are; the rest of
    the manifest is about the folder.
    """
    if not path.is_file():
        return open_run(path)
    if path.name not in SEALED or not is_ours(path.parent):
        return of_table(path, str(path), canonical_name, no_scores)
    run = open_run(path.parent)
    run.check(path.name)
    return ScoreTable(str(path), run.samples, run.scores, {"metrics": run.manifest.get("metrics", {})})


def scales_for(
    metrics: Sequence[str], runs: Sequence[ScoredRows], better: Mapping[str, str] | None = None
) -> tuple[dict[str, Scale], list[str]]:
    """The scale of each metric; and a sentence for each that nobody has described.

    It is that of `METRICS`, in the range that the manifest of a run names; else what the manifest says of its own
    metric. Else the metric is taken for a continuous one in [0, 1], or in the range that was seen if that is wider.

    Args:
        better: metric, by any of its names -> `higher` or `lower`, where nobody has described it.

    Raises `ConfigError` for a direction of none of these metrics, and for one that is not so.
    """
    scales = {}
    remarks = []
    directions = {canonical_name(name) or name: (name, end) for name, end in (better or {}).items()}
    for metric, (name, end) in directions.items():
        if metric not in metrics:
            raise ConfigError(f"--better {name}={end}: there are no scores of '{name}'.{did_you_mean(name, metrics)}")
        if end not in ("higher", "lower"):
            raise ConfigError(f"--better {name}={end}: expected {name}=higher or {name}=lower.")
    for metric in metrics:
        known = known_scale(metric, runs)
        (name, end) = directions.get(metric, (metric, ""))
        if known is None:
            values = [value for run in runs for value in run.scores.get(metric, ()) if value == value]
            known = Scale(min([0.0, *values]), max([1.0, *values]), "continuous", is_directed=False)
            if end:
                known = known._replace(better="higher" if end == "higher" else "lower", is_directed=True)
            direction = (
                f", {end} is better" if end else f". Whether higher or lower is better is not known: {_ask(metric)}"
            )
            remarks.append(
                f"{metric} is not a metric of this program: taken as continuous from {known.low:g} to {known.high:g}"
                f"{direction}."
            )
        elif end and known.better != end:
            raise ConfigError(f"--better {name}={end}: of {metric} {known.better} is better.")
        scales[metric] = known
    return scales, remarks


def _ask(metric: str) -> str:
    return f"--better {metric}=lower or --better {metric}=higher (better= in Python)"


def check_direction(metric: str, scale: Scale, use: str) -> None:
    """Raises `ConfigError` where nobody knows whether higher or lower scores are better; `use`: what needs it."""
    if not scale.is_directed:
        raise ConfigError(
            f"{use}: whether higher or lower scores of '{metric}' are better is not known. Say it: {_ask(metric)}."
        )


def known_scale(metric: str, runs: Sequence[ScoredRows]) -> Scale | None:
    """The scale of a metric, of rubrics that of the run; None where neither a manifest nor `METRICS` describes it."""
    declared = next((scale for run in runs if (scale := reporting_of(run.manifest).scales.get(metric))), None)
    name = canonical_name(metric)
    known = METRICS[name].scale if name else None
    return known._replace(low=declared.low, high=declared.high) if known and declared else known or declared


def _of_results(results: Results, name: str) -> ScoreTable:
    """The scores of an evaluation in memory, under the canonical names of the metrics."""

    def named(metric: str) -> str:
        return canonical_name(metric) or metric

    def records(cells: Collection[Cell]) -> Details:
        chosen: dict[Cell, list[Record]] = {}
        rows = {row for row, _ in cells}
        for place, row in enumerate(results):
            for record in map(json.loads, row.details()) if place in rows else ():
                if (cell := (place, named(record["metric"]))) in cells:
                    chosen.setdefault(cell, []).append(record)
        return chosen

    scores = {named(metric): [score.value for score in row] for metric, row in results.scores.items()}
    summary = {named(metric): row for metric, row in results.summary().items()}
    samples = [
        replace(scored.sample, row={**scored.sample.row, REFUSED: refused_by(scored) or None}) for scored in results
    ]
    return ScoreTable(name, samples, scores, results.manifest, records, summary)
