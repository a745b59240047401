"""Whether rules are kept: each verdict with its figures in a sentence, and all of them as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.results.conclusion import Conclusion, with_ends_beside
from rag_evaluator.results.overview import Grid, WithOverview, counted
from rag_evaluator.statistics.formulas import TIE, Estimate, Scale
from rag_evaluator.statistics.rules import Rule

ONE_SIDED = 0.05  # share of equal runs that may be called worse
COVERAGE = 0.95  # share of rows that must have a score, unless a number is given
DIFFERENCES = ("not worse", "worse")
RULES = (
    "A rule is kept if the worse end of the interval is on the right side of its number; of a rule with mean: if the "
    "mean is; and if enough rows have a score.",
    "Worse is shown where the whole interval of the difference is worse and p of all metrics together (Holm, as in "
    "compare) is below 0.1, which is 0.05 on the side of worse; a drop beyond the interval is ruled out.",
    "not settled: the better end of the interval is on the right side; else the whole interval breaks the rule.",
)
NEEDS = {
    "min": "the rule needs at least {0:g}",
    "max": "the rule allows at most {0:g}",
    "not worse": "the rule allows at most {0:g} worse",
}
"""Limit of a rule -> what it says."""
NOT_SETTLED = "; not settled: the interval is on both sides of it"


@dataclass(frozen=True)
class Measured:
    """What is known of a metric, or of its difference from a baseline.

    Attributes:
        coverage: share of all rows that have a score; of a difference: that both sides scored.
        notes: what else must be known of the figures.
        fault: why no rule can pass, whatever the figures are.
        p_holm: of a difference, two-sided, as `compare` has it; None where it is not asked for.
    """

    scale: Scale
    estimate: Estimate
    coverage: float
    notes: tuple[str, ...] = ()
    fault: str | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a rule is kept.

    Attributes:
        measured: what the rule was checked on.
        least: share of rows that must have a score.
    """

    rule: Rule
    measured: Measured
    least: float = COVERAGE

    @property
    def passed(self) -> bool:
        return self.measured.fault is None and self._is_covered and self._is_kept

    @property
    def _is_covered(self) -> bool:
        return self.measured.coverage >= self.least - TIE

    @property
    def _is_kept(self) -> bool:
        measured = self.measured
        if self.rule.limit == "worse":  # a one-sided test of all metrics together
            is_shown = self._is_broken and measured.p_holm is not None and measured.p_holm < 2 * ONE_SIDED
            return measured.estimate.mean is not None and not is_shown
        return self.rule.is_kept(measured.scale, self._worse_end)

    @property
    def _is_broken(self) -> bool:
        """Whether the whole interval is on the wrong side of the number."""
        end = self._better_end
        return end is not None and not self.rule.is_kept(self.measured.scale, end)

    @property
    def _worse_end(self) -> float | None:
        return self.rule.worse_end(self.measured.scale, self.measured.estimate)

    @property
    def _better_end(self) -> float | None:
        scale, estimate = self.measured.scale, self.measured.estimate
        return estimate.ci_high if scale.better == "higher" else estimate.ci_low

    @property
    def figures(self) -> str:
        """`0.42 [0.17, 0.71] in 60 rows, the rule needs at least 0.8`, or why the rule cannot be kept."""
        rule, measured, estimate = self.rule, self.measured, self.measured.estimate
        if measured.fault is not None:
            return measured.fault
        needs = "worse is shown" if rule.limit == "worse" else NEEDS[rule.limit].format(rule.number)
        text = f"no row has a score, {needs}"
        if estimate.mean is not None and estimate.ci_low is not None and estimate.ci_high is not None:
            limit = rule.limit_of(measured.scale)
            ends = with_ends_beside([limit], estimate.mean, estimate.ci_low, estimate.ci_high)
            if rule.limit == "worse" and self._is_kept:
                is_below, p = self._is_broken and measured.p_holm, f"p (Holm) {measured.p_holm or 0:.2g}"
                why = f" by all metrics together ({p})" if is_below else ""
                needs = f"worse is not shown{why}, and a drop beyond {abs(self._worse_end or 0):.2g} is ruled out"
            what, in_mean = "difference " * (rule.limit in DIFFERENCES), " in the mean" * rule.of_mean
            text = f"{what}{ends} in {counted(estimate.n, 'row')}, {needs}{in_mean}"
        if self._is_covered:
            return text
        uncovered = (
            f"coverage is {measured.coverage:.3f}, below {self.least:g}: first score what is missing, the command "
            "of the run with --update, or lower --min-coverage"
        )
        return uncovered if self._is_kept else f"{uncovered}; {text}"

    @property
    def state(self) -> str:
        """Whether it is settled that the rule is broken; empty where the rule is kept, or not about an interval."""
        is_about_interval = self.rule.limit != "worse" and not self.rule.of_mean
        is_known = self.measured.fault is None and self.measured.estimate.mean is not None and self._is_covered
        if self.passed or not is_known or not is_about_interval:
            return ""
        return "; the whole interval breaks it" if self._is_broken else NOT_SETTLED

    @property
    def reason(self) -> str:
        """The figures, what they settle, and what else must be known of them."""
        return "; ".join([self.figures + self.state, *self.measured.notes])

    @property
    def distance(self) -> float:
        """How far a rule that is kept is from being broken, as a share of the metric's range."""
        end = self._better_end if self.rule.limit == "worse" else self._worse_end
        assert end is not None  # without it no rule is kept
        return abs(end - self.rule.limit_of(self.measured.scale)) / self.measured.scale.width

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"

    def to_json(self) -> dict[str, str | float | bool]:
        """The rule's text and parts, and the verdict."""
        return {"rule": str(self.rule), **asdict(self.rule), "passed": self.passed, "reason": self.reason}


def check_rules(
    rules: Sequence[Rule],
    measured: Mapping[str, Measured],
    differences: Mapping[str, Measured] | None = None,
    min_coverage: float = COVERAGE,
) -> list[Verdict]:
    """Whether each rule is kept.

    A rule concerns the worse end of the interval, or the mean if it says so; 1e-6 is allowed for. It fails also where
    fewer rows than `min_coverage` have a score.

    Args:
        measured: metric -> its scores, for all rules but `not worse`.
        differences: metric -> the run minus its baseline.

    Raises `ConfigError` for a rule that its metric cannot have, or whose metric was not scored.
    """
    verdicts = []
    for rule in rules:
        known = (differences or {}) if rule.limit in DIFFERENCES else measured
        if rule.metric not in known:
            raise ConfigError(
                f"rule '{rule}': there are no scores of '{rule.metric}'.{did_you_mean(rule.metric, known)}"
            )
        rule.refuse_senseless(known[rule.metric].scale)
        verdicts.append(Verdict(rule, known[rule.metric], min_coverage))
    return verdicts


class GateVerdicts(WithOverview, list[Verdict]):
    """The verdicts of `gate`, in the order of the rules; printed, and in a notebook, as sentences and a table.

    True if all rules are kept, as `passed` says: unlike a list, it is false though it has verdicts.

    Args:
        judge: who scored: `, according to this judge`, see `judge_words`.
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
        failed = [verdict for verdict in self if not verdict.passed]
        rules, others = counted(len(self), "rule"), list[str]()
        if not failed:
            closest = min(self, key=lambda verdict: verdict.distance)
            which = f"all {rules}; the closest is " if len(self) > 1 else ""
            first = f"Passed: {which}{closest.rule.metric}: {closest.figures}{self.judge}."
        elif len(self) == 1:
            [only] = failed
            words = "; ".join([f"{only.figures}{self.judge}{only.state}", *only.measured.notes])
            first = f"Failed: {only.rule.metric}: {words}."
        else:
            is_open = sum(verdict.state == NOT_SETTLED for verdict in failed)
            settled = f"; {is_open} of them not settled" if is_open else ""
            first = f"Failed: {len(failed)} of {rules}{self.judge}{settled}."
            others = [f"{verdict.rule.metric}: {verdict.reason}." for verdict in failed]
        return Conclusion([first, *self.doubts, *others], self.command if failed else "", RULES)

    def overview(self) -> list[Grid | str]:
        rows = [["passed" if judged.passed else "FAILED", str(judged.rule), judged.reason] for judged in self]
        grid = Grid("rules", [("", "left"), ("rule", "left"), ("measured", "left")], rows)
        return [*self.conclusion.lines(), grid]
