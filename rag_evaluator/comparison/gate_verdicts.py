"""Whether rules are kept: each verdict with its figures in a sentence, and all of them as a table."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.results.conclusion import Conclusion, about, with_ends_beside
from rag_evaluator.results.overview import Grid, Overview, WithOverview, counted
from rag_evaluator.statistics.formulas import TIE, Estimate, Scale
from rag_evaluator.statistics.rules import Rule

COVERAGE = 0.95  # share of rows that must have a score, unless a number is given
MOST_ROWS = 200_000  # more rows than a sentence asks for
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


@dataclass(frozen=True)
class Measured:
    """What is known of a metric, or of its difference from a baseline.

    Attributes:
        coverage: share of all rows that have a score; of a difference: that both sides scored.
        clusters: of the scored rows, if they have any: a rule then needs more clusters, not more rows.
        without_lost: the difference without the rows that count as the worst score, if there are any.
        notes: what else must be known of the figures.
        fault: why no rule can pass, whatever the figures are.
    """

    scale: Scale
    estimate: Estimate
    coverage: float
    clusters: Sequence[Hashable] | None = None
    without_lost: Estimate | None = None
    notes: tuple[str, ...] = ()
    fault: str | None = None


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
        rule, scale, estimate = self.rule, self.measured.scale, self.measured.estimate
        return rule.limit == "coverage" or rule.is_kept(scale, rule.worse_end(scale, estimate))

    @property
    def is_open(self) -> bool:
        """Whether the interval has values on both sides of the rule's number."""
        rule, scale, estimate = self.rule, self.measured.scale, self.measured.estimate
        if rule.of_mean or rule.limit == "coverage" or self.measured.fault is not None or not self._is_covered:
            return False
        return rule.is_kept(scale, estimate.ci_high if scale.better == "higher" else estimate.ci_low)

    @property
    def figures(self) -> str:
        """`0.42 [0.17, 0.71] in 60 rows, the rule needs at least 0.8`, or why the rule cannot be kept."""
        rule, scale, estimate = self.rule, self.measured.scale, self.measured.estimate
        if self.measured.fault is not None:
            return self.measured.fault
        needs = NEEDS[rule.limit].format(rule.number)
        if rule.limit == "coverage":
            return f"coverage {self.measured.coverage:.3f}, {needs}"
        text = f"no row has a score, {needs}"
        if estimate.mean is not None and estimate.ci_low is not None and estimate.ci_high is not None:
            ends = with_ends_beside([rule.limit_of(scale)], estimate.mean, estimate.ci_low, estimate.ci_high)
            what, in_mean = "difference " * (rule.limit == "not worse"), " in the mean" * rule.of_mean
            text = f"{what}{ends} in {counted(estimate.n, 'row')}, {needs}{in_mean}"
        if self._is_covered:
            return text
        uncovered = (
            f"coverage is {self.measured.coverage:.3f}, below {self.least:g}: first score what is missing, the command "
            "of the run with --update, or lower --min-coverage"
        )
        return uncovered if self._is_kept else f"{uncovered}; {text}"

    @property
    def state(self) -> str:
        """Whether it is settled that the rule is broken; empty where the rule is kept, or not about an interval."""
        rule, scale, estimate = self.rule, self.measured.scale, self.measured.estimate
        is_about_interval = rule.limit != "coverage" and not rule.of_mean and estimate.mean is not None
        if self.passed or self.measured.fault is not None or not self._is_covered or not is_about_interval:
            return ""
        if not self.is_open:
            return "; the whole interval breaks it"
        if not rule.is_kept(scale, estimate.mean):
            return "; not settled: the interval reaches it, the mean does not"
        return f"; not settled: the mean keeps the rule, the interval does not{self._rows_needed()}"

    def _rows_needed(self) -> str:
        """With how many rows, or clusters, like these the interval would keep the rule, roughly."""
        rule, scale, estimate = self.rule, self.measured.scale, self.measured.estimate
        worse = rule.worse_end(scale, estimate)
        if estimate.mean is None or worse is None or estimate.ci_method.startswith("range"):
            return ""
        perfect = 0.0 if rule.limit == "not worse" else scale.high if scale.better == "higher" else scale.low
        if abs(estimate.mean - perfect) <= TIE:
            return "; even perfect scores of so few rows break it"
        room = abs(estimate.mean - rule.limit_of(scale))
        clusters = self.measured.clusters
        units, what = (estimate.n, "rows") if clusters is None else (_count_clusters(clusters), "clusters")
        needed = units * ((estimate.mean - worse) / room) ** 2 if room > TIE else MOST_ROWS
        return f"; {about(needed)} {what} like these would show it" if needed < MOST_ROWS else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else must be known of the figures; of a rule that is kept, too."""
        rule, scale, without = self.rule, self.measured.scale, self.measured.without_lost
        blamed = without and not self._is_kept and rule.is_kept(scale, rule.worse_end(scale, without))
        alone = "only missing rows make it fail; first score them, the command of the run with --update"
        return (*([alone] if blamed else []), *self.measured.notes)

    @property
    def reason(self) -> str:
        """The figures, what they settle, and the remarks."""
        return "; ".join([self.figures + self.state, *self.remarks])

    @property
    def distance(self) -> float:
        """How far a rule that is kept is from being broken, as a share of the metric's range."""
        rule, scale, estimate = self.rule, self.measured.scale, self.measured.estimate
        if rule.limit == "coverage":
            return self.measured.coverage - rule.number
        worse = rule.worse_end(scale, estimate)
        assert worse is not None  # without it no rule is kept
        return abs(worse - rule.limit_of(scale)) / scale.width

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"

    def to_json(self) -> dict[str, str | float | bool]:
        """The rule's text and parts, and the verdict."""
        return {"rule": str(self.rule), **asdict(self.rule), "passed": self.passed, "reason": self.reason}


def _count_clusters(clusters: Sequence[Hashable]) -> int:
    """How many clusters rows are in; those without a label are clusters of their own."""
    return len(set(clusters) - {None}) + sum(label is None for label in clusters)


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
        known = (differences or {}) if rule.limit == "not worse" else measured
        if rule.metric not in known:
            raise ConfigError(
                f"rule '{rule}': there are no scores of '{rule.metric}'.{did_you_mean(rule.metric, known)}"
            )
        rule.refuse_senseless(known[rule.metric].scale)
        verdicts.append(Verdict(rule, known[rule.metric], rule.number if rule.limit == "coverage" else min_coverage))
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
        first, *others = self._sentences()
        return Conclusion([first, *self.doubts, *others], "" if self.passed else self.command, RULES)

    def _sentences(self) -> list[str]:
        failed = [verdict for verdict in self if not verdict.passed]
        rules = counted(len(self), "rule")
        if not failed:
            closest = min(self, key=lambda verdict: verdict.distance)
            which = f"all {rules}; the closest is " if len(self) > 1 else ""
            return [f"Passed: {which}{closest.rule.metric}: {closest.figures}{self.judge}."]
        if len(self) == 1:
            return [f"Failed: {failed[0].rule.metric}: {failed[0].figures}{self.judge}{failed[0].state}."]
        is_open = sum(verdict.is_open for verdict in failed)
        settled = f"; {is_open} of them not settled" if is_open else ""
        sentences = [f"Failed: {len(failed)} of {rules}{self.judge}{settled}."]
        sentences += [f"{verdict.rule.metric}: {verdict.figures}{verdict.state}." for verdict in failed[:MOST]]
        if len(failed) > MOST:
            sentences.append(f"Failed, too: {', '.join(str(verdict.rule) for verdict in failed[MOST:])}.")
        return sentences

    def overview(self) -> Overview:
        rows = [["passed" if judged.passed else "FAILED", str(judged.rule), judged.reason] for judged in self]
        grid = Grid("rules", [("", "left"), ("rule", "left"), ("measured", "left")], rows)
        return Overview([*self.conclusion.lines(), grid])
