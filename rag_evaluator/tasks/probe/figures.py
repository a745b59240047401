"""What a probe found: for each metric and probe how often the judge noticed, and all changed rows for reading."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rag_evaluator.config_sections import ProbeConfig
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.results.overview import Grid, interval
from rag_evaluator.run.task import Record
from rag_evaluator.tasks.probe.table import PROBES
from rag_evaluator.tasks.probe.units import GOOD, ChangedRow, concerned
from rag_evaluator.trust.scale import Scale
from rag_evaluator.trust.verdicts import CONTINUOUS_TOLERANCE, Pairs, ProbeCell, Thresholds, judge_cells

Records = Mapping[tuple[int, str, str], Record]  # (row, side, metric)
SMALL_CHANGES = {"answer_correctness": CONTINUOUS_TOLERANCE / 4}
"""Judged scores that an embedding model has a part in, so that they change a little with every sign."""


def report(pairs: Sequence[ChangedRow], metrics: Mapping[str, Metric], records: Records, settings: ProbeConfig) -> Any:
    """What `probe.json` says of pairs, as JSON: `probes`, `settings` and, per metric and probe, the figures."""
    by_cell: dict[tuple[str, str], list[ChangedRow]] = {(metric, probe): [] for metric in metrics for probe in PROBES}
    for pair in pairs:
        for metric in concerned(pair, metrics):
            by_cell[metric, pair.probe].append(pair)
    keys = [key for key, pairs_of_cell in by_cell.items() if pairs_of_cell]
    cells = _judged([_pairs(by_cell[key], key, metrics[key[0]], records) for key in keys], keys, settings)
    figures: dict[str, dict[str, Any]] = {}
    for (metric, probe), cell in zip(keys, cells, strict=True):
        figures.setdefault(metric, {})[probe] = _figures(cell, len(by_cell[metric, probe]))
    used = dict.fromkeys(probe for probe in PROBES for _, other in keys if other == probe)
    return {
        "probes": {probe: {"rows": sum(pair.probe == probe for pair in pairs), **_about(probe)} for probe in used},
        "settings": settings.model_dump(),
        "metrics": figures,
    }


def _about(probe: str) -> dict[str, str]:
    return {"change": PROBES[probe].meaning, "expected": PROBES[probe].expected}


def _judged(cells: Sequence[Pairs], keys: Sequence[tuple[str, str]], settings: ProbeConfig) -> list[ProbeCell]:
    """The cells with their words; the false alarms of a metric are those of the control that it does worst in."""
    limits = Thresholds(settings.pairs, settings.reliable, settings.false_alarms, useless=settings.useless)
    controls = [place for place, cell in enumerate(cells) if cell.control]
    verdicts = judge_cells([cells[place] for place in controls], [None] * len(controls), limits)
    worst: dict[str, tuple[float, int]] = {}
    for place, cell in zip(controls, verdicts, strict=True):
        metric, high = keys[place][0], cell.share.ci_high
        worst[metric] = max(worst.get(metric, (0.0, place)), (1.0 if high is None else high, place))
    return judge_cells(cells, [worst[metric][1] if metric in worst else None for metric, _ in keys], limits)


def rows_for_reading(
    pairs: Sequence[ChangedRow], metrics: Mapping[str, Metric], records: Records
) -> Iterator[dict[str, Any]]:
    """The lines of `rows.jsonl`: what was changed, and the scores of both sides."""
    for pair in pairs:
        scores = {
            metric: {
                "good": records[pair.row, GOOD, metric].value,
                "changed": records[pair.row, pair.probe, metric].value,
                "reasons": _reasons(pair, metric, records),
            }
            for metric in concerned(pair, metrics)
        }
        yield {
            "row": pair.row,
            "probe": pair.probe,
            "meaning": PROBES[pair.probe].meaning,
            "question": pair.good.columns.get("user_input"),
            "good": {column: pair.good.columns.get(column) for column in pair.changed},
            "changed": dict(pair.changed),
            "scores": scores,
        }


def _reasons(pair: ChangedRow, metric: str, records: Records) -> list[str]:
    """Why scores are missing."""
    both = (records[pair.row, side, metric].reason for side in (GOOD, pair.probe))
    return list(dict.fromkeys(reason for reason in both if reason))


def _pairs(pairs: Sequence[ChangedRow], key: tuple[str, str], metric: Metric, records: Records) -> Pairs:
    name, probe = key

    def values(sides: Sequence[str]) -> list[float]:
        scores = (records[pair.row, side, name].value for pair, side in zip(pairs, sides, strict=True))
        return [math.nan if value is None else float(value) for value in scores]

    return Pairs(
        good=values([GOOD] * len(pairs)),
        changed=values([pair.probe for pair in pairs]),
        units=[str(pair.row) for pair in pairs],
        scale=_scale(metric),
        control=PROBES[probe].is_control,
        only_gains=PROBES[probe].expected == "not better",
        tolerance=SMALL_CHANGES.get(name),
    )


def _scale(metric: Metric) -> Scale:
    """The scale of a metric, without the lower half of cosines: 0 is the worst that texts get."""
    scale = metric.scale
    return scale._replace(low=max(scale.low, 0.0)) if scale.kind == "continuous" else scale


def _figures(cell: ProbeCell, pairs: int) -> dict[str, Any]:
    share = asdict(cell.share)
    counts = ("falls", "ties", "rises", "floor", "missing", "p", "p_holm", "word")
    shown = ("mean", "ci_low", "ci_high", "ci_level", "ci_method", "n")
    return {
        "pairs": pairs,
        **{name: getattr(cell, name) for name in counts},
        "share": {name: share[name] for name in shown},
    }


COLUMNS = (
    ("metric", "left"),
    ("probe", "left"),
    ("worse/same/better", "right"),
    ("floor", "right"),
    ("missing", "right"),
    ("share", "right"),
    ("", "left"),
)


def probe_overview(report: Mapping[str, Any], name: str = "") -> Iterator[Grid | str]:
    """What the judge notices. Any: JSON, as in `probe.json`.

    Args:
        name: of the run.
    """
    title = f"{name}: what" if name else "what"
    yield Grid(f"{title} the judge notices, {report['rows']} rows", COLUMNS, list(_rows(report["metrics"])))
    yield "share: of a probe, pairs whose changed side is worse, with half of the same ones; of a control, false alarms"
    yield from _worst(report["metrics"])
    few = {probe: about["rows"] for probe, about in report["probes"].items() if about["rows"] < report["rows"]}
    for probe, count in few.items():
        yield f"{probe}: {count} of {report['rows']} rows can be changed with certainty"
    yield from report["notes"]


def _worst(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What to do about cells in which every score is the worst."""
    for metric, cells in metrics.items():
        probes = [probe for probe, cell in cells.items() if cell["word"] == "always worst"]
        if probes:
            yield (
                f"{metric}: the judge gave the worst score to every text, the good ones too ({', '.join(probes)}); a "
                "larger sample does not help. Read some of its answers, then change the judge or its prompts"
            )


def _rows(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[list[str]]:
    for metric, cells in metrics.items():
        for position, (probe, cell) in enumerate(cells.items()):
            ways = "/".join(str(cell[way]) for way in ("falls", "ties", "rises"))
            counts = [str(cell[name]) if cell[name] else "" for name in ("floor", "missing")]
            first = "" if position else metric
            yield [first, probe, ways, *counts, interval(cell["share"]), cell["word"] or "control"]
