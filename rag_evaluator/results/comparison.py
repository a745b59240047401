"""What a comparison of runs gives: figures per metric, the rows that changed most, what to read first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from rag_evaluator.files import JsonDict
from rag_evaluator.statistics import LabelMean, MetricComparison

from .changes import ChangedScore
from .conclusion import Conclusion, listed, with_ends, with_interval
from .overview import Grid, WithOverview, counted

if TYPE_CHECKING:
    import pandas as pd

    from rag_evaluator.statistics import Estimate

GROUPS = "groups, not tested"
FIGURES = ("first", "second", "difference", "won/tie/lost")
TESTS = ("p", "p (Holm)", "can show")
OF_DIFFERENCE = ("std", "stderr", "ci_low", "ci_high", "ci_level", "ci_method")
OF_METRIC = ("p", "p_holm", "wins", "ties", "losses", "smallest_difference", "rows_needed", "only_a", "only_b")


@dataclass(frozen=True)
class ComparedMetric:
    """One line of the table: a metric of a run against the baseline, of all rows or of a group of them.

    Attributes:
        run: the run that is compared with the baseline.
        group_by, group: a column and its value, where the figures are those of the rows that have it.
        figures: see `MetricComparison`.
    """

    run: str
    figures: MetricComparison
    group_by: str | None = None
    group: str | None = None

    def to_json(self) -> JsonDict:
        """The figures as one flat JSON object, as a row of a table has them."""
        figures = self.figures
        difference = self.figures.difference
        return {
            "run": self.run,
            "metric": figures.metric,
            "better": figures.scale.better if figures.scale.is_directed else None,
            "group_by": self.group_by,
            "group": self.group,
            "n": difference.n,
            "mean_a": figures.mean_a,
            "mean_b": figures.mean_b,
            "difference": difference.mean,
            **{name: getattr(difference, name) for name in OF_DIFFERENCE},
            **{name: getattr(figures, name) for name in OF_METRIC},
            "margin": figures.margin,
            "conclusion": figures.verdict if self.group is None else None,
        }


@dataclass(frozen=True)
class RowMatch:
    """How the rows of a run fit those of the baseline.

    Attributes:
        matched: keys that both have.
        unmatched_a, unmatched_b: rows of the baseline, and of the run, that have no partner.
        repeated: matched keys that several rows of one side share; their scores are averaged.
    """

    run: str
    matched: int
    unmatched_a: int
    unmatched_b: int
    repeated: int


@dataclass(frozen=True)
class LabelDifference:
    """The difference between two runs by people's labels.

    Attributes:
        both: rows that have a label in both runs.
        figures: the mean label of the run minus that of the baseline; None where labels do not say it.
        reason: why there are no figures; None if there are.
        tested: the same as the line of a table; its p-value belongs to the interval, its `p_holm` holds for all
            differences by labels together, and its `rows_needed` are labels for a true difference of the size found.
            None where there is no estimate.
        contradicting: rows of the baseline whose texts are equal in both runs, and whose labels are not: noise of the
            labels, which counts as no difference.
    """

    run: str
    metric: str
    both: int
    figures: LabelMean | None
    reason: str | None
    tested: MetricComparison | None = None
    contradicting: tuple[int, ...] = ()

    def to_json(self) -> JsonDict:
        """The figures, with the p-values and the conclusion."""
        tested = self.tested
        return {
            **{name: value for name, value in asdict(self).items() if name != "tested"},
            "p": tested and tested.p,
            "p_holm": tested and tested.p_holm,
            "labels_needed": tested and tested.rows_needed,
            "conclusion": tested and tested.verdict,
        }

    def words(self) -> str:
        """`better, difference 0.233 [0.042, 0.401], p (Holm) 0.0143`, or why labels do not say it."""
        if self.figures is None or self.tested is None:
            return self.why_none()
        mean = self.figures
        only = f"; {mean.labels_only}" if mean.labels_only else ""
        ends = with_ends(mean.label_mean or 0.0, mean.ci_low, mean.ci_high, 3)
        return f"{verdict_words(self.tested)}, difference {ends}, p (Holm) {number(self.tested.p_holm, 4)}{only}"

    def why_none(self) -> str:
        """Why labels do not say the difference."""
        if self.reason is None and not self.both:
            return "no row has a label in both runs"
        return self.reason or (self.figures.ci_method.removeprefix("none: ") if self.figures else "")


@dataclass(frozen=True)
class RefusalDifference:
    """How much more often a run refuses than the baseline.

    Attributes:
        difference: of the shares of refusals, paired.
        both: rows that both answer.
        conditional: metric -> the paired difference in these rows, on which no conclusion rests.
    """

    run: str
    difference: "Estimate"
    both: int
    conditional: Mapping[str, "Estimate"]

    def words(self, run: str, baseline: str) -> str:
        """`B refuses more often than A: the share differs by 0.30 [0.21, 0.40] in 100 rows. Conditional, in the …`"""
        mean = self.difference.mean or 0.0
        ends = [end for end in (self.difference.ci_low, self.difference.ci_high) if end is not None]
        often = "more often than" if mean > 0 else "less often than" if mean else "as often as"
        is_shown = not mean or min(ends, default=0.0) * max(ends, default=0.0) > 0
        start = "" if is_shown else "Not settled whether "
        share = f"the share differs by {with_interval(self.difference)} in {counted(self.difference.n, 'row')}"
        known = [f"{name} {with_interval(of)}" for name, of in self.conditional.items() if of.mean is not None]
        both = f" Conditional, in the {counted(self.both, 'row')} that both answer, the differences are:"
        beside = f"{both} {listed(known, most=len(known))}." if known else ""
        return f"{start}{run} refuses {often} {baseline}: {share}.{beside}"


@dataclass(frozen=True)
class Decision:
    """What is to be done after a comparison with the baseline, see `comparison_conclusion`.

    Attributes:
        decision: what is shown, what is not settled, which rows to read.
        in_rows: in how many rows the scores differ; empty if none does.
        named: the run that it names; None: it names none.
    """

    run: str
    decision: str
    in_rows: str
    named: str | None


@dataclass(frozen=True)
class Comparison(WithOverview):
    """Runs compared with the first of them, the baseline, row by row.

    Attributes:
        runs: their names, the baseline first.
        on: the column that rows were matched on.
        effect: what `rows_needed` of each metric is for.
        caveats: sentences to be read before the figures.
        matches: per run.
        metrics: per run and metric, tested; `groups` the same per group of rows, without tests.
        changed: rows that changed most, each once: first those that became worse, then better, then those that only
            one run scored.
        labels: what people's labels say of the difference, for metrics that have labels in both runs.
        conclusion: the sentences that answer which run is better.
        decisions: per run.
        refusals: per run, where any row refuses.
    """

    runs: tuple[str, ...]
    on: str
    effect: float
    caveats: tuple[str, ...]
    matches: tuple[RowMatch, ...]
    metrics: tuple[ComparedMetric, ...]
    groups: tuple[ComparedMetric, ...]
    changed: tuple[ChangedScore, ...]
    labels: tuple[LabelDifference, ...]
    conclusion: Conclusion
    decisions: tuple[Decision, ...]
    refusals: tuple[RefusalDifference, ...] = ()

    def __repr__(self) -> str:
        rows = ", ".join(counted(match.matched, "row") for match in self.matches)
        return f"Comparison({' → '.join(self.runs)}: {rows})"

    def sentences(self) -> Iterator[str]:
        """The conclusion, what to decide, what must be known with both, and how many rows belong together."""
        decided = [f"Decide{f', {it.run}' if len(self.decisions) > 1 else ''}: {it.decision}" for it in self.decisions]
        in_rows = [it.in_rows for it in self.decisions if it.in_rows]
        yield from replace(self.conclusion, sentences=(*self.conclusion.sentences, *decided, *in_rows)).lines()
        yield from self.caveats
        for match in self.matches:
            yield from self._match_lines(match, [line for line in self.metrics if line.run == match.run])

    def overview(self) -> Iterator[Grid | str]:
        """The sentences, then the tables."""
        yield from self.sentences()
        for match in self.matches:
            lines, groups = ([line for line in of if line.run == match.run] for of in (self.metrics, self.groups))
            title = f"{self.runs[0]} → {match.run}"
            needed = f"rows to show {self.effect:g}"
            columns = [("metric", "left"), *_right(*FIGURES), ("conclusion", "left"), *_right(*TESTS, needed)]
            yield Grid(title, columns, list(map(_cells, lines)), (FIGURES[-1], *TESTS, needed))
            if groups:
                columns = [("group", "left"), *_right("rows"), ("metric", "left"), *_right(*FIGURES)]
                rows = [
                    [f"{line.group_by}: {line.group}", str(line.figures.difference.n), *_figures(line)]
                    for line in groups
                ]
                yield Grid(GROUPS, columns, rows, FIGURES[-1:])
        for difference in self.labels:
            about = f"{difference.metric}, by people's labels of {counted(difference.both, 'row')}, {difference.run}"
            yield f"{about}: {difference.words()}"

    def _match_lines(self, match: RowMatch, lines: Sequence[ComparedMetric]) -> Iterator[str]:
        """How many rows belong together, and what does not count."""
        baseline = self.runs[0]
        yield f"{counted(match.matched, 'row')} of {baseline} and {match.run} matched by '{self.on}'"
        if match.unmatched_a or match.unmatched_b:
            without = counted(match.unmatched_a, "row")
            yield f"  without a partner: {without} of {baseline}, {match.unmatched_b:,} of {match.run}"
        if match.repeated:
            yield f"  {match.repeated:,} of them have several answers, whose scores are averaged"
        for figures in (line.figures for line in lines):
            if figures.only_a or figures.only_b:
                only = f"{figures.only_a:,} in {baseline}, {figures.only_b:,} in {match.run}"
                yield f"  {figures.metric}: rows that only one run scored: {only}"

    def records(self) -> list[JsonDict]:
        """One flat object per line of the table, groups last."""
        return [line.to_json() for line in (*self.metrics, *self.groups)]

    def to_json(self) -> JsonDict:
        """Everything as JSON."""
        return {
            "conclusion": self.conclusion.to_json(),
            "decisions": list(map(asdict, self.decisions)),
            "runs": list(self.runs),
            "on": self.on,
            "effect": self.effect,
            "caveats": list(self.caveats),
            "matches": list(map(asdict, self.matches)),
            "metrics": [line.to_json() for line in self.metrics],
            "groups": [line.to_json() for line in self.groups],
            "changed": [change.to_json() for change in self.changed],
            "labels": [line.to_json() for line in self.labels],
            **({"refusals": list(map(asdict, self.refusals))} if self.refusals else {}),
        }

    def to_pandas(self) -> "pd.DataFrame":
        """`records` as a frame; what is None is missing."""
        import pandas as pd

        return pd.DataFrame(self.records())


def word(line: MetricComparison) -> str:
    """Whether the run is `better` or `worse` than the baseline, if that is shown; `open`: nobody knows.

    `differs`: it is shown, and nobody has said which scores are better.
    """
    if line.verdict in ("shown", "different, but less than the margin"):
        return ("better" if line.is_better else "worse") if line.scale.is_directed else "differs"
    return "open"


def verdict_words(line: MetricComparison) -> str:
    """The verdict in a table: `better`, `not settled`, `equal within 0.05`, `better, by less than 0.05` and so on."""
    direction = word(line)
    if line.is_within_margin:
        limit = f"{line.margin:g}"
        return f"equal within {limit}" if direction == "open" else f"{direction}, by less than {limit}"
    return line.verdict if direction == "open" else direction


def number(value: float | None, digits: int = 3) -> str:
    """A figure of a table; `-` where there is none."""
    return "-" if value is None else f"{value:z.{digits}f}"


def _right(*headings: str) -> list[tuple[str, str]]:
    return [(heading, "right") for heading in headings]


def _cells(line: ComparedMetric) -> list[str]:
    figures = line.figures
    needed = "-" if figures.rows_needed is None else f"{figures.rows_needed:,}"
    tests = [number(p, 4) for p in (figures.p, figures.p_holm)]
    return [*_figures(line), verdict_words(figures), *tests, number(figures.smallest_difference), needed]


def _figures(line: ComparedMetric) -> list[str]:
    figures = line.figures
    difference = line.figures.difference
    interval = "-" if difference.mean is None else with_interval(difference, 3)
    counts = f"{figures.wins}/{figures.ties}/{figures.losses}" if figures.scale.is_directed else "-"
    return [figures.metric, number(figures.mean_a), number(figures.mean_b), interval, counts]
