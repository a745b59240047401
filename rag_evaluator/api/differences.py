"""What `gate` measures against a baseline: the difference of each metric, with the rows that are missing put in."""

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np

from rag_evaluator.results.accounted import Accounted, account, named
from rag_evaluator.results.aligned import align, column_of, common_metrics, weights_of
from rag_evaluator.results.caveats import caveats, equal_rows, other_questions
from rag_evaluator.results.matching import keys_of, match
from rag_evaluator.results.saved import SavedScores
from rag_evaluator.trust.estimate import Estimate
from rag_evaluator.trust.gate import Lost, Measured
from rag_evaluator.trust.intervals import difference_interval, tie_warning
from rag_evaluator.trust.permutation import Floats
from rag_evaluator.trust.scale import Scale

LEVEL = 0.95
MOST = 0.5  # share of keys with other questions from which on the rows are not the same
Label = TypeVar("Label")
logger = logging.getLogger(__name__)


class Differences:
    """A run minus its baseline, metric by metric.

    Args:
        scales: metric -> its scale.
        ignore: leave out rows that the baseline scored and the run did not; else each counts as the worst score.
        on, cluster: see `gate`.

    Raises `ResultsError` where there is nothing to compare. What makes the runs differ beside the systems is logged.
    """

    def __init__(
        self,
        baseline: SavedScores,
        run: SavedScores,
        scales: Mapping[str, Scale],
        ignore: bool,
        on: str | None,
        cluster: str | None,
    ) -> None:
        self.baseline, self.run, self.scales, self.ignore = baseline, run, scales, ignore
        self.on, matched = match([baseline, run], on)
        self.matched = matched[0], matched[1]
        self.a, self.b = align([baseline, run], matched, baseline.config.get("weight"), whole=True)
        self.metrics = common_metrics(self.a, self.b, self.on)
        self.cluster = cluster or baseline.config.get("cluster") or run.config.get("cluster")
        self.weights = weights_of(self.a)

    def measured(self) -> dict[str, Measured]:
        """Every metric of the baseline; one that the run does not have cannot pass."""
        for sentence in caveats(self.baseline, self.run, self.matched, self.on, self.metrics):
            logger.warning(sentence)
        if new := [metric for metric in self.run.scores if metric not in self.a.scores]:
            logger.warning("%s has no scores of %s: not compared.", self.baseline.name, ", ".join(new))
        return {
            metric: self._of(metric, self.scales[metric]) if metric in self.b.scores else self._absent(metric)
            for metric in self.a.scores
        }

    @cached_property
    def labels(self) -> Sequence[str | None] | None:
        """The cluster of each key, as the baseline has it; as the run has it where the baseline has no such column."""
        if not self.cluster:
            return None
        has_column = any(key is not None for key in keys_of(self.baseline.samples, self.cluster))
        return column_of(self.a if has_column else self.b, self.cluster)

    @cached_property
    def fault(self) -> str | None:
        """That rows with one key are not the same rows."""
        others, known = other_questions(self.baseline, self.run, self.matched, self.on)
        if others == 0 or others < MOST * known:
            return None
        return (
            f"{others} of {known} rows that were matched by '{self.on}' have other questions in {self.run.name}: these "
            "are not the same rows. Choose another column with --on (on= in Python)"
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        labels = keys_of(self.baseline.samples, self.cluster or self.on)
        equal = equal_rows(self.baseline, labels)
        return () if equal is None else (equal,)

    def _of(self, metric: str, scale: Scale) -> Measured:
        rows = account(self.a, self.b, metric)
        first, second = (np.clip(side.scores[metric], scale.low, scale.high) for side in (self.a, self.b))

        def with_score(score: float) -> Floats:
            return np.asarray(rows.filled(second, score) - first)

        def estimate(values: Floats) -> Estimate:
            return difference_interval(values, scale, LEVEL, self.labels, self.weights)

        worst = scale.low if scale.better == "higher" else scale.high
        values = second - first if self.ignore else with_score(worst)
        lost = None
        if rows.lost and not self.ignore:
            lost = Lost(
                len(rows.lost),
                named(rows.lost),
                estimate(second - first),
                lambda score: estimate(with_score(score)),
            )
        difference = estimate(values)
        sides = ((self.run, second), (self.baseline, first))
        tied = [
            f"{side.name}: {warning}"
            for side, scores in sides
            if (warning := tie_warning(scores, scale, difference, self.weights)) is not None
        ]
        return Measured(
            scale,
            difference,
            rows.coverage,
            of_scored(self.labels, values),
            of_scored(None if self.weights is None else self.weights.tolist(), values),
            lost,
            (*self._missing(rows), *self.notes, *tied),
            self.fault,
        )

    def _missing(self, rows: Accounted) -> list[str]:
        ignored = [f"{len(rows.lost)} missing rows are ignored (--missing ignore)"] if self.ignore else []
        return [*ignored, *rows.sentences()]

    def _absent(self, metric: str) -> Measured:
        fault = f"{self.run.name} has no scores of {metric}, which {self.baseline.name} has"
        nothing = difference_interval([], self.scales[metric], LEVEL)
        return Measured(self.scales[metric], nothing, 0.0, fault=fault)


def of_scored(values: Sequence[Label] | None, scores: Floats) -> list[Label] | None:
    """What belongs to the rows that have a score."""
    if values is None:
        return None
    return [value for value, is_missing in zip(values, np.isnan(scores), strict=True) if not is_missing]
