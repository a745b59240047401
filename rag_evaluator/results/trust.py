"""What is known for and against scores: what features say of their judge, and flags of its work."""

from collections.abc import Collection

from rag_evaluator.config import hooks

from .flags import many_flagged
from .run import ScoredRows


def useful_metrics(run: ScoredRows) -> set[str]:
    """Return the metrics of which the judge is known to be useful."""
    return {metric for useful in hooks("useful") for metric in useful(run)}


def do_not_rely(run: ScoredRows, metrics: Collection[str]) -> list[str]:
    """Return what is known against the judge of these metrics, in sentences."""
    return [doubt for doubts in hooks("doubts") for doubt in doubts(run, metrics)]


def doubts_of(run: ScoredRows, metrics: Collection[str]) -> list[str]:
    """Return what speaks against these scores: `do_not_rely`, and a judge whose work is doubtful in many rows."""
    summary = {metric: run.summary[metric] for metric in metrics if metric in run.summary}
    return [*do_not_rely(run, metrics), *many_flagged(summary)]
