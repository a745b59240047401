"""The scores that `compare` and `gate` are given, from wherever they are; and the scales of their metrics."""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ConfigError, ResultsError, did_you_mean
from rag_evaluator.metrics.table import canonical_name, scale_of
from rag_evaluator.results.results import Results
from rag_evaluator.results.saved import SavedScores, of_own_table, of_results, of_table
from rag_evaluator.run.saved import finished_scores
from rag_evaluator.tasks.panel import refuse_unfinished
from rag_evaluator.trust.scale import Scale


def read_scores(source: Any, position: int = 0, others: Collection[str] = ()) -> SavedScores:
    """The scores of a results folder, of `Results`, or of a file or frame of scores from elsewhere.

    Args:
        source: Any: one of these.
        position: in the list of runs, for the name of one that has none.
        others: columns of a table that hold no scores.

    Raises `RagEvaluatorError` for a folder without scores, an unfinished run, a table without scores.
    """
    name = f"run {position + 1}"
    if isinstance(source, Results):
        scores = of_results(source, str(source.manifest.get("name") or name), canonical_name)
    elif isinstance(source, str | Path) and not Path(source).expanduser().is_file():
        folder = Path(source).expanduser()
        refuse_unfinished(folder)
        scores = finished_scores(folder)
    elif isinstance(source, str | Path):
        path = Path(source).expanduser()
        scores = of_own_table(path, canonical_name) or of_table(path, str(source), canonical_name, others)
    else:
        scores = of_table(source, name, canonical_name, others)
    for metric, values in scores.scores.items():
        _check_range(scores, metric, values)
    return scores


def scales_for(metrics: Sequence[str], runs: Sequence[SavedScores]) -> tuple[dict[str, Scale], list[str]]:
    """The scale of each metric; and a sentence for each that nobody has described.

    It is that of `METRICS`, else what the manifest of a run says of its own metric. Else the metric is taken for a
    continuous one in [0, 1], or in the range that was seen if that is wider.
    """
    scales, remarks = {}, []
    for metric in metrics:
        known = known_scale(metric, runs)
        if known is None:
            known = _seen(metric, runs)
            remarks.append(
                f"{metric} is not a metric of this program: taken as continuous from {known.low:g} to {known.high:g}, "
                "higher is better."
            )
        scales[metric] = known
    return scales, remarks


def scales_said(runs: Sequence[SavedScores], better: Mapping[str, str]) -> dict[str, Scale]:
    """The scale of every metric of the runs, with what the user says of those that nobody has described.

    Args:
        better: metric, by any of its names -> `higher` or `lower`.

    Raises `ConfigError` for a metric that no run has, and for what is not so.
    """
    metrics = list(dict.fromkeys(metric for run in runs for metric in run.scores))
    scales = scales_for(metrics, runs)[0]
    for name, end in better.items():
        metric = canonical_name(name) or name
        if metric not in scales:
            raise ConfigError(f"--better {name}={end}: there are no scores of '{name}'.{did_you_mean(name, scales)}")
        if end not in ("higher", "lower"):
            raise ConfigError(f"--better {name}={end}: expected {name}=higher or {name}=lower.")
        known = known_scale(metric, runs)
        if known is not None and known.better != end:
            raise ConfigError(f"--better {name}={end}: of {metric} {known.better} is better.")
        scales[metric] = scales[metric]._replace(better="higher" if end == "higher" else "lower")
    return scales


def known_scale(metric: str, runs: Sequence[SavedScores]) -> Scale | None:
    """The scale of a metric; None where neither `METRICS` nor a manifest describes it."""
    return scale_of(metric) or _declared(metric, runs)


def _check_range(scores: SavedScores, metric: str, values: Sequence[float]) -> None:
    scale = known_scale(metric, [scores])
    expected = "a finite number" if scale is None else f"a number from {scale.low:g} to {scale.high:g}"
    for place, value in enumerate(values):
        if math.isinf(value) or not (scale is None or math.isnan(value) or scale.holds(value)):
            raise ResultsError(
                f"{scores.name}, {scores.samples[place].where}: {metric} is {value:g}, expected {expected}."
            )


def _declared(metric: str, runs: Sequence[SavedScores]) -> Scale | None:
    """What a manifest says of a metric that the user made."""
    for run in runs:
        about = run.manifest.get("metrics")
        said = about.get(metric) if isinstance(about, Mapping) else None
        if isinstance(said, Mapping) and isinstance(said.get("range"), Sequence):
            low, high = said["range"]
            return Scale(float(low), float(high), said.get("kind", "judged"), said.get("better", "higher"))
    return None


def _seen(metric: str, runs: Sequence[SavedScores]) -> Scale:
    values = [value for run in runs for value in run.scores.get(metric, ()) if value == value]
    return Scale(min([0.0, *values]), max([1.0, *values]), "continuous")
