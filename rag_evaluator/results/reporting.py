"""How results are reported: what the configuration says of intervals, groups, weights and thresholds.

No score depends on it, so that a finished run can be reported anew without a judge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_evaluator.dataset import Sample
from rag_evaluator.dataset.columns import as_key, value_of
from rag_evaluator.results.manifest import config_of
from rag_evaluator.results.panel_names import BETWEEN, judges_of
from rag_evaluator.trust.scale import Scale

REPORTED_BY = ("ci_level", "cluster", "weight", "group_by", "thresholds", "require", "report")
"""Keys of the configuration that are no part of a run's identity."""
ATOMS: Mapping[str, tuple[float, ...]] = {
    "answer_relevancy": (0.0,),
    **dict.fromkeys(("bleu_score", "rouge_score", "chrf_score", "non_llm_string_similarity"), (0.0, 1.0)),
}
"""Of the metrics of runs that were written before a manifest said it."""
NO_VALUE = "(none)"  # the group of rows that have nothing in the column


@dataclass(frozen=True)
class Reporting:
    """What a summary shows beside means.

    Attributes:
        ci_level: nominal coverage of intervals.
        cluster: a column; rows with the same value there depend on each other.
        weight: a column; what a row counts for, a number >= 0.
        group_by: columns; figures are given also for the rows of each of their values.
        thresholds: metric -> the score from which a row passes.
        scales: metric -> what kind of number its scores are.
        stages: metric -> `retrieval` or `generation`.
        judges: names of the judges of a panel; empty: there is one judge.
    """

    ci_level: float = 0.95
    cluster: str | None = None
    weight: str | None = None
    group_by: Sequence[str] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    stages: Mapping[str, str] = field(default_factory=dict)
    judges: Sequence[str] = ()


def reporting_of(manifest: Mapping[str, Any]) -> Reporting:
    """What a manifest says; the defaults where it says nothing. Any: JSON."""
    config, metrics = manifest.get("config", {}), manifest.get("metrics", {})
    keys = {key: config[key] for key in ("ci_level", "cluster", "weight", "group_by") if config.get(key) is not None}
    thresholds = {name: row["threshold"] for name, row in metrics.items() if row.get("threshold") is not None}
    return Reporting(
        **keys,
        thresholds=thresholds,
        scales={name: _scale(name, row) for name, row in metrics.items()},
        stages={name: row["stage"] for name, row in metrics.items()},
        judges=judges_of(manifest),
    )


def _scale(name: str, row: Mapping[str, Any]) -> Scale:
    low, high = row["range"]
    atoms = row.get("atoms", ATOMS.get(name.partition(BETWEEN)[0], ()))
    return Scale(low, high, row["kind"], row["better"], tuple(atoms))


def reported_as(manifest: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with what another one says of how results are reported."""
    keys = {key: value for key, value in config_of(other).items() if key in REPORTED_BY}
    return {**manifest, "config": {**config_of(manifest), **keys}, "metrics": other.get("metrics", {})}


def is_reported_as(manifest: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two manifests say the same of how results are reported."""
    return all(manifest.get(key) == part for key, part in reported_as(manifest, other).items())


def cluster_of(sample: Sample, reporting: Reporting) -> str | None:
    """The label of a row's cluster; None where there is none: the row is a cluster of its own."""
    return None if reporting.cluster is None else as_key(value_of(sample, reporting.cluster))


def unit_of(sample: Sample, reporting: Reporting) -> str:
    """The key of what a row depends on: its cluster, or where there is none its own digest."""
    cluster = cluster_of(sample, reporting)
    return f"row {sample.digest}" if cluster is None else f"cluster {cluster}"


def group_of(sample: Sample, column: str) -> str:
    """The group of a row."""
    key = as_key(value_of(sample, column))
    return NO_VALUE if key is None else key
