"""What labels say of a run: the figures of each metric and of single statements, and the rows on which people and judge
differ most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NoReturn

import numpy as np

from rag_evaluator.config import BY_WORDS
from rag_evaluator.dataset import Sample, value_of
from rag_evaluator.errors import DatasetError, ResultsError
from rag_evaluator.files import Json, JsonDict
from rag_evaluator.metrics import NOTHING, counter_of
from rag_evaluator.resources import command
from rag_evaluator.results import (
    QUESTION,
    JudgedVerdict,
    KeptLabels,
    Reporting,
    ScoredRows,
    cluster_of,
    explained,
    few_lines,
    mean_probabilities,
    numbers_of,
    parts_of_verifier,
    probabilities_of,
    reporting_of,
    row_name,
    units_of,
)
from rag_evaluator.statistics import Array, Scale

from .counting import COUNTING, ITSELF, besides
from .figures import (
    BINARY,
    Labelled,
    LabelScale,
    agreement_of,
    figures_of,
    ratings_of,
    scale_of_labels,
    to_keep,
    worst_rows,
)
from .table import Label, LabelTable, votes_of
from .thresholds import threshold_of

Records = Mapping[int, Sequence[Json]]  # row -> its details, one for each repeat
SHOWN = 5  # disagreements of a metric


def statement_figures(
    labels: Sequence[Label], records: Records, level: float, units: Sequence[str], counted: Mapping[str, Array]
) -> JsonDict:
    """Verdicts against labels of 0 and 1, clustered by row or by its cluster.

    The score of a verdict is the judge's probability of 1 where it has one; of a verifier's verdict its probability,
    moved so that the threshold is at 0.5. Of repeated scores the first counts.
    Statements on which annotators are divided, and those on which the judge gave several verdicts that differ, are
    counted and left out. Raises `DatasetError` for a statement that the judge did not judge, a label that is not 0 or
    1.

    Args:
        units: of all rows, the key of the cluster or of the row itself.
        counted: what counting gives, by name, for each statement in the order of `votes_of`.
    """
    votes = votes_of(labels)
    for label in chain(*votes.values()):
        if label.value not in (0.0, 1.0):
            raise DatasetError(f"{label.where}: {label.value:g}; labels of statements are 0 or 1.")
    rows = [row for row, _ in votes]
    verdicts = [_verdict(given[0], records) for given in votes.values()]
    scores = np.array([_score(said, records[row]) for row, said in zip(rows, verdicts, strict=True)])
    placed = (replace(label, row=place, statement=None) for place, key in enumerate(votes) for label in votes[key])
    ratings = ratings_of(list(placed), len(votes))
    clusters = [units[row] for row in rows]
    labelled = Labelled("", scores, Scale(), ratings, BINARY, counted, clusters=clusters, threshold=0.5)
    is_clear = ~np.isnan(scores)
    is_settled = ~np.isnan(labelled.votes)
    return {
        "labels": labelled.compared,
        "rows": len(set(np.array(rows)[is_clear & is_settled].tolist())),
        "tied": int(np.count_nonzero(is_clear & ~is_settled)),
        "unclear": int(np.count_nonzero(~is_clear)),
        **agreement_of(labelled, level),
    }


def _counted(counts: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    return {name: np.array([each[name] for each in counts]) for name in NOTHING}


def _verdict(label: Label, records: Records) -> JudgedVerdict | None:
    """What the judge said of a statement; None where it has said several things."""
    lines = records.get(label.row, ())
    known = list(numbers_of(lines[0])) if lines else []
    verdicts = [verdict for verdict in known if verdict.statement == label.statement]
    if not verdicts:
        statements = "; ".join(f"{verdict.statement!r:.80}" for verdict in known[:5] if verdict.statement)
        raise DatasetError(
            f"{label.where}: {label.metric} has no verdict on the statement {label.statement!r:.80} in row "
            f"{label.row}. Its statements there: {statements or 'none'}."
        )
    values = {verdict.value for verdict in verdicts}
    return verdicts[0] if values in ({0.0}, {1.0}) else None


def _score(verdict: JudgedVerdict | None, lines: Sequence[Json]) -> float:
    """The probability of the verdict 1; on the side of the verdict, whatever rounding or a threshold did."""
    if verdict is None:
        return float("nan")
    probability = probabilities_of(lines[0]).get(verdict.statement or "")
    if probability is not None:
        return (float(verdict.value) + probability) / 2
    if verdict.confidence is None:
        return float(verdict.value)
    return max(verdict.confidence, 0.5) if verdict.value else min(1 - verdict.confidence, 0.4999995)


@dataclass(frozen=True)
class Disagreement:
    """A row of which people and the judge say different things.

    Attributes:
        row: its place, from 0, as in `details.jsonl`.
        name: what sentences call it, see `row_name`.
        label: in the unit of labels; the mean of several annotators.
        score: in the unit of the metric.
        drawn: whether the row counts in the figures.
        reasons: what the judge said.
    """

    metric: str
    row: int
    name: str
    question: str | None
    label: float
    score: float
    drawn: bool
    reasons: Sequence[str]


def by_metric(tables: Sequence[LabelTable]) -> dict[str, LabelTable]:
    """The labels of each metric that has any. Raises `DatasetError` for a metric of two tables."""
    tables_of: dict[str, LabelTable] = {}
    for table in tables:
        for metric in dict.fromkeys(label.metric for label in table.labels):
            if metric in tables_of:
                names = f"{tables_of[metric].name} and {table.name}"
                raise DatasetError(f"{names}: both have labels of {metric}. Keep one of them.")
            tables_of[metric] = replace(table, labels=[label for label in table.labels if label.metric == metric])
    return tables_of


def compared(
    run: ScoredRows,
    tables: Sequence[LabelTable],
    scales: Mapping[str, Scale],
    label_scales: Mapping[str, LabelScale],
    thresholds: Mapping[str, float],
    random: bool,
    level: float,
) -> tuple[dict[str, JsonDict], dict[str, JsonDict], list[Disagreement], dict[str, KeptLabels]]:
    """The figures of each metric with labels and thresholds of verifiers (Any: JSON), the worst disagreements, and the
    labels of rows to be kept.

    Args:
        scales: of the scores, by metric.
        label_scales: those that the user has named.
        thresholds: fixed before the labels were seen, by metric.
        random: whether the labelled rows of a table without a draw are a random sample.
        level: of intervals.

    Raises `DatasetError` for labels that cannot be used, `ResultsError` if no metric has enough of them.
    """
    figures = dict[str, JsonDict]()
    found = dict[str, JsonDict]()
    disagreements: list[Disagreement] = []
    kept: dict[str, KeptLabels] = {}
    tables_of = by_metric(tables)
    signatures = run.manifest.get("signatures") or {}
    reporting = reporting_of(run.manifest)
    clusters = [_cluster(sample, reporting) for sample in run.samples] if reporting.cluster else None
    units = units_of(run)
    details = run.records({(label.row, metric) for metric, table in tables_of.items() for label in table.labels})
    for metric, table in tables_of.items():
        labels = table.labels
        records = {row: lines for (row, name), lines in details.items() if name == metric}
        part = figures[metric] = {}
        counter = counter_of(
            metric, reporting.stages.get(metric, "generation"), run.config.get("language") or "english"
        )
        if whole := {label.row for label in labels if label.statement is None}:
            labelled = Labelled(
                metric,
                np.asarray(run.scores[metric], dtype=np.float64),
                scales[metric],
                ratings_of(labels, len(run.samples)),
                scale_of_labels(metric, labels, scales[metric], label_scales),
                _counted([counter.count(row) if n in whole else NOTHING for n, row in enumerate(run.samples)]),
                table.draw,
                random,
                clusters,
                thresholds.get(metric),
                units,
                mean_probabilities(run, metric) if scales[metric].better == "higher" else None,
            )
            if labelled.label_scale.in_score_units and np.array_equal(labelled.means, labelled.scores, equal_nan=True):
                raise DatasetError(
                    f"{table.name}: its labels of {metric} are the scores themselves. Name people's labels."
                )
            part |= figures_of(labelled, level)
            disagreements += [_disagreement(run, labelled, row, records) for row in worst_rows(labelled, SHOWN)]
            if COUNTING in part and parts_of_verifier(signatures.get(metric) or "").get("kind") == BY_WORDS:
                part[COUNTING] |= {ITSELF: True, "word": "does not beat", "decisive": "words", "more_labels": None}
            said = "; ".join(f"{beside.said} ({beside.areas})" for beside in besides(metric, part))
            kept[metric] = replace(to_keep(labelled), counting=said)
        if votes := votes_of(labels):
            counted = _counted([counter.count(run.samples[row], text) for row, text in votes])
            part["statements"] = statements = statement_figures(labels, records, level, units, counted)
            if threshold := threshold_of(run, metric, table, records, level):
                found[metric] = threshold
            if "binary" not in part and "graded" not in part:
                part |= {"reason": statements["reason"]} if "reason" in statements else {}
                part["verdict"] = {
                    **statements["verdict"],
                    "reason": f"statements: {statements['verdict']['reason']}",
                }
    if all("reason" in part for part in figures.values()):
        _refuse_few(run, tables, figures)
    return figures, found, disagreements, kept


def _cluster(sample: Sample, reporting: Reporting) -> str:
    """A row without a cluster is one of its own."""
    cluster = cluster_of(sample, reporting)
    return f"row {sample.index}" if cluster is None else f"cluster {cluster}"


def _disagreement(run: ScoredRows, metric: Labelled, row: int, records: Records) -> Disagreement:
    question = value_of(run.samples[row], QUESTION)
    return Disagreement(
        metric=metric.metric,
        row=row,
        name=row_name(row, run.samples[row].row),
        question=question if isinstance(question, str) else None,
        label=float(metric.means[row]),
        score=float(metric.scores[row]),
        drawn=bool(metric.drawn[row]),
        reasons=few_lines(explained(records.get(row, ()))),
    )


def _refuse_few(run: ScoredRows, tables: Sequence[LabelTable], figures: Mapping[str, Json]) -> NoReturn:
    names = ", ".join(table.name for table in tables)
    counts = "; ".join(f"{metric}: {part['reason']}" for metric, part in figures.items()) or "all labels are blank"
    draw = command("certify", "sheet", run.folder or run.name, "--out", "to_label.xlsx")
    raise ResultsError(f"{names}: too few labels ({counts}). Fill in the rows that are blank, or draw others: {draw}")
