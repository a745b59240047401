"""What a probe found: for each metric and probe how often the judge noticed, and all changed rows for reading."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rag_evaluator.config_sections import ProbeConfig
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.run.task import Record
from rag_evaluator.tasks.probe.table import PROBES
from rag_evaluator.tasks.probe.units import GOOD, Pair, concerned
from rag_evaluator.trust.verdicts import Cell, Pairs, Thresholds, judge_cells

Records = Mapping[tuple[int, str, str], Record]  # (row, side, metric)
ALARM = "same_text"  # the control that gives the false alarms


def report(pairs: Sequence[Pair], metrics: Mapping[str, Metric], records: Records, config: ProbeConfig) -> Any:
    """What `probe.json` says, as JSON."""
    keys = [(metric, probe) for metric in metrics for probe in PROBES]
    by_key: dict[tuple[str, str], list[Pair]] = {key: [] for key in keys}
    for pair in pairs:
        for metric in concerned(PROBES[pair.probe], pair.changed, metrics):
            by_key[metric, pair.probe].append(pair)
    there = [key for key in keys if by_key[key]]
    cells = judge_cells(
        [_pairs(by_key[key], key, metrics[key[0]], records) for key in there],
        [there.index((metric, ALARM)) if (metric, ALARM) in there else None for metric, _ in there],
        Thresholds(config.pairs, config.reliable, config.false_alarms, useless=config.useless),
    )
    figures: dict[str, dict[str, Any]] = {metric: {} for metric in metrics}
    for (metric, probe), cell in zip(there, cells, strict=True):
        figures[metric][probe] = _figures(cell, len(by_key[metric, probe]))
    usable = {probe: sum(pair.probe == probe for pair in pairs) for probe in PROBES}
    return {
        "rows": len({pair.row for pair in pairs}),
        "usable": usable,
        "settings": config.model_dump(),
        "metrics": figures,
    }


def rows_for_reading(
    pairs: Sequence[Pair], metrics: Mapping[str, Metric], records: Records
) -> Iterator[dict[str, Any]]:
    """The lines of `rows.jsonl`: what was changed, and the scores of both sides."""
    for pair in pairs:
        scores = {
            metric: {
                "good": records[pair.row, GOOD, metric].value,
                "changed": records[pair.row, pair.probe, metric].value,
                "reasons": _reasons(pair, metric, records),
            }
            for metric in concerned(PROBES[pair.probe], pair.changed, metrics)
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


def _reasons(pair: Pair, metric: str, records: Records) -> list[str]:
    """Why scores are missing."""
    both = (records[pair.row, side, metric].reason for side in (GOOD, pair.probe))
    return list(dict.fromkeys(reason for reason in both if reason))


def _pairs(pairs: Sequence[Pair], key: tuple[str, str], metric: Metric, records: Records) -> Pairs:
    name, probe = key

    def values(sides: Sequence[str]) -> list[float]:
        found = (records[pair.row, side, name].value for pair, side in zip(pairs, sides, strict=True))
        return [math.nan if value is None else float(value) for value in found]

    return Pairs(
        good=values([GOOD] * len(pairs)),
        changed=values([pair.probe for pair in pairs]),
        units=[str(pair.row) for pair in pairs],
        scale=metric.scale,
        control=PROBES[probe].is_control,
        only_gains=PROBES[probe].expected == "not better",
    )


def _figures(cell: Cell, pairs: int) -> dict[str, Any]:
    share = asdict(cell.share)
    counts = ("falls", "ties", "rises", "floor", "missing", "p", "p_holm", "word")
    shown = ("mean", "ci_low", "ci_high", "ci_level", "ci_method", "n")
    return {
        "pairs": pairs,
        **{name: getattr(cell, name) for name in counts},
        "share": {name: share[name] for name in shown},
    }
