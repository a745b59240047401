"""Whether rules are kept: each verdict with its figures in a sentence, and all of them as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.results import AGAIN, Conclusion, Grid, WithOverview, counted, listed, with_ends_beside
from rag_evaluator.statistics import ALPHA, TIE, Estimate, Rule, Scale, is_shown

COVERAGE = 0.95  # share of rows that must have a score, unless a number is given
DIFFERENCES = ("not worse", "worse")
RULES = (
    "A rule is kept if the worse end of the interval is on the right side of its number; of a rule with mean: if the "
    "mean is; and if enough rows have a score.",
    f"Worse is shown where the whole interval of the difference is worse and p of all metrics together (Holm) is at "
    f"most {ALPHA}; a drop beyond the interval is ruled out. A row that the run lost counts as the worst score in "
    "both; one with nothing to score does not count.",
    f"not settled after correction: the whole interval is worse, and p (Holm) is above {ALPHA}.",
    "not settled: the better end of the interval is on the right side; else the whole interval breaks the rule.",
)
NEEDS = {
    "min": "the rule needs at least {0:g}",
    "max": "the rule allows at most {0:g}",
    "not worse": "the rule allows at most {0:g} worse",
}
"""Limit of a rule -> what it says."""
State = Literal["passed", "failed", "not settled", "not settled after correction"]
NOT_SETTLED: State = "not settled"
UNCORRECTED: State = "not settled after correction"
ENDS = {UNCORRECTED: f"; {UNCORRECTED}", NOT_SETTLED: "; not settled: the interval is on both sides of it"}


@dataclass(frozen=True)
class Measured:
    """What is known of a metric, or of its difference from a baseline.

    Attributes:
        coverage: share of all rows that have a score; of a difference: that both sides scored.
        notes: what else must be known of the figures.
        fault: why no rule can pass, whatever the figures are.
        p_holm: of a difference, two-sided, of all metrics together; None: there was no test.
        counts: how many rows the coverage is about, `32 of 40 rows have a score`; empty: nobody has counted.
        remedy: what to do about missing scores.
        known: what a requirement that is about no figure was checked on; empty: figures count.
    """

    scale: Scale
    estimate: Estimate
    coverage: float
    notes: tuple[str, ...] = ()
    fault: str | None = None
    p_holm: float | None = None
    counts: str = ""
    remedy: str = AGAIN
    known: str = ""


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
        return self.measured.fault is None and (bool(self.measured.known) or (self._is_covered and self._is_kept))

    @property
    def _is_covered(self) -> bool:
        return self.measured.coverage >= self.least - TIE

    @property
    def _is_kept(self) -> bool:
        measured = self.measured
        if self.rule.limit == "worse":
            return measured.estimate.mean is not None and not (self.is_broken and is_shown(measured.p_holm))
        return self.rule.is_kept(measured.scale, self._worse_end)

    @property
    def is_broken(self) -> bool:
        """Whether the whole interval is on the wrong side of the number."""
        end = self._better_end
        return end is not None and not self.rule.is_kept(self.measured.scale, end)

    @property
    def _worse_end(self) -> float | None:
        return self.rule.worse_end(self.measured.scale, self.measured.estimate)

    @property
    def _better_end(self) -> float | None:
        scale = self.measured.scale
        estimate = self.measured.estimate
        return estimate.ci_high if scale.better == "higher" else estimate.ci_low

    @property
    def figures(self) -> str:
        """`0.42 [0.17, 0.71] in 60 rows, the rule needs at least 0.8`, or why the rule cannot be kept."""
        rule = self.rule
        measured = self.measured
        estimate = self.measured.estimate
        if measured.fault is not None or measured.known:
            return measured.fault or measured.known
        needs = "worse is shown" if rule.limit == "worse" else NEEDS[rule.limit].format(rule.number)
        text = f"no row has a score, {needs}"
        if estimate.mean is not None and estimate.ci_low is not None and estimate.ci_high is not None:
            limit = rule.limit_of(measured.scale)
            ends = with_ends_beside([limit], estimate.mean, estimate.ci_low, estimate.ci_high)
            if rule.limit == "worse" and self._is_kept:
                needs = f"worse is not shown, and {self._ruled_out} is ruled out"
                if self.is_broken:
                    needs = f"its own interval is worse, p (Holm) is {measured.p_holm or 0:.3g}"
            what = "difference " * (rule.limit in DIFFERENCES)
            in_mean = " in the mean" * rule.of_mean
            text = f"{what}{ends} in {counted(estimate.n, 'row')}, {needs}{in_mean}"
        if self._is_covered:
            return text
        rows = f"{measured.counts}, " if measured.counts else ""
        uncovered = (
            f"{rows}coverage is {measured.coverage:.3f}, below {self.least:g}: {measured.remedy}, or lower "
            "--min-coverage"
        )
        return uncovered if self._is_kept else f"{uncovered}; {text}"

    @property
    def _ruled_out(self) -> str:
        """`a drop beyond 0.24`; of a run that is better by its whole interval `any drop`."""
        end = self._worse_end or 0.0
        is_higher = self.measured.scale.better == "higher"
        return "any drop" if (end > 0) == is_higher and end else f"a drop beyond {abs(end):.2g}"

    @property
    def state(self) -> State:
        """Whether the rule is kept, and where it is not kept, or not shown to be, whether that is settled."""
        if self.passed:
            return UNCORRECTED if self.rule.limit == "worse" and self.is_broken else "passed"
        return NOT_SETTLED if self._is_about_interval and not self.is_broken else "failed"

    @property
    def _is_about_interval(self) -> bool:
        is_known = self.measured.fault is None and self.measured.estimate.mean is not None and self._is_covered
        return is_known and self.rule.limit != "worse" and not self.rule.of_mean

    @property
    def settled(self) -> str:
        """What the interval settles, as the end of a sentence; empty where the rule is kept, or not about one."""
        if self.state in ENDS:
            return ENDS[self.state]
        return "" if self.passed or not self._is_about_interval else "; the whole interval breaks it"

    @property
    def reason(self) -> str:
        """The figures, what they settle, and what else must be known of them."""
        return "; ".join([self.figures + self.settled, *self.measured.notes])

    @property
    def distance(self) -> float:
        """How far a rule that is kept is from being broken, as a share of the metric's range; a requirement: 1."""
        if self.measured.known:
            return 1.0
        end = self._better_end if self.rule.limit == "worse" else self._worse_end
        assert end is not None  # without it no rule is kept
        return abs(end - self.rule.limit_of(self.measured.scale)) / self.measured.scale.width

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"

    def to_json(self) -> dict[str, str | float | bool]:
        """The rule's text and parts, and the verdict."""
        verdict = {"passed": self.passed, "state": self.state, "reason": self.reason}
        return {"rule": str(self.rule), **asdict(self.rule), **verdict}


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
        doubts: what is known against the scores.
    """

    def __init__(
        self, verdicts: Iterable[Verdict] = (), judge: str = "", command: str = "", doubts: Sequence[str] = ()
    ) -> None:
        super().__init__(verdicts)
        self.judge = judge
        self.command = command
        self.doubts = doubts

    @property
    def passed(self) -> bool:
        """Say whether all rules are kept."""
        return all(verdict.passed for verdict in self)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def not_settled(self) -> list[Verdict]:
        """Return those that pass although the run is worse by the metric's own interval."""
        return [verdict for verdict in self if verdict.state == UNCORRECTED]

    def _cost(self) -> str:
        """Say what more metrics cost, in a sentence."""
        tests = sum(verdict.measured.p_holm is not None for verdict in self) or 1
        return (
            f"More metrics make a fall harder to show: Holm corrects {counted(tests, 'test')} here, so the smallest p "
            f"must be at most {ALPHA / tests:.2g}, and that of a metric alone at most {ALPHA:g}."
        )

    @property
    def conclusion(self) -> Conclusion:
        """Say in sentences whether the rules are kept."""
        failed = [verdict for verdict in self if not verdict.passed]
        rules = counted(len(self), "rule")
        others = list[str]()
        below = [verdict for verdict in self if verdict.rule.limit == "worse" and verdict.is_broken]
        if not failed and self.not_settled:
            named = "; ".join(f"{verdict.rule.metric}: {verdict.figures}" for verdict in self.not_settled)
            first = f"{UNCORRECTED.capitalize()}: {named}{self.judge}."
        elif not failed:
            closest = min(self, key=lambda verdict: verdict.distance)
            which = f"all {rules}; the closest is " if len(self) > 1 else ""
            first = f"Passed: {which}{closest.rule.metric}: {closest.figures}{self.judge}."
        elif len(self) == 1:
            [only] = failed
            judge = "" if only.measured.known else self.judge
            words = "; ".join([f"{only.figures}{judge}{only.settled}", *only.measured.notes])
            first = f"Failed: {only.rule.metric}: {words}."
        else:
            is_open = sum(verdict.state == NOT_SETTLED for verdict in failed)
            settled = f"; {is_open} of them not settled" if is_open else ""
            names = listed((verdict.rule.metric for verdict in below), most=len(below))
            worse = f"; the interval of {names} {'is' if len(below) == 1 else 'each is'} worse" if below else ""
            first = f"Failed: {len(failed)} of {rules}{self.judge}{settled}{worse}."
            others = [f"{verdict.rule.metric}: {verdict.reason}." for verdict in [*failed, *self.not_settled]]
        if self.not_settled:
            others.append(self._cost())
        return Conclusion([first, *self.doubts, *others], self.command if failed else "", RULES)

    def overview(self) -> list[Grid | str]:
        """Return what a terminal shows: the conclusion, then each rule with what was measured."""
        rows = [[it.state if it.passed else "FAILED", str(it.rule), it.reason] for it in self]
        grid = Grid("rules", [("", "left"), ("rule", "left"), ("measured", "left")], rows)
        return [*self.conclusion.lines(), grid]
