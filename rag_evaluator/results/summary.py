"""What a run comes to: mean, coverage and reasons of each metric, and `summary.json`, where they are kept."""

from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.dataset import IN_ROW, TURN, Sample, as_key, value_of
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.statistics import (
    PASS,
    Estimate,
    Scale,
    mean_interval,
    missing_bounds,
    pass_rate,
    rerun_noise,
    tie_warning,
)

from .refusals import ANSWERED, DISAGREE, REFUSALS
from .rows import PROBABILITIES, Row, dropped_contexts

NO_VALUE = "(none)"  # the group of rows that have nothing in the column
WORST_QUARTER = "worst_quarter"
REWRITES = "rewrites"  # `rows` with a question that was rewritten, and `same`: those where it is as it was
NUMBERS = ("mean", "std", "stderr", "median", "ci_low", "ci_high")
INTERVAL = (*NUMBERS, "ci_level", "ci_method")
NO_FIGURE: Json = {**dict.fromkeys(NUMBERS), "ci_method": "none: fewer than half of the rows have a score"}
Clusters = Sequence[Hashable]  # a label a row; None in its place: rows do not depend on each other
MOST_CUT = 0.2  # of thoughts: above it, answers after half a thought say something else than the judge would


@dataclass(frozen=True)
class Reporting:
    """What a summary shows beside means.

    Attributes:
        ci_level: nominal coverage of intervals.
        cluster: a column; rows with the same value there depend on each other.
        group_by: columns; figures are given also for the rows of each of their values.
        thresholds: metric -> the score from which a row passes.
        scales: metric -> what kind of number its scores are.
        stages: metric -> `retrieval` or `generation`.
    """

    ci_level: float = 0.95
    cluster: str | None = None
    group_by: Sequence[str] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    stages: Mapping[str, Literal["retrieval", "generation"]] = field(default_factory=dict)


def reporting_of(manifest: Json) -> Reporting:
    """What a manifest says; the defaults where it says nothing."""
    config = manifest.get("config", {})
    metrics = manifest.get("metrics", {})
    keys = {key: config[key] for key in ("ci_level", "cluster", "group_by") if config.get(key) is not None}
    thresholds = {name: row["threshold"] for name, row in metrics.items() if row.get("threshold") is not None}
    return Reporting(
        **keys,
        thresholds=thresholds,
        scales={
            name: Scale(low, high, row["kind"], row["better"], tuple(row.get("atoms", ())))
            for name, row in metrics.items()
            for low, high in [row["range"]]
        },
        stages={name: row["stage"] for name, row in metrics.items()},
    )


def cluster_of(sample: Sample, reporting: Reporting) -> str | None:
    """The label of a row's cluster; None where there is none: the row is a cluster of its own."""
    return None if reporting.cluster is None else as_key(value_of(sample, reporting.cluster))


def unit_of(sample: Sample, cluster: str | None) -> str:
    """The key of what a row depends on: its cluster, or where there is none its own digest."""
    return f"row {sample.digest}" if cluster is None else f"cluster {cluster}"


class Remark(NamedTuple):
    """What is to be counted of a score beside its value.

    Attributes:
        reason: why it is missing.
        is_dropped: whether contexts were left out, as they did not fit the judge's window.
        outcome: what it stands for, of a metric that names that.
        flags: what was seen in the judge's work.
    """

    reason: str | None = None
    is_dropped: bool = False
    outcome: str | None = None
    flags: tuple[str, ...] = ()


NOTHING = Remark()


def figures(
    values: NDArray[np.float64],
    remarks: Sequence[Remark],
    clusters: Clusters | None,
    scale: Scale,
    level: float,
    threshold: float | None = None,
) -> JsonDict:
    """What `summary.json` says of a metric, as JSON; None where there is no such number.

    There is no mean where fewer than half of the rows that have the metric's columns have a score.

    Args:
        values: of each row, NaN where a score is missing.
        remarks: of each row.
    """
    estimate = mean_interval(values, scale, level, clusters)
    low, high = missing_bounds(values, scale)
    reasons = Counter(remark.reason for remark in remarks if remark.reason is not None)
    outcomes = Counter(remark.outcome for remark in remarks if remark.outcome is not None)
    flagged = [remark.flags for remark in remarks if remark.flags]
    count = len(values)
    scored = len(values) - reasons.total()
    judged = count - sum(number for reason, number in reasons.items() if IN_ROW in reason)
    none = NO_FIGURE if 0 < 2 * scored < judged else {}
    row = {
        **_json(estimate),
        **none,
        "bound_low": low,
        "bound_high": high,
        "coverage": scored / count if count else 0.0,
        "scored": scored,
        "count": count,
        "reasons": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
        "dropped": sum(remark.is_dropped for remark in remarks),
    }
    if warning := tie_warning(values, scale, estimate):
        row["ci_warning"] = warning
    if outcomes:
        row["outcomes"] = dict(sorted(outcomes.items()))
    if flagged:
        row |= {"flagged": len(flagged), "flags": dict(sorted(Counter(chain.from_iterable(flagged)).items()))}
    if threshold is not None:
        passes = pass_rate(values, threshold, scale, level, clusters)
        row["pass_rate"] = {"threshold": threshold, **_json(passes), **none}
    return row


def worst_quarter(values: NDArray[np.float64], scale: Scale) -> float | None:
    """The quartile that a quarter of the scores is worse than; None without scores."""
    seen = values[~np.isnan(values)]
    return float(np.quantile(seen, 0.25 if scale.better == "higher" else 0.75)) if len(seen) else None


def probability_figures(probabilities: NDArray[np.float64]) -> JsonDict:
    """What `summary.json` says of the probabilities of sentences: how many, and between which two 90 % of them lie."""
    if not len(probabilities):
        return {}
    low, high = np.quantile(probabilities, (0.05, 0.95)).tolist()
    return {PROBABILITIES: {"sentences": len(probabilities), "low": low, "high": high}}


def scale_seen(values: NDArray[np.float64]) -> Scale:
    """The scale of scores of which nothing is known: judged where all lie in [0, 1], else over the range seen."""
    seen = values[~np.isnan(values)]
    if not len(seen) or (seen.min() >= 0 and seen.max() <= 1):
        return Scale()
    return Scale(float(seen.min()), max(float(seen.max()), float(seen.min()) + 1.0), "continuous")


def _json(estimate: Estimate) -> JsonDict:
    return {name: getattr(estimate, name) for name in INTERVAL}


class Summary:
    """The figures of each metric, from rows that come one by one; the manifest says how they are reported."""

    def __init__(self, metrics: Iterable[str], manifest: Json) -> None:
        self.reporting = reporting_of(manifest)
        self._values = {name: array("d") for name in metrics}
        self._remarks: dict[str, list[Remark]] = {name: [] for name in self._values}
        self._repeats: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._values}
        self._probabilities = {name: array("d") for name in self._values}
        self._thoughts = Counter[str]()
        self._cut = Counter[str]()
        self._around = Counter[str]()
        self._refusals: dict[str, list[tuple[str, bool | None]]] = {name: [] for name in self._values}
        self._disagree = Counter[str]()
        self._rewrites: dict[str, list[bool]] = {name: [] for name in self._values}
        self._clusters: list[str | None] = []
        self._groups: dict[str, dict[str, list[int]]] = {column: {} for column in self.reporting.group_by}

    def add(self, scored: Row) -> None:
        dropped = dropped_contexts(scored)
        for name, values in self._values.items():
            score = scored.scores[name]
            values.append(score.value)
            self._repeats[name].append(score.repeats)
            self._probabilities[name].extend(score.probabilities)
            thoughts, cut = score.thoughts
            self._thoughts[name] += thoughts
            self._cut[name] += cut
            reason = (score.reason or "unknown") if score.missing else None
            remark = Remark(reason, name in dropped, score.outcome, tuple(sorted(score.flags)))
            self._refusals[name].append((score.refused_by, score.answerable))
            self._disagree[name] += score.disagrees
            if score.question is not None:
                self._rewrites[name].append(score.question.strip() == (scored.sample.asked or "").strip())
            self._remarks[name].append(NOTHING if remark == NOTHING else remark)  # a million rows share one
        for column, groups in self._groups.items():
            key = as_key(value_of(scored.sample, column))
            groups.setdefault(NO_VALUE if key is None else key, []).append(len(self._clusters))
        self._clusters.append(cluster_of(scored.sample, self.reporting))
        self._around.update(scored.sample.response.kinds if scored.sample.response else ())

    def to_json(self) -> dict[str, JsonDict]:
        """Metric -> its figures; with `group_by` also `groups`: column -> value -> the same figures."""
        return {name: self._of(name) for name in self._values}

    def _of(self, name: str) -> JsonDict:
        by = self.reporting
        values = np.array(self._values[name])
        scale = by.scales.get(name) or scale_seen(values)

        def of(places: Sequence[int]) -> JsonDict:
            remarks = [self._remarks[name][at] for at in places]
            clusters = None if by.cluster is None else [self._clusters[at] for at in places]
            known = figures(values[places], remarks, clusters, scale, by.ci_level, by.thresholds.get(name))
            repeats = [self._repeats[name][at] for at in places]
            if count := max(map(len, repeats), default=0):
                known |= {"repeats": count, **asdict(rerun_noise(repeats))}
            return known

        whole = {
            **of(range(len(values))),
            "kind": scale.kind,
            "stage": by.stages.get(name),
            "better": scale.better,
            **thought_figures(self._thoughts[name], self._cut[name]),
            **({"responses": dict(sorted(self._around.items()))} if self._around else {}),
            **self._answered(name, values, scale),
            **({REWRITES: {"rows": len(same), "same": sum(same)}} if (same := self._rewrites[name]) else {}),
            WORST_QUARTER: worst_quarter(values, scale),
            **probability_figures(np.array(self._probabilities[name])),
        }
        groups = {
            column: {value: of(places) for value, places in in_order(column, groups).items()}
            for column, groups in self._groups.items()
        }
        return {**whole, "groups": groups} if groups else whole

    def _answered(self, name: str, values: NDArray[np.float64], scale: Scale) -> JsonDict:
        """The figures of rows that answer, and how many refuse; nothing where none does."""
        by = Counter(who for who, _ in self._refusals[name] if who)
        disagree = self._disagree[name]
        if not by and not disagree:
            return {}
        refused = np.array([bool(who) for who, _ in self._refusals[name]], np.float64)
        level = self.reporting.ci_level
        clusters = None if self.reporting.cluster is None else self._clusters
        answered = mean_interval(np.where(refused, np.nan, values), scale, level, clusters)
        share = mean_interval(refused, PASS, level, clusters)
        known = Counter((bool(who), can) for who, can in self._refusals[name])
        table = {
            "answerable" if can else "unanswerable": {"answered": known[False, can], "refused": known[True, can]}
            for can in (True, False)
        }
        ends = ("mean", "ci_low", "ci_high")
        return {
            ANSWERED: {**{end: getattr(answered, end) for end in ends}, "scored": answered.n},
            REFUSALS: {
                "refused": by.total(),
                "count": len(refused),
                **{end: getattr(share, end) for end in ends},
                "by": dict(sorted(by.items())),
                **({DISAGREE: disagree} if disagree else {}),
                **(table if any(can is not None for _, can in known) else {}),
            },
        }


def in_order(column: str, groups: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """The groups of a column by their values; turns by their numbers."""
    return dict(sorted(groups.items(), key=lambda group: (len(group[0]) * (column == TURN), group[0])))


def flat_rows(summary: Mapping[str, Json]) -> Iterator[JsonDict]:
    """A summary as rows of a table, a metric's groups after the metric; reasons and `worst_quarter` are left out."""
    for metric, whole in summary.items():
        yield {"metric": metric, **_flat(whole)}
        for column, groups in whole.get("groups", {}).items():
            for value, group in groups.items():
                yield {"metric": metric, "group_by": column, "group": value, **_flat(group)}


def _flat(row: Json) -> JsonDict:
    rates = {f"pass_{name}": value for name, value in row.get("pass_rate", {}).items()}
    left_out = [name for name, value in row.items() if isinstance(value, Mapping) or name == WORST_QUARTER]
    return {**{name: value for name, value in row.items() if name not in left_out}, **rates}


def thought_figures(thoughts: int, cut: int) -> JsonDict:
    """What `summary.json` says of a metric's thoughts; nothing of a judge that does not think."""
    if not thoughts:
        return {}
    share = cut / thoughts
    figures: JsonDict = {"thoughts": thoughts, "cut": cut, "share_cut": share}
    if share > MOST_CUT:
        figures["warning"] = f"{cut} of {thoughts} thoughts were cut by their budget; raise judge.thinking_tokens"
    return {"thinking": figures}
