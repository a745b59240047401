"""`gate`: whether a run keeps its rules, for CI."""

import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.comparison.differences import LEVEL, Differences, of_scored
from rag_evaluator.comparison.saved_scores import known_scale, read_scores, scales_with_directions
from rag_evaluator.errors import ConfigError
from rag_evaluator.files.atomic import write_whole
from rag_evaluator.files.progress import ACTIVITY
from rag_evaluator.metrics.table import canonical_name
from rag_evaluator.results.aligned import keys_of, require_column
from rag_evaluator.results.caveats import equal_rows, partial_run
from rag_evaluator.results.manifest import PROGRAM
from rag_evaluator.results.overview import Grid, Overview, WithOverview, counted
from rag_evaluator.results.run import ScoredRows, run_weights
from rag_evaluator.statistics.formulas import Scale
from rag_evaluator.statistics.intervals import mean_interval, tie_warning
from rag_evaluator.statistics.rules import COVERAGE, MEAN, Measured, Rule, Verdict, check_rules, parse_rule

MISSING = ("worst", "ignore")
logger = logging.getLogger(__name__)


class GateVerdicts(WithOverview, list[Verdict]):
    """The verdicts of `gate`, in the order of the rules; printed, and in a notebook, as a table."""

    @property
    def passed(self) -> bool:
        """Whether all rules are kept."""
        return all(verdict.passed for verdict in self)

    def overview(self) -> Overview:
        failed = sum(not verdict.passed for verdict in self)
        rows = [["passed" if judged.passed else "FAILED", str(judged.rule), judged.reason] for judged in self]
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
    missing: Literal["worst", "ignore"] = "worst",
    better: Mapping[str, str] | None = None,
    on: str | None = None,
    cluster: str | None = None,
) -> "GateVerdicts":
    """Whether the scores of a run keep rules; each verdict has `passed`, and its text says what was measured.

    Args:
        run: a results folder, `Results`, a file or frame of scores.
        rules: one or several, such as `faithfulness >= 0.8`. A rule concerns the worse end of the 95 % interval, or the
            mean if it says `mean:faithfulness >= 0.8`. Those of `require` in the run's configuration are checked, too.
        not_worse_than: a baseline, as `run`. Its weights and clusters count.
        margin: how much worse than the baseline each metric may be, in its units; or metric -> margin, then only these
            metrics are compared. A metric that only the baseline has fails.
        min_coverage: share of rows, by weight, that must have a score, for every rule; given without other rules, for
            every metric. None is 0.95.
        missing: what a row counts that the baseline scored and the run did not: the worst score, or nothing.
        better: metric -> `higher` or `lower`, for metrics of which nobody has said it.
        on: see `compare`.
        cluster: a column; rows with the same value depend on each other. None takes that of the configuration.

    What makes run and baseline differ beside the systems, such as another judge, is logged as a warning, and so is a
    run that took only some rows of its dataset.

    Raises `RagEvaluatorError` where a rule cannot be checked, saying why.
    """
    least = COVERAGE if min_coverage is None else min_coverage
    if not 0 <= least <= 1:
        raise ConfigError(f"the minimum of coverage is {least:g}: expected a number from 0 to 1.")
    if missing not in MISSING:
        raise ConfigError(f"missing is '{missing}': expected one of {', '.join(MISSING)}.")
    not_scores = [column for column in (on, cluster) if column is not None]
    scores = read_scores(run, 1, not_scores)
    if not_worse_than is None and (sentence := partial_run(scores)) is not None:
        logger.warning(sentence)
    listed = [*(scores.config.get("require") or ()), *([rules] if isinstance(rules, str | Rule) else rules)]
    parsed = list(dict.fromkeys(_named(rule if isinstance(rule, Rule) else parse_rule(rule)) for rule in listed))
    runs, differences = [scores], dict[str, Measured]()
    if not_worse_than is not None:
        runs = [scores, read_scores(not_worse_than, 0, not_scores)]
    elif margin is not None:
        raise ConfigError("a margin needs a baseline: give --not-worse-than (not_worse_than= in Python).")
    scales = scales_with_directions(runs, better or {})
    measured = _measured(scores, scales, cluster or scores.config.get("cluster"))
    if len(runs) > 1:
        differences = Differences(runs[1], scores, scales, missing == "ignore", on, cluster).measured()
        parsed += _margins(margin, list(differences))
    if min_coverage is not None:
        parsed += [Rule(metric, "coverage", min_coverage) for metric in measured if not _has_rule(parsed, metric)]
    if not parsed:
        raise ConfigError(
            "no rule to check: give --min, --max, --not-worse-than or --min-coverage, or require in the configuration."
        )
    _refuse_unknown_direction(parsed, scales, runs, better or {})
    return GateVerdicts(check_rules(parsed, measured, differences, least))


def _has_rule(rules: Sequence[Rule], metric: str) -> bool:
    return any(rule.metric == metric for rule in rules)


def _named(rule: Rule) -> Rule:
    """The rule with its metric's name in `METRICS`, if it has one there."""
    return replace(rule, metric=canonical_name(rule.metric) or rule.metric)


def _refuse_unknown_direction(
    rules: Sequence[Rule], scales: Mapping[str, Scale], runs: Sequence[ScoredRows], better: Mapping[str, str]
) -> None:
    """Raises `ConfigError` for a rule on a metric of which nobody knows whether higher or lower scores are better."""
    for rule in rules:
        is_known = rule.metric in better or known_scale(rule.metric, runs) is not None
        if rule.limit != "coverage" and rule.metric in scales and not is_known:
            raise ConfigError(
                f"rule '{rule}': whether higher or lower scores of '{rule.metric}' are better is not known. Say it: "
                f"--better {rule.metric}=lower or --better {rule.metric}=higher (better= in Python)."
            )


def _measured(scores: ScoredRows, scales: Mapping[str, Scale], cluster: str | None) -> dict[str, Measured]:
    """Every metric of a run with its interval; a row counts by its weight, in coverage too."""
    if cluster:
        require_column(scores, cluster, "by which rows are put together")
    labels = keys_of(scores.samples, cluster) if cluster else None
    weight = scores.config.get("weight")
    weights = run_weights(scores, weight) if weight else None
    equal = equal_rows(scores, labels)

    def of(values: Sequence[float], scale: Scale) -> Measured:
        estimate = mean_interval(values, scale, LEVEL, labels, weights)
        return Measured(
            scale,
            estimate,
            _share(~np.isnan(values), weights),
            of_scored(labels, np.array(values)),
            of_scored(weights, np.array(values)),
            notes=tuple(note for note in (equal, tie_warning(values, scale, estimate, weights)) if note is not None),
        )

    return {metric: of(values, scales[metric]) for metric, values in scores.scores.items()}


def _share(scored: NDArray[np.bool_], weights: Sequence[float] | None) -> float:
    """The share of the weight that scored rows have."""
    if weights is None:
        return float(np.mean(scored))
    total = math.fsum(weights)
    return math.fsum(weight for weight, has in zip(weights, scored, strict=True) if has) / total if total else 0.0


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


MARK = b'<testsuites name="rag_evaluator"'  # how the file begins: pytest and others write JUnit files, too
NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(verdicts: Sequence[Verdict], suite: str, path: Path) -> None:
    """One test case per rule; `suite` names the run. Raises `ResultsError` if the file cannot be written."""
    failures = sum(not verdict.passed for verdict in verdicts)
    counts = {"tests": str(len(verdicts)), "failures": str(failures), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", {"name": PROGRAM, **counts})
    cases = ElementTree.SubElement(root, "testsuite", {"name": _xml(suite), **counts})
    for verdict in verdicts:
        case = ElementTree.SubElement(cases, "testcase", {"classname": _xml(suite), "name": _xml(str(verdict.rule))})
        if verdict.passed:
            ElementTree.SubElement(case, "system-out").text = _xml(verdict.reason)
        else:
            ElementTree.SubElement(case, "failure", {"message": _xml(verdict.reason)}).text = _xml(str(verdict))
    ElementTree.indent(root)
    write_whole(path, lambda to: ElementTree.ElementTree(root).write(to, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return NOT_XML.sub("�", text)
