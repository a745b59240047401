"""`gate`: whether a run keeps its rules, for CI."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rag_evaluator.api.saved_scores import read_scores, scales_for
from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics.table import canonical_name
from rag_evaluator.progress import ACTIVITY
from rag_evaluator.results.aligned import align, column_of, common_metrics, paired, weights_of
from rag_evaluator.results.caveats import caveats, partial_run
from rag_evaluator.results.matching import keys_of, match, require_column
from rag_evaluator.results.overview import Grid, Overview, Shown, counted
from rag_evaluator.results.saved import SavedScores, run_weights
from rag_evaluator.trust.gate import COVERAGE, MEAN, Measured, Rule, Verdict, check_rules, parse_rule
from rag_evaluator.trust.intervals import difference_interval, mean_interval
from rag_evaluator.trust.permutation import Floats

LEVEL = 0.95
logger = logging.getLogger(__name__)


class GateVerdicts(Shown, list[Verdict]):
    """The verdicts of `gate`, in the order of the rules; printed, and in a notebook, as a table."""

    @property
    def passed(self) -> bool:
        """Whether all rules are kept."""
        return all(verdict.passed for verdict in self)

    def overview(self) -> Overview:
        failed = sum(not verdict.passed for verdict in self)
        rows = [["passed" if one.passed else "FAILED", str(one.rule), one.reason] for one in self]
        title = f"{counted(len(self), 'rule')}, {failed} failed"
        return Overview([Grid(title, [("", "left"), ("rule", "left"), ("measured", "left")], rows)])


@ACTIVITY.phase("checking rules")
def gate(
    run: Any,
    rules: str | Rule | Sequence[str | Rule] = (),
    *,
    not_worse_than: Any = None,
    margin: float | Mapping[str, float] | None = None,
    min_coverage: float | None = None,
    on: str | None = None,
    cluster: str | None = None,
) -> "GateVerdicts":
    """Whether the scores of a run keep rules; each verdict has `passed`, and its text says what was measured.

    Args:
        run: a results folder, `Results`, a file or frame of scores.
        rules: one or several, such as `faithfulness >= 0.8`. A rule concerns the worse end of the 95 % interval, or the
            mean if it says `mean:faithfulness >= 0.8`. Those of `require` in the run's configuration are checked, too.
        not_worse_than: a baseline, as `run`.
        margin: how much worse than the baseline each metric may be, in its units; or metric -> margin, then only these
            metrics are compared.
        min_coverage: share of rows that must have a score, for every rule; given without other rules, for every metric.
            None is 0.95.
        on: see `compare`.
        cluster: a column; rows with the same value depend on each other. None takes that of the run's configuration.

    What makes run and baseline differ beside the systems, such as another judge, is logged as a warning, and so is a
    run that took only some rows of its dataset.

    Raises `RagEvaluatorError` where a rule cannot be checked, saying why.
    """
    least = COVERAGE if min_coverage is None else min_coverage
    if not 0 <= least <= 1:
        raise ConfigError(f"the minimum of coverage is {least:g}: expected a number from 0 to 1.")
    given = [column for column in (on, cluster) if column is not None]
    scores = read_scores(run, 1, given)
    cluster = cluster or scores.config.get("cluster")
    if not_worse_than is None and (sentence := partial_run(scores)) is not None:
        logger.warning(sentence)
    measured = _measured(scores, cluster)
    listed = [*(scores.config.get("require") or ()), *([rules] if isinstance(rules, str | Rule) else rules)]
    parsed = list(dict.fromkeys(_named(rule if isinstance(rule, Rule) else parse_rule(rule)) for rule in listed))
    differences: dict[str, Measured] = {}
    if not_worse_than is not None:
        differences = _differences(read_scores(not_worse_than, 0, given), scores, on, cluster)
        parsed += _margins(margin, list(differences))
    elif margin is not None:
        raise ConfigError("a margin needs a baseline: give --not-worse-than (not_worse_than= in Python).")
    if min_coverage is not None:
        parsed += [Rule(metric, "coverage", min_coverage) for metric in measured if not _has_rule(parsed, metric)]
    if not parsed:
        raise ConfigError(
            "no rule to check: give --min, --max, --not-worse-than or --min-coverage, or require in the configuration."
        )
    return GateVerdicts(check_rules(parsed, measured, differences, least))


def _has_rule(rules: Sequence[Rule], metric: str) -> bool:
    return any(rule.metric == metric for rule in rules)


def _named(rule: Rule) -> Rule:
    """The rule with its metric's name in `METRICS`, if it has one there."""
    return replace(rule, metric=canonical_name(rule.metric) or rule.metric)


def _measured(scores: SavedScores, cluster: str | None) -> dict[str, Measured]:
    """Every metric of a run with its interval."""
    scales, _ = scales_for(list(scores.scores), [scores])
    if cluster:
        require_column(scores, cluster, "by which rows are put together")
    labels = keys_of(scores.samples, cluster) if cluster else None
    weight = scores.config.get("weight")
    weights = run_weights(scores, weight) if weight else None
    return {
        metric: Measured(
            scales[metric],
            mean_interval(values, scales[metric], LEVEL, labels, weights),
            float(np.mean(~np.isnan(values))),
            _of_scored(labels, np.array(values)),
        )
        for metric, values in scores.scores.items()
    }


def _differences(
    baseline: SavedScores, scores: SavedScores, on: str | None, cluster: str | None
) -> dict[str, Measured]:
    """Every metric of both runs, as the difference from the baseline; coverage is of the baseline's questions."""
    on, matched = match([baseline, scores], on)
    first, second = align([baseline, scores], matched)
    metrics = common_metrics(first, second, on)
    scales, _ = scales_for(metrics, [scores, baseline])
    for sentence in caveats(baseline, scores, (matched[0], matched[1]), on, metrics):
        logger.warning(sentence)
    labels = column_of(second, cluster) if cluster else None
    weight = scores.config.get("weight")
    weights = weights_of(second, weight) if weight else None
    pairs = [paired(first, second, metric, scales[metric]) for metric in metrics]
    differences = {pair.metric: pair.b - pair.a for pair in pairs}
    return {
        metric: Measured(
            scales[metric],
            difference_interval(values, scales[metric], LEVEL, labels, weights),
            float(np.count_nonzero(~np.isnan(values))) / len(matched[0].places),
            _of_scored(labels, values),
        )
        for metric, values in differences.items()
    }


def _of_scored(labels: Sequence[str | None] | None, values: Floats) -> list[str | None] | None:
    """The labels of the rows that have a score."""
    if labels is None:
        return None
    return [label for label, is_missing in zip(labels, np.isnan(values), strict=True) if not is_missing]


def _margins(margin: float | Mapping[str, float] | None, metrics: Sequence[str]) -> list[Rule]:
    if margin is None:
        raise ConfigError(
            "a baseline needs a margin: how much worse each metric may be, in its units: --margin 0.02 (margin=0.02)."
        )
    by_metric = margin if isinstance(margin, Mapping) else dict.fromkeys(metrics, margin)
    return [
        _named(Rule(name.removeprefix(MEAN), "not worse", number, name.startswith(MEAN)))
        for name, number in by_metric.items()
    ]
