"""What a comparison of runs gives: figures per metric, the rows that changed most, what to read first."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from rag_evaluator.results.comparison_lines import parts_of
from rag_evaluator.results.overview import Overview, Shown, counted, few
from rag_evaluator.trust.comparison import MetricComparison
from rag_evaluator.trust.ppi import LabelMean

if TYPE_CHECKING:
    import pandas as pd

Direction = Literal["worse", "better", "missing"]


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

    def to_json(self) -> dict[str, Any]:
        """The figures as one flat JSON object, as a row of a table has them."""
        figures, difference = self.figures, self.figures.difference
        return {
            "run": self.run,
            "metric": figures.metric,
            "better": figures.scale.better,
            "group_by": self.group_by,
            "group": self.group,
            "n": difference.n,
            "mean_a": figures.mean_a,
            "mean_b": figures.mean_b,
            "difference": difference.mean,
            "std": difference.std,
            "stderr": difference.stderr,
            "ci_low": difference.ci_low,
            "ci_high": difference.ci_high,
            "ci_level": difference.ci_level,
            "ci_method": difference.ci_method,
            "p": figures.p,
            "p_holm": figures.p_holm,
            "wins": figures.wins,
            "ties": figures.ties,
            "losses": figures.losses,
            "smallest_difference": figures.smallest_difference,
            "rows_needed": figures.rows_needed,
            "only_a": figures.only_a,
            "only_b": figures.only_b,
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
class ChangedScore:
    """A score that differs between the runs.

    Attributes:
        key: what the row was matched on.
        a, b: the scores; None where one is missing, `direction` is `missing` then.
        reasons_a, reasons_b: why a score is missing, or what the judge said; empty where nobody said anything.
        row_a, row_b: place of the row in each run, from 0, of several the first; None where a run does not have it.
            Not in `to_json`, which is the same for any order of rows.
    """

    run: str
    metric: str
    key: str
    question: str | None
    direction: Direction
    a: float | None
    b: float | None
    reasons_a: tuple[str, ...]
    reasons_b: tuple[str, ...]
    row_a: int | None = field(compare=False)
    row_b: int | None = field(compare=False)


@dataclass(frozen=True)
class LabelDifference:
    """The difference between two runs by people's labels.

    Attributes:
        both: rows that have a label in both runs.
        figures: the mean label of the run minus that of the baseline; None where labels do not say it.
        reason: why there are no figures; None if there are.
    """

    run: str
    metric: str
    both: int
    figures: LabelMean | None
    reason: str | None


@dataclass(frozen=True)
class JudgeStanding:
    """What the certificate of a run says of the judge that gave its scores.

    Attributes:
        metric: None where the certificate cannot be read.
        words: the verdict, the rows that it is of, and the AUC; or why the certificate cannot be read.
    """

    run: str
    metric: str | None
    words: str


@dataclass(frozen=True)
class Comparison(Shown):
    """Runs compared with the first of them, the baseline, row by row.

    Attributes:
        runs: their names, the baseline first.
        on: the column that rows were matched on.
        effect: what `rows_needed` of each metric is for.
        caveats: sentences to be read before the figures.
        matches: per run.
        metrics: per run and metric, tested; `groups` the same per group of rows, without tests.
        changed: scores that changed most, first those that became worse, then better, then missing ones.
        labels: what people's labels say of the difference, for metrics that have labels in both runs.
        judges: what people's labels say of the judge, for each run and metric that has labels.
    """

    runs: tuple[str, ...]
    on: str
    effect: float
    caveats: tuple[str, ...]
    matches: tuple[RowMatch, ...]
    metrics: tuple[ComparedMetric, ...]
    groups: tuple[ComparedMetric, ...]
    changed: tuple[ChangedScore, ...]
    labels: tuple[LabelDifference, ...] = ()
    judges: tuple[JudgeStanding, ...] = ()

    def __repr__(self) -> str:
        metrics = dict.fromkeys(line.figures.metric for line in self.metrics)
        rows = ", ".join(counted(match.matched, "row") for match in self.matches)
        return f"Comparison({' → '.join(self.runs)}: {rows}; {few(metrics)})"

    def overview(self) -> Overview:
        return Overview(list(parts_of(self)))

    def records(self) -> list[dict[str, Any]]:
        """One flat object per line of the table, groups last."""
        return [line.to_json() for line in (*self.metrics, *self.groups)]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "runs": list(self.runs),
            "on": self.on,
            "effect": self.effect,
            "caveats": list(self.caveats),
            "matches": _as_objects(self.matches),
            "metrics": [line.to_json() for line in self.metrics],
            "groups": [line.to_json() for line in self.groups],
            "changed": _as_objects(self.changed),
            "labels": _as_objects(self.labels),
            "judges": _as_objects(self.judges),
        }

    def to_pandas(self) -> "pd.DataFrame":
        """`records` as a frame; what is None is missing."""
        import pandas as pd

        return pd.DataFrame(self.records())


def word(line: MetricComparison) -> str:
    """Whether the run is `better` or `worse` than the baseline, by the adjusted test; `open`: nobody knows."""
    if line.p_holm is None or line.difference.mean is None or line.p_holm > 1 - line.difference.ci_level + 1e-12:
        return "open"
    return "better" if (line.difference.mean > 0) == (line.scale.better == "higher") else "worse"


def _as_objects(values: Sequence[RowMatch | ChangedScore | LabelDifference | JudgeStanding]) -> list[Mapping[str, Any]]:
    """All but what depends on the order of rows."""
    return [
        {
            name: part
            for name, part in asdict(value).items()
            if name in {one.name for one in fields(value) if one.compare}
        }
        for value in values
    ]
