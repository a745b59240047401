"""What a probe found: for each metric and probe how often the judge noticed, and all changed rows for reading."""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from rag_evaluator.config import Language
from rag_evaluator.dataset import Sample
from rag_evaluator.files import Json, JsonDict, short_digest
from rag_evaluator.metrics import Metric, Metrics, RowCounter
from rag_evaluator.results import Grid, interval
from rag_evaluator.run import Record
from rag_evaluator.statistics import Scale

from . import changes
from .changes import Material, good_side
from .control import AS_MANY, control_of
from .feature import ProbeConfig
from .injection import (
    PLACES,
    Injection,
    injection_report,
    injections_of,
    steerable,
)
from .orders import INJECTED, injection_grid
from .verdicts import CONTINUOUS_TOLERANCE, LIMITS, Expected, Pairs, judge_cells

SAME_TEXT = "same_text"
SUPPORT = ("faithfulness", "response_groundedness", "groundedness")
ANSWERS = (
    "answer_correctness",
    "factual_correctness",
    "answer_rubric",
    "answer_accuracy",
    "reference_coverage",
    "reference_agreement",
)
STEERABLE = (*SUPPORT, *ANSWERS)  # whose scores an order in the texts might move
PRECISION = ("context_precision_with_reference", "context_precision_without_reference")
RANKING = ("retrieval_ndcg", "retrieval_map", "retrieval_mrr")
GOOD = "good"  # the side that is not changed
MATERIAL = 2000  # rows that replacements are drawn from
Records = Mapping[tuple[int, str, str], Record]  # (row, side, metric)
SMALL_CHANGES = {"answer_correctness": CONTINUOUS_TOLERANCE / 4}
"""Judged scores that an embedding model has a part in, so that they change a little with every sign."""
COLUMNS = (
    ("metric", "left"),
    ("probe", "left"),
    ("worse/same/better", "right"),
    ("floor", "right"),
    ("missing", "right"),
    ("share", "right"),
    (f"above {SAME_TEXT}", "right"),
    ("counting words", "right"),
    ("", "left"),
)
NARROW = ("worse/same/better", "floor", "missing", f"above {SAME_TEXT}")  # without these in a narrow terminal


@dataclass(frozen=True)
class Probe:
    """A row of `PROBES`.

    Attributes:
        change: what it makes of a row: the columns that are other, or None where the change is not certain.
        needs: canonical columns without which a row cannot be changed.
        metrics: those that it concerns; empty: all that read a column which it changes.
        meaning: what is changed, for reports.
        expected: what must become of the score: worse for a probe; equal or not better for a control.
    """

    change: Callable[[Sample, Material], Json | None]
    needs: Sequence[str]
    metrics: Sequence[str]
    meaning: str
    expected: Expected = "worse"


PROBES: Mapping[str, Probe] = {
    "other_answer": Probe(
        changes.other_answer,
        ("response",),
        ("answer_relevancy", "semantic_similarity", "faithfulness", "groundedness", *ANSWERS),
        "the response of another row",
    ),
    "changed_number": Probe(
        partial(changes.changed_fact, "number"),
        ("response",),
        (*SUPPORT, *ANSWERS),
        "a number in the response is another one of the dataset",
    ),
    "changed_name": Probe(
        partial(changes.changed_fact, "name"),
        ("response",),
        (*SUPPORT, *ANSWERS),
        "a name in the response is another one of the dataset",
    ),
    "contradiction": Probe(
        changes.contradiction,
        ("response", "retrieved_contexts"),
        SUPPORT,
        "the response goes on with a sentence of the contexts in which a number or name is wrong",
    ),
    "other_contexts": Probe(
        changes.other_contexts,
        ("response", "retrieved_contexts"),
        (
            *SUPPORT,
            *PRECISION,
            *RANKING,
            "context_recall",
            "context_coverage",
            "context_relevance",
            "context_relevancy",
            "retrieval_precision",
            "retrieval_recall",
        ),
        "the contexts of another row",
    ),
    AS_MANY: Probe(
        changes.as_many_contexts,
        ("response", "retrieved_contexts"),
        ("groundedness", "context_coverage"),
        "as many contexts of other rows, none of which holds the answer",
    ),
    "dropped_context": Probe(
        changes.dropped_context,
        ("reference", "retrieved_contexts"),
        ("context_recall", "context_coverage", "retrieval_recall"),
        "without the only context that holds the reference",
    ),
    "shuffled_contexts": Probe(
        changes.shuffled_contexts,
        ("reference_contexts", "retrieved_contexts"),
        (*PRECISION, *RANKING),
        "the contexts that should be found come last: mostly a test of the formula",
    ),
    "evasive": Probe(changes.evasive, ("response",), ("answer_relevancy",), "an answer that says nothing"),
    SAME_TEXT: Probe(changes.same_text, ("response",), (), "other quotes and spaces", "equal"),
    "longer": Probe(changes.longer, ("response",), ANSWERS, "the response said twice", "not better"),
}
"""Name -> probe, in the order of the report."""


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
    changed: Json

    @property
    def bad(self) -> Sample:
        """The changed row."""
        return replace(self.good, columns={**self.good.columns, **self.changed})


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


def drawn(samples: Iterable[Sample], size: int, seed: int) -> list[Sample]:
    """Random rows, at most `size`, in random order; the same ones whatever the order of the dataset."""
    places = ((short_digest(f"{seed}\0{sample.digest}"), sample.index, sample) for sample in samples)
    return [sample for *_, sample in heapq.nsmallest(size, places, key=itemgetter(0, 1))]


class Drawn(NamedTuple):
    """The places of the rows that are drawn, and what is made of them: by probes, and with texts put into them."""

    rows: list[int]
    pairs: list[ChangedRow]
    injections: list[Injection]


def changed(samples: Iterable[Sample], size: int, language: Language, seed: int) -> Drawn:
    """Draw rows and change them: by row, in the order of `PROBES`. A change that is not certain is left out."""
    goods = list(map(good_side, drawn(samples, max(size, MATERIAL), seed)))
    material = Material(goods, language, seed)
    rows = sorted(goods[:size], key=lambda sample: sample.index)
    pairs = [
        ChangedRow(good.index, name, good, columns)
        for good in rows
        for name, probe in PROBES.items()
        if not good.missing(probe.needs) and (columns := probe.change(good, material)) is not None
    ]
    return Drawn([good.index for good in rows], pairs, injections_of(rows, material))


def probed(metrics: Metrics) -> dict[str, Metric]:
    """Those of the chosen metrics that a probe concerns or the judge scores; of the others controls tell nothing."""
    known = {name for probe in PROBES.values() for name in probe.metrics}
    return {name: metric for name, metric in metrics.items() if name in known or metric.judge}


def concerned(pair: ChangedRow, metrics: Metrics) -> list[str]:
    """The metrics that a pair concerns, by name: those that read what was changed, and can score the row."""
    names = PROBES[pair.probe].metrics or metrics
    return [
        name
        for name, metric in metrics.items()
        if name in names
        and not set(pair.changed).isdisjoint(metric.reads)
        and not pair.good.missing(metric.needs(pair.good.has))
    ]


def units_of(drawn_rows: Drawn, metrics: Metrics) -> list[ProbeUnit]:
    """Both sides of each pair by each metric that it concerns, each once, by row; then the rows with injected texts."""
    keys: dict[tuple[int, str, str], Sample] = {}
    for pair in drawn_rows.pairs:
        for metric in concerned(pair, metrics):
            keys.setdefault((pair.row, GOOD, metric), pair.good)
            keys[pair.row, pair.probe, metric] = pair.bad
    for injection in drawn_rows.injections:
        for metric in steerable(injection, metrics, STEERABLE):
            keys[injection.row, injection.side, metric] = injection.sample
    return [ProbeUnit(index, *key, sample) for index, (key, sample) in enumerate(keys.items())]


def report(drawn_rows: Drawn, metrics: Metrics, records: Records, settings: ProbeConfig, language: Language) -> Any:
    """What `probe.json` says of pairs, as JSON: `probes`, `settings` and, per metric and probe, the figures.

    `counting_words` of a cell is what `judge_cells` says of counted words in place of scores, see `RowCounter`.
    `control` has the metrics of a verifier, see `control_of`, `injected_instruction` those that orders might steer, see
    `injection_report`; each is there only if there is one.
    """
    pairs = drawn_rows.pairs
    by_cell: dict[tuple[str, str], list[ChangedRow]] = {(metric, probe): [] for metric in metrics for probe in PROBES}
    for pair in pairs:
        for metric in concerned(pair, metrics):
            by_cell[metric, pair.probe].append(pair)
    keys = [key for key, pairs_of_cell in by_cell.items() if pairs_of_cell]
    judged = [_pairs(by_cell[key], key, metrics[key[0]], records) for key in keys]
    counters = {name: RowCounter(metric, language.name) for name, metric in metrics.items()}
    words = [_words(by_cell[key], cell, counters[key[0]]) for key, cell in zip(keys, judged, strict=True)]
    figures: dict[str, JsonDict] = {}
    for (metric, probe), cell, of_words in zip(keys, judge_cells(judged), judge_cells(words), strict=True):
        figures.setdefault(metric, {})[probe] = {**cell, "counting_words": of_words}
    control = {}
    for metric in metrics:
        rows = [
            (str(pair.row), records[pair.row, GOOD, metric], records[pair.row, AS_MANY, metric])
            for pair in by_cell[metric, AS_MANY]
        ]
        if sides := control_of(rows):
            control[metric] = sides
    counts = Counter(pair.probe for pair in pairs)
    used = {probe for _, probe in keys}
    about = {
        name: {"rows": counts[name], "change": probe.meaning, "expected": probe.expected}
        for name, probe in PROBES.items()
        if name in used
    }
    whole = {"probes": about, "settings": {**settings.model_dump(), **LIMITS}, "metrics": figures}
    injected = injection_report(drawn_rows.injections, metrics, STEERABLE, records)
    return {**whole, **({"control": control} if control else {}), **({INJECTED: injected} if injected else {})}


def rows_for_reading(drawn_rows: Drawn, metrics: Metrics, records: Records) -> Iterator[JsonDict]:
    """The lines of `rows.jsonl`: what was changed with both sides' scores, then what was put in with its scores."""
    for pair in drawn_rows.pairs:
        scores = {}
        for metric in concerned(pair, metrics):
            good, changed = (records[pair.row, side, metric] for side in (GOOD, pair.probe))
            reasons = list(dict.fromkeys(reason for reason in (good.reason, changed.reason) if reason))
            scores[metric] = {"good": good.value, "changed": changed.value, "reasons": reasons}
        if pair.probe == AS_MANY and not scores:  # only for metrics of a verifier
            continue
        yield {
            "row": pair.row,
            "probe": pair.probe,
            "meaning": PROBES[pair.probe].meaning,
            "question": pair.good.columns.get("user_input"),
            "good": {column: pair.good.columns.get(column) for column in pair.changed},
            "changed": dict(pair.changed),
            "scores": scores,
        }
    for injection in drawn_rows.injections:
        if names := steerable(injection, metrics, STEERABLE):
            of = {name: records[injection.row, injection.side, name] for name in names}
            yield {
                "row": injection.row,
                "probe": INJECTED,
                "kind": injection.kind,
                "place": PLACES[injection.column],
                "direction": injection.direction,
                "text": injection.text,
                "question": injection.sample.columns.get("user_input"),
                "response": injection.sample.columns["response"],
                "scores": {name: {"value": record.value, "reason": record.reason} for name, record in of.items()},
            }


def _pairs(pairs: Sequence[ChangedRow], key: tuple[str, str], metric: Metric, records: Records) -> Pairs:
    name, probe = key
    scale = metric.scale
    if scale.kind == "continuous":
        scale = scale._replace(low=max(scale.low, 0.0))  # of cosines 0 is the worst that texts get
    good, changed = (
        [math.nan if (value := records[pair.row, side, name].value) is None else float(value) for pair in pairs]
        for side in (GOOD, probe)
    )
    units = [str(pair.row) for pair in pairs]
    expected = PROBES[probe].expected
    return Pairs(good, changed, units, scale, expected, SMALL_CHANGES.get(name), name)


def _words(pairs: Sequence[ChangedRow], cell: Pairs, counter: RowCounter) -> Pairs:
    """The same pairs with the share of counted words in place of scores."""
    good, changed = (
        [counter.count(side(pair))["words"] for pair in pairs] for side in (attrgetter("good"), attrgetter("bad"))
    )
    return replace(cell, good=good, changed=changed, scale=Scale(), tolerance=None)


def probe_overview(report: Json, name: str = "") -> Iterator[Grid | str]:
    """What the judge notices. Any: JSON, as in `probe.json`.

    Args:
        name: of the run.
    """
    title = f"{name}: what" if name else "what"
    rows = [
        ["" if position else metric, probe, *_cells(cell)]
        for metric, cells in report["metrics"].items()
        for position, (probe, cell) in enumerate(cells.items())
    ]
    yield Grid(f"{title} is noticed, {report['rows']} rows", COLUMNS, rows, NARROW)
    yield "share: of a probe, pairs whose changed side is worse, with half of the same ones; of a control, false alarms"
    yield "counting words: the same share where counted words take the place of scores; it costs nothing"
    yield f"above {SAME_TEXT}: the share less that of {SAME_TEXT}, over the same rows"
    if INJECTED in report:
        yield injection_grid(report[INJECTED])
    for probe, about in report["probes"].items():
        if about["rows"] < report["rows"]:
            yield f"{probe}: {about['rows']} of {report['rows']} rows can be changed with certainty"
    yield from report["notes"]


def _cells(cell: Json) -> list[str]:
    ways = "/".join(str(cell[way]) for way in ("falls", "ties", "rises"))
    counts = [str(cell[name] or "") for name in ("floor", "missing")]
    above = interval(cell["above_control"]) if "above_control" in cell else ""
    return [
        ways,
        *counts,
        interval(cell["share"]),
        above,
        interval(cell["counting_words"]["share"]),
        cell["word"] or "control",
    ]
