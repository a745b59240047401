"""The units of a probe: a row or a changed row, with one metric to be scored by."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from rag_evaluator.dataset import Sample
from rag_evaluator.files.digest import short_digest
from rag_evaluator.languages import Language
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.tasks.probe.changes import good_side, material_of, with_columns
from rag_evaluator.tasks.probe.table import PROBES, Probe

GOOD = "good"  # the side that is not changed
MATERIAL = 2000  # rows that replacements are drawn from


@dataclass(frozen=True)
class ChangedRow:
    """A row and what a probe made of it.

    Attributes:
        row: its place in the dataset, from 0.
        probe: name of the probe.
        good: the row, its reference as the response where it has one.
        changed: the columns that are other.
    """

    row: int
    probe: str
    good: Sample
    changed: Mapping[str, Any]

    @property
    def about(self) -> Probe:
        """The row of `PROBES`."""
        return PROBES[self.probe]

    @property
    def bad(self) -> Sample:
        """The changed row."""
        return with_columns(self.good, **self.changed)


@dataclass(frozen=True)
class ProbeUnit:
    """A text to be scored by one metric; the good side of a row is one unit for all probes.

    Attributes:
        index: place in the stage.
        row: place of the row in the dataset.
        side: `good`, or the name of the probe.
        metric: canonical name.
        sample: what is scored.
    """

    index: int
    row: int
    side: str
    metric: str
    sample: Sample

    def digest_with(self, metric: Metric, signature: str | None) -> str:
        """16 hexadecimal digits of what the metric reads, of its name and signature."""
        return short_digest(f"{self.sample.digest_of(metric.reads)}\0{self.metric}\0{signature}")


def drawn(samples: Iterable[Sample], size: int, seed: int) -> list[Sample]:
    """Random rows, at most `size`, in random order; the same ones whatever the order of the dataset."""
    places = ((short_digest(f"{seed}\0{sample.digest}"), sample.index, sample) for sample in samples)
    return [sample for *_, sample in heapq.nsmallest(size, places, key=itemgetter(0, 1))]


def pairs_of(samples: Iterable[Sample], size: int, language: Language, seed: int) -> tuple[list[int], list[ChangedRow]]:
    """The places of the rows that are drawn, and what the probes make of them, by row, in the order of `PROBES`.

    A change that is not certain is left out.
    """
    goods = list(map(good_side, drawn(samples, max(size, MATERIAL), seed)))
    material = material_of(goods, language, seed)
    rows = sorted(goods[:size], key=lambda sample: sample.index)
    pairs = [
        ChangedRow(good.index, name, good, changed)
        for good in rows
        for name, probe in PROBES.items()
        if not good.missing(probe.needs) and (changed := probe.change(good, material)) is not None
    ]
    return [good.index for good in rows], pairs


def probed(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Those of the chosen metrics that a probe concerns or the judge scores; of the others controls tell nothing."""
    known = {name for probe in PROBES.values() for name in probe.metrics}
    return {name: metric for name, metric in metrics.items() if name in known or metric.judge}


def concerned(pair: ChangedRow, metrics: Mapping[str, Metric]) -> list[str]:
    """The metrics that a pair concerns, by name: those that read what was changed, and can score the row."""
    named = [name for name in metrics if name in pair.about.metrics or not pair.about.metrics]
    return [name for name in named if _can_score(metrics[name], pair)]


def _can_score(metric: Metric, pair: ChangedRow) -> bool:
    return not set(pair.changed).isdisjoint(metric.reads) and not pair.good.missing(metric.needs(pair.good.has))


def units_of(pairs: Sequence[ChangedRow], metrics: Mapping[str, Metric]) -> list[ProbeUnit]:
    """Both sides of each pair by each metric that it concerns, each once, by row."""
    keys: dict[tuple[int, str, str], Sample] = {}
    for row, side, metric, sample in _sides(pairs, metrics):
        keys.setdefault((row, side, metric), sample)
    return [ProbeUnit(index, *key, sample) for index, (key, sample) in enumerate(keys.items())]


def _sides(pairs: Sequence[ChangedRow], metrics: Mapping[str, Metric]) -> Iterator[tuple[int, str, str, Sample]]:
    for pair in pairs:
        for metric in concerned(pair, metrics):
            yield pair.row, GOOD, metric, pair.good
            yield pair.row, pair.probe, metric, pair.bad
