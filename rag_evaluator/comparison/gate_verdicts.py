"""The verdicts of a gate: as sentences, whether all rules are kept and what is settled, and as a table."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rag_evaluator.results.certificate import useful_metrics
from rag_evaluator.results.conclusion import (
    Conclusion,
    about,
    judged_by,
    next_command,
    with_ends_beside,
)
from rag_evaluator.results.overview import Grid, Overview, WithOverview, counted
from rag_evaluator.results.run import Run, ScoredRows
from rag_evaluator.statistics.formulas import TIE
from rag_evaluator.statistics.rules import MOST_ROWS, Rule, Verdict, count_clusters, keeps, limit_of, worse_end

MOST = 4  # failed rules that have a sentence
RULES = (
    "A rule is kept if the worse end of the interval is on the right side of its number; of a rule with mean: if the "
    "mean is; and if enough rows have a score.",
    "not settled: the better end of the interval is on the right side; else the whole interval breaks the rule.",
    "about N rows, or clusters: with so many, and scores like these, the worse end reaches the number; the interval is "
    "taken to become narrower as the root of their number grows.",
)
NEEDS = {
    "min": "the rule needs at least {0:g}",
    "max": "the rule allows at most {0:g}",
    "not worse": "the rule allows at most {0:g} worse",
    "coverage": "the rule needs at least {0:g}",
}
"""Limit of a rule -> what it says."""


class GateVerdicts(WithOverview, list[Verdict]):
    """The verdicts of `gate`, in the order of the rules; printed, and in a notebook, as sentences and a table.

    True if all rules are kept, as `passed` says: unlike a list, it is false though it has verdicts.

    Args:
        judge: who scored, for the sentences, see `gate_conclusion`.
        command: to type next where a rule failed.
        doubts: what certificates say against the scores.
    """

    def __init__(
        self, verdicts: Iterable[Verdict] = (), judge: str = "", command: str = "", doubts: Sequence[str] = ()
    ) -> None:
        super().__init__(verdicts)
        self.judge, self.command, self.doubts = judge, command, doubts

    @property
    def passed(self) -> bool:
        """Whether all rules are kept."""
        return all(verdict.passed for verdict in self)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def conclusion(self) -> Conclusion:
        """Whether the rules are kept, in sentences."""
        conclusion = gate_conclusion(self, self.judge, self.command)
        first, *others = conclusion.sentences
        return replace(conclusion, sentences=[first, *self.doubts, *others])

    def overview(self) -> Overview:
        rows = [["passed" if judged.passed else "FAILED", str(judged.rule), judged.reason] for judged in self]
        grid = Grid("rules", [("", "left"), ("rule", "left"), ("measured", "left")], rows)
        return Overview([*self.conclusion.lines(), grid])


def gate_conclusion(verdicts: Sequence[Verdict], judge: str = "", command: str = "") -> Conclusion:
    """The sentences of a gate.

    Args:
        judge: `, according to this judge`, see `judge_words`.
        command: to type next where a rule failed.
    """
    failed = [verdict for verdict in verdicts if not verdict.passed]
    rules = counted(len(verdicts), "rule")
    if not failed:
        closest = min(verdicts, key=_distance)
        which = f"all {rules}; the closest is " if len(verdicts) > 1 else ""
        return Conclusion([f"Passed: {which}{_figures(closest)}{judge}."], "", RULES)
    if len(verdicts) == 1:
        return Conclusion([f"Failed: {_figures(failed[0])}{judge}{_state(failed[0])}."], command, RULES)
    open_rules = sum(_is_open(verdict) for verdict in failed)
    settled = f"; {_of_failed(open_rules, len(failed))}" if open_rules else ""
    sentences = [f"Failed: {len(failed)} of {rules}{judge}{settled}."]
    sentences += [f"{_figures(verdict)}{_state(verdict)}." for verdict in failed[:MOST]]
    if len(failed) > MOST:
        sentences.append(f"Failed, too: {', '.join(str(verdict.rule) for verdict in failed[MOST:])}.")
    return Conclusion(sentences, command, RULES)


def _of_failed(open_rules: int, failed: int) -> str:
    if open_rules == failed:
        return "that is not settled" if failed == 1 else "none of them is settled"
    return f"{open_rules} of them {'is' if open_rules == 1 else 'are'} not settled"


def _figures(verdict: Verdict) -> str:
    """`faithfulness: 0.42 [0.17, 0.71], the rule needs at least 0.8`; why a rule cannot be kept."""
    rule, measured = verdict.rule, verdict.measured
    if measured.fault is not None:
        return f"{rule.metric}: {measured.fault}"
    needs = NEEDS[rule.limit].format(rule.number)
    if rule.limit == "coverage":
        return f"{rule.metric}: coverage {measured.coverage:.3f}, {needs}"
    estimate, ends = measured.estimate, f"no row has a score, {needs}"
    if estimate.mean is not None and estimate.ci_low is not None and estimate.ci_high is not None:
        limit = limit_of(rule, measured.scale)
        numbers = with_ends_beside([limit], estimate.mean, estimate.ci_low, estimate.ci_high)
        what = "difference " if rule.limit == "not worse" else ""
        of_mean = " in the mean" if rule.of_mean else ""
        ends = f"{what}{numbers} in {counted(estimate.n, 'row')}, {needs}{of_mean}"
    worse = worse_end(rule, measured.scale, estimate)
    if not verdict.uncovered:
        return f"{rule.metric}: {ends}"
    is_kept = worse is not None and keeps(rule, measured.scale, worse)
    return f"{rule.metric}: {verdict.uncovered}" + ("" if is_kept else f"; {ends}")


def _is_open(verdict: Verdict) -> bool:
    """Whether the interval has values on both sides of the rule's number."""
    rule, measured = verdict.rule, verdict.measured
    if rule.of_mean or rule.limit == "coverage" or measured.fault is not None or verdict.uncovered:
        return False
    scale, estimate = measured.scale, measured.estimate
    better = estimate.ci_high if scale.better == "higher" else estimate.ci_low
    return better is not None and keeps(rule, scale, better)


def _state(verdict: Verdict) -> str:
    """Whether it is settled that the rule is broken."""
    rule, measured = verdict.rule, verdict.measured
    mean = measured.estimate.mean
    if not _is_open(verdict):
        figures = mean is not None and not verdict.uncovered and measured.fault is None
        return "; the whole interval breaks it" if figures and rule.limit != "coverage" and not rule.of_mean else ""
    if mean is None or not keeps(rule, measured.scale, mean):
        return "; not settled: the interval reaches it, the mean does not"
    return f"; not settled: the mean keeps the rule, the interval does not{_rows(rule, verdict)}"


def _rows(rule: Rule, verdict: Verdict) -> str:
    """With how many rows, or clusters, like these the interval would keep the rule, roughly."""
    scale, estimate = verdict.measured.scale, verdict.measured.estimate
    worse = worse_end(rule, scale, estimate)
    if estimate.mean is None or worse is None or estimate.ci_method.startswith("range"):
        return ""
    perfect = 0.0 if rule.limit == "not worse" else scale.high if scale.better == "higher" else scale.low
    if abs(estimate.mean - perfect) <= TIE:  # the rule itself says how many perfect rows it needs
        return ""
    room = abs(estimate.mean - limit_of(rule, scale))
    clusters = verdict.measured.clusters
    units, what = (estimate.n, "rows") if clusters is None else (count_clusters(clusters), "clusters")
    needed = units * ((estimate.mean - worse) / room) ** 2 if room > TIE else MOST_ROWS
    return f"; {about(needed)} {what} like these would show it" if needed < MOST_ROWS else ""


def _distance(verdict: Verdict) -> float:
    """How far a rule that is kept is from being broken, as a share of the metric's range."""
    rule, measured = verdict.rule, verdict.measured
    if rule.limit == "coverage":
        return measured.coverage - rule.number
    worse = worse_end(rule, measured.scale, measured.estimate)
    assert worse is not None  # without it no rule is kept
    return abs(worse - limit_of(rule, measured.scale)) / measured.scale.width


def judge_of(scores: ScoredRows, metrics: Iterable[str]) -> str:
    """`, according to this judge`, where one of the metrics has asked it."""
    return judged_by(scores.manifest, metrics, useful_metrics(scores))


def following(*runs: ScoredRows) -> str:
    """What shows why a rule is broken; the baseline comes first."""
    folders = [run.folder for run in runs if isinstance(run, Run)]
    if len(folders) < len(runs):
        return ""
    return next_command(("compare" if len(folders) > 1 else "report", *folders))
