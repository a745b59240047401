"""`gate`: whether a run keeps its rules, and is not worse than a baseline; as JUnit for CI."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rag_evaluator.config import load, requirements
from rag_evaluator.errors import ConfigError
from rag_evaluator.files import ACTIVITY, write_whole
from rag_evaluator.metrics import canonical_name
from rag_evaluator.results import (
    APPLICABLE,
    PROGRAM,
    REFUSALS,
    Aligned,
    ScoredRows,
    align,
    caveats,
    common_metrics,
    counted,
    doubts_of,
    judged_by,
    keys_of,
    next_command,
    other_questions,
    partial_run,
    remedy,
    repeated_rows,
    require_column,
    useful_metrics,
    why_of,
)
from rag_evaluator.statistics import (
    MEAN,
    Floats,
    Paired,
    Rule,
    Scale,
    compare_scores,
    difference_interval,
    mean_interval,
    parse_rule,
    tie_warning,
)

from .gate_verdicts import COVERAGE, UNCORRECTED, GateVerdicts, Measured, Verdict, check_rules
from .refused import is_about_responses, measured_refusals, refusals_beside
from .saved_scores import check_direction, read_scores, scales_for

LEVEL = 0.95
MOST = 0.5  # share of keys with other questions from which on the rows are not the same
logger = logging.getLogger(__name__)
MARK = b'<testsuites name="rag_evaluator"'  # how the file begins: pytest and others write JUnit files, too
NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _differences(
    baseline: ScoredRows,
    run: ScoredRows,
    scales: Mapping[str, Scale],
    on: str | None,
    cluster: str | None,
) -> dict[str, Measured]:
    """A run minus its baseline, by each metric of the baseline; one that the run does not have cannot pass.

    Args:
        scales: metric -> its scale.
        on, cluster: see `gate`.

    Raises `ResultsError` where there is nothing to compare. What makes the runs differ beside the systems is logged.
    """
    on, (a, b), cluster, labels, weights, remarks = align([baseline, run], on, cluster, whole=True)
    metrics = common_metrics(a, b, on)
    for sentence in (*caveats(a, b, on, metrics), *remarks):
        logger.warning(sentence)
    if new := [metric for metric in run.scores if metric not in baseline.scores]:
        logger.warning("%s has no scores of %s: not compared.", baseline.name, ", ".join(new))
    equal = repeated_rows(baseline.samples, keys_of(baseline.samples, cluster or on), f" of {baseline.name}")
    other, known = other_questions(a, b, on)
    fault = (
        f"{other} of {known} rows that were matched by '{on}' have other questions in {run.name}: these are not the "
        "same rows. Choose another column with --on (on= in Python)"
    )

    pairs: list[Paired] = []

    def measured(metric: str) -> Measured:
        if metric not in b.scores:
            absent = f"{run.name} has no scores of {metric}, which {baseline.name} has"
            return Measured(scales[metric], difference_interval([], scales[metric], LEVEL), 0.0, fault=absent)
        pair, line = _difference(a, b, metric, scales[metric], labels, weights)
        pairs.append(pair)
        notes = (*line.notes, *filter(None, [equal]))
        return replace(line, notes=notes, fault=fault if other and other >= MOST * known else None)

    lines = {metric: measured(metric) for metric in a.scores}
    tested = {line.metric: line.p_holm for line in compare_scores(pairs, labels, weights, level=LEVEL)}
    return {metric: replace(line, p_holm=tested.get(metric)) for metric, line in lines.items()}


def _difference(
    a: Aligned, b: Aligned, metric: str, scale: Scale, labels: Sequence[str | None] | None, weights: Floats | None
) -> tuple[Paired, Measured]:
    """A run minus its baseline, which are aligned with all keys of the baseline; and the scores for the test.

    Rows that the run lost count as the worst score, in both; its rows with nothing to score do not count, and lower
    the coverage; those of the baseline do not. Rows of the baseline without a key, and rows of the run that it does not
    have, count as not scored.
    """
    (rows_a, scored_a), (rows_b, scored_b) = (_counts(side, metric) for side in (a, b))
    compared = np.minimum(scored_a, scored_b)
    absent = scored_a - compared
    gained = np.maximum(np.minimum(scored_b, rows_a) - scored_a, 0)
    neither = rows_a - compared - absent - gained
    beside = int(np.maximum(rows_b - scored_b - absent - neither, 0).sum())  # of these keys, and not scored
    without, unknown = (len(side.run.samples) - int(rows.sum()) for side, rows in ((a, rows_a), (b, rows_b)))
    further = unknown + beside
    inapplicable, reasons, idle_reasons = _unscored(b, metric, absent)
    idle = int(_unscored(a, metric, rows_a - scored_a)[0].sum())  # nothing to score in the baseline
    lost = absent - inapplicable
    first, second = (np.clip(side.scores[metric], scale.low, scale.high) for side in (a, b))
    total = np.nan_to_num(second) * scored_b + scale.worst * lost
    with_lost = np.where(lost > 0, total / np.maximum(scored_b + lost, 1), second)
    difference = difference_interval(with_lost - first, scale, LEVEL, labels, weights)
    notes = []
    advice = remedy([*reasons, *idle_reasons])
    if lost.any():
        rows = counted(int(lost.sum()), "row")
        why = f" ({why_of(reasons)})" if reasons else ""
        notes.append(
            f"{rows} scored in the baseline and not in this run, counted as {scale.worst:g}{why}: {remedy(reasons)}"
        )
    if inapplicable.any():
        rows = counted(int(inapplicable.sum()), "row")
        notes.append(f"{rows} scored in the baseline with nothing to score in this run, not counted")
    if without:
        notes.append(f"{without} rows of the baseline have no key")
    if further:
        notes.append(f"{further} rows of the run have no partner")
    tied = ((side.run.name, tie_warning(x, scale, difference)) for side, x in ((b, second), (a, first)))
    notes += [f"{name}: {words}" for name, words in tied if words is not None]
    both = int(compared.sum())
    of = len(a.run.samples) + further - idle
    counts = f"{both:,} of {counted(of, 'row')} have a score in both runs"
    counts += f" ({idle:,} more have nothing to score in the baseline)" if idle else ""
    line = Measured(scale, difference, both / of if of else 0.0, tuple(notes), counts=counts, remedy=advice)
    return Paired(metric, first, with_lost, scale), line


def _unscored(
    side: Aligned, metric: str, absent: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Mapping[str, int], Mapping[str, int]]:
    """Of rows without a score, by key, those with nothing to score; why the others lack one, where that is kept, and
    why these do.
    """
    inapplicable = np.zeros_like(absent)
    reasons = Counter[str]()
    idle = Counter[str]()
    scores = side.run.scores[metric]
    cells = {
        (row, metric): at for at in np.flatnonzero(absent).tolist() for row in side.rows(at) if np.isnan(scores[row])
    }
    for cell, records in (side.run.records(cells) if cells else {}).items():
        is_idle = not any(record.get(APPLICABLE, True) for record in records)
        inapplicable[cells[cell]] += is_idle
        (idle if is_idle else reasons)[str(records[0].get("reason"))] += 1
    return np.minimum(inapplicable, absent), reasons, idle


def _counts(side: Aligned, metric: str) -> NDArray[np.int64]:
    """Return by key how many rows a run has, and how many of them are scored. *Shape:* (2, keys)."""
    is_scored = ~np.isnan(np.asarray(side.run.scores[metric], np.float64))
    rows = [side.rows(place) for place in range(len(side.keys))]
    return np.array([list(map(len, rows)), [np.count_nonzero(is_scored[at]) for at in rows]], np.int64)


@ACTIVITY.phase("checking rules")
def gate(
    run: Any,
    rules: str | Rule | Sequence[str | Rule] = (),
    *,
    not_worse_than: Any = None,
    fail_if_worse: Any = None,
    margin: float | Mapping[str, float] | None = None,
    min_coverage: float = COVERAGE,
    better: Mapping[str, str] | None = None,
    on: str | None = None,
    cluster: str | None = None,
) -> GateVerdicts:
    """Check whether the scores of a run keep rules; each verdict has `passed`, and its text says what was measured.

    Args:
        run: a results folder, `Results`, a file or frame of scores.
        rules: one or several, such as `faithfulness >= 0.8`. A rule concerns the worse end of the 95 % interval, or the
            mean if it says `mean:faithfulness >= 0.8`; a word of `requirements` what a feature knows of the metrics.
            Those of `require` in the run's configuration are checked, too.
        not_worse_than: a baseline, as `run`. Its clusters count, and a row that it scored and the run lost counts as
            the worst score.
        fail_if_worse: a baseline, too; only a metric that is shown to be worse than in it fails. What `not_settled` of
            the verdicts has is worse by its own interval, but not after the correction for all metrics.
        margin: how much worse than the baseline each metric may be, in its units; or metric -> margin, then only these
            metrics are compared. A metric that only the baseline has fails.
        min_coverage: share of rows that must have a score, for every rule.
        better: metric -> `higher` or `lower`, for metrics of which nobody has said it.
        on: see `compare`.
        cluster: a column; rows with the same value depend on each other. None takes that of the configuration.

    What makes run and baseline differ beside the systems, such as another judge, is logged as a warning, and so is a
    run that took only some rows of its dataset.

    Raises `RagEvaluatorError` where a rule cannot be checked, saying why.
    """
    if not 0 <= min_coverage <= 1:
        raise ConfigError(f"the minimum of coverage is {min_coverage:g}: expected a number from 0 to 1.")
    not_scores = [column for column in (on, cluster) if column is not None]
    scores = read_scores(run, 1, not_scores)
    if not_worse_than is not None and fail_if_worse is not None:
        raise ConfigError("expected one baseline: give --not-worse-than or --fail-if-worse, not both.")
    baseline = not_worse_than if fail_if_worse is None else fail_if_worse
    if baseline is None and (sentence := partial_run(scores)) is not None:
        logger.warning(sentence)
    listed = [*(scores.config.get("require") or ()), *([rules] if isinstance(rules, str | Rule) else rules)]
    words = [rule for rule in dict.fromkeys(listed) if rule in requirements()]
    figures = [rule if isinstance(rule, Rule) else parse_rule(rule) for rule in listed if rule not in words]
    parsed = list(dict.fromkeys(map(_named, figures)))
    runs = [scores]
    differences = dict[str, Measured]()
    if baseline is not None:
        runs = [scores, read_scores(baseline, 0, not_scores)]
    if margin is not None and not_worse_than is None:
        raise ConfigError("a margin belongs to --not-worse-than BASELINE (not_worse_than= in Python); give that.")
    scales = scales_for(list(dict.fromkeys(metric for each in runs for metric in each.scores)), runs, better)[0]
    column = cluster or scores.config.get("cluster")
    measured = _measured(scores, scales, column)
    if REFUSALS not in measured and any(rule.metric == REFUSALS for rule in parsed) and _has_answers(scores):
        labels = keys_of(scores.samples, column) if column else None
        measured[REFUSALS] = measured_refusals(scores, labels, LEVEL)
    if len(runs) > 1:
        differences = _differences(runs[1], scores, scales, on, cluster)
        if fail_if_worse is None:
            parsed += _margins(margin, list(differences))
        else:
            parsed += [Rule(metric, "worse", 0.0) for metric in differences]
    if not parsed and not words:
        raise ConfigError(
            "no rule to check: give --min, --max, --fail-if-worse or --not-worse-than, or require in the configuration."
        )
    for rule in parsed:
        if rule.metric in scales:
            check_direction(rule.metric, scales[rule.metric], f"rule '{rule}'")
    of_scores = list(dict.fromkeys(rule.metric for rule in parsed)) or list(measured)
    folders = [each.folder for each in reversed(runs)]
    doubts = doubts_of(scores, of_scores)
    doubts += [f"{base.name}: {doubt}" for base in runs[1:] for doubt in doubts_of(base, of_scores)]
    doubts += [line for base in runs[1:] for line in refusals_beside(base, scores, scales, on, cluster, LEVEL)]
    following = "" if None in folders else next_command(("compare" if len(runs) > 1 else "report", *folders))
    return GateVerdicts(
        [
            *check_rules(parsed, measured, differences, min_coverage),
            *_required(words, scores, {metric: (differences | measured)[metric] for metric in of_scores}),
        ],
        judged_by([scores.manifest], of_scores, useful_metrics(scores)),
        following,
        doubts,
    )


def _required(words: Sequence[str], run: ScoredRows, measured: Mapping[str, Measured]) -> Iterator[Verdict]:
    """What features say of each metric."""
    for word in words:
        for metric, (is_met, known) in load(requirements()[word])(run, list(measured)).items():
            about = replace(measured[metric], notes=(), fault=None if is_met else known, known=known, p_holm=None)
            yield Verdict(Rule(metric, word, 0.0), about)


def _named(rule: Rule) -> Rule:
    """The rule with its metric's name in `METRICS`, if it has one there."""
    return replace(rule, metric=canonical_name(rule.metric) or rule.metric)


def _measured(scores: ScoredRows, scales: Mapping[str, Scale], cluster: str | None) -> dict[str, Measured]:
    """Every metric of a run with its interval."""
    if cluster:
        require_column(scores, cluster, "by which rows are put together")
    labels = keys_of(scores.samples, cluster) if cluster else None
    equal = repeated_rows(scores.samples, labels, f" of {scores.name}")

    measured = {}
    for metric, values in scores.scores.items():
        estimate = mean_interval(values, scales[metric], LEVEL, labels)
        notes = filter(None, (equal, tie_warning(values, scales[metric], estimate)))
        measured[metric] = Measured(
            scales[metric],
            estimate,
            float(np.mean(~np.isnan(values))),
            tuple(notes),
            counts=f"{estimate.n:,} of {counted(len(values), 'row')} have a score",
            remedy=remedy(scores.summary.get(metric, {}).get("reasons", {})),
        )
    return measured


def _has_answers(scores: ScoredRows) -> bool:
    """Whether a run of ours judged responses, so that it says which refuse."""
    return bool(scores.config) and any(map(is_about_responses, scores.scores))


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


def write_junit(verdicts: Sequence[Verdict], suite: str, path: Path, strict: bool = False) -> None:
    """One test case per rule; one that is not settled after correction is skipped, and if `strict` a failure.

    `suite` names the run. Raises `ResultsError` if the file cannot be written.
    """
    kinds: dict[str, str] = {"passed": "system-out", UNCORRECTED: "failure" if strict else "skipped"}
    found = [kinds.get(verdict.state, "failure") for verdict in verdicts]
    counts = {"tests": str(len(verdicts)), "failures": str(found.count("failure")), "errors": "0"}
    counts["skipped"] = str(found.count("skipped"))
    root = ElementTree.Element("testsuites", {"name": PROGRAM, **counts})
    cases = ElementTree.SubElement(root, "testsuite", {"name": _xml(suite), **counts})
    for verdict, kind in zip(verdicts, found, strict=True):
        case = ElementTree.SubElement(cases, "testcase", {"classname": _xml(suite), "name": _xml(str(verdict.rule))})
        if kind == "system-out":
            ElementTree.SubElement(case, kind).text = _xml(verdict.reason)
        else:
            ElementTree.SubElement(case, kind, {"message": _xml(verdict.reason)}).text = _xml(str(verdict))
    ElementTree.indent(root)
    write_whole(path, lambda to: ElementTree.ElementTree(root).write(to, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return NOT_XML.sub("�", text)
