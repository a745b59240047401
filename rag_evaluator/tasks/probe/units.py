"""The units of a probe: a row or a changed row, with one metric to be scored by."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
class Pair:
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


def chosen_rows(samples: Sequence[Sample], size: int, seed: int) -> list[int]:
    """The places of the rows to be probed, ascending; all where there are no more than `size`."""
    places = range(len(samples))
    return sorted(random.Random(seed).sample(places, min(size, len(places))))


def pairs_of(samples: Sequence[Sample], rows: Sequence[int], language: Language, seed: int) -> list[Pair]:
    """What the probes make of some rows: by row, in the order of `PROBES`; a change that is not certain is left out."""
    drawn = chosen_rows(samples, MATERIAL, seed)
    goods = {place: good_side(samples[place]) for place in sorted({*drawn, *rows})}
    material = material_of(list(goods.values()), language, seed)
    return [
        Pair(row, name, goods[row], changed)
        for row in rows
        for name, probe in PROBES.items()
        if all(map(goods[row].has, probe.needs)) and (changed := probe.change(goods[row], material)) is not None
    ]


def probed(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Those of the chosen metrics that some probe concerns."""
    known = {name for probe in PROBES.values() for name in probe.metrics}
    return {name: metric for name, metric in metrics.items() if name in known}


def concerned(probe: Probe, changed: Mapping[str, Any], metrics: Mapping[str, Metric]) -> list[str]:
    """The chosen metrics that a probe concerns, by name: those that read a column which it changes."""
    named = [name for name in probed(metrics) if not probe.metrics or name in probe.metrics]
    return [name for name in named if set(changed) & set(metrics[name].reads)]


def units_of(pairs: Sequence[Pair], metrics: Mapping[str, Metric]) -> list[ProbeUnit]:
    """Both sides of each pair by each metric that it concerns, each once, by row."""
    keys: dict[tuple[int, str, str], Sample] = {}
    for row, side, metric, sample in _sides(pairs, metrics):
        keys.setdefault((row, side, metric), sample)
    return [ProbeUnit(index, *key, sample) for index, (key, sample) in enumerate(keys.items())]


def _sides(pairs: Sequence[Pair], metrics: Mapping[str, Metric]) -> Iterator[tuple[int, str, str, Sample]]:
    for pair in pairs:
        for metric in concerned(PROBES[pair.probe], pair.changed, metrics):
            yield pair.row, GOOD, metric, pair.good
            yield pair.row, pair.probe, metric, pair.bad
