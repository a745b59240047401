"""Judges without labels: what each noticed in the same changed rows, and how far they agree with each other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rag_evaluator.files import Json, JsonDict
from rag_evaluator.results import Grid, interval
from rag_evaluator.run import Table, journals_in
from rag_evaluator.statistics import krippendorff_alpha
from rag_evaluator.tasks import stage_of

from .candidates import NamedJudge

TASK = "probe"
NOTICED = ("reliable", "weak")
SIDES = ("good", "changed")


def probed_by(candidates: Sequence[NamedJudge]) -> JsonDict:
    """What `judges.json` says of the probes of all judges.

    Returns:
        `judges`: judge -> metric -> change -> figures, as in its `probe.json`.
        `flagged`: judge -> metric -> share of scores in which its work is flagged.
        `alpha`: metric -> Krippendorff's alpha of the judges' scores of the same texts; None for one judge.
    """
    folders = {candidate.name: candidate.config.results_dir for candidate in candidates}
    probes = {name: json.loads((folder / "probe" / "probe.json").read_bytes()) for name, folder in folders.items()}
    scores = {name: _scores(folder / "probe" / "rows.jsonl") for name, folder in folders.items()}
    metrics = list(dict.fromkeys(metric for probe in probes.values() for metric in probe["metrics"]))
    return {
        "judges": {name: probe["metrics"] for name, probe in probes.items()},
        "flagged": {name: _flagged(folder) for name, folder in folders.items()},
        "alpha": {metric: _alpha([rows.get(metric, {}) for rows in scores.values()]) for metric in metrics},
    }


def _scores(path: Path) -> dict[str, dict[tuple[int, str], float]]:
    """Metric -> (row, text) -> score; the good text of a row is there once."""
    scores: dict[str, dict[tuple[int, str], float]] = {}
    for line in map(json.loads, path.read_bytes().splitlines()):
        for metric, pair in line["scores"].items() if SIDES[0] in line else ():  # else a text was put into the row
            for side in SIDES:
                key = line["row"], side if side == SIDES[0] else line["probe"]
                scores.setdefault(metric, {})[key] = np.nan if pair[side] is None else float(pair[side])
    return scores


def _alpha(sides: Sequence[Mapping[tuple[int, str], float]]) -> JsonDict | None:
    keys = sorted({key for side in sides for key in side})
    return krippendorff_alpha([[side.get(key, np.nan) for key in keys] for side in sides]) if len(sides) > 1 else None


def _flagged(folder: Path) -> dict[str, float]:
    """Metric -> share of its scores in which the judge's work is flagged."""
    [journal] = (journal for journal in journals_in(folder) if journal.plan.task == TASK)
    counts: dict[str, list[bool]] = {}
    for unit, records in Table(journal, stage_of(journal)):
        for record in next(iter(records.values())):
            counts.setdefault(unit.metric, []).append(bool(record.details.get("flags")))
    return {metric: float(np.mean(values)) for metric, values in counts.items()}


def probe_sentences(figures: Json) -> Iterator[str]:
    """How many kinds of change each judge notices, the most first, and how far the judges agree."""
    for metric, alpha in figures["alpha"].items():
        noticed = {
            name: [change for change, cell in metrics.get(metric, {}).items() if cell["word"] in NOTICED]
            for name, metrics in figures["judges"].items()
        }
        kinds = max(
            sum(cell["word"] is not None for cell in metrics.get(metric, {}).values())
            for metrics in figures["judges"].values()
        )
        order = sorted(noticed, key=lambda name: -len(noticed[name]))
        counts = ", ".join(f"{name} {len(noticed[name])}" for name in order)
        agreed = "" if alpha is None else f" {_agreed(alpha)}"
        yield f"Kinds of change that are noticed in {metric}, of {kinds}: {counts}.{agreed}"
    yield "Without labels nothing says which judge agrees with people: judges that agree can share a fault."


def _agreed(alpha: Json) -> str:
    if alpha["alpha"] is None:
        return f"How far the judges agree is not known: {alpha['reason']}."
    return f"The judges agree with Krippendorff's alpha {alpha['alpha']:.2f} in {alpha['units']} texts."


def probe_grid(figures: Json, seconds: Mapping[str, float]) -> Grid:
    """A line for each metric, kind of change and judge: how much more often it falls than with the control."""
    headings = ("metric", "change", "judge")
    numbers = ("share worse", "above same_text", "counting words", "missing", "flagged", "s a text")
    rows = [
        [
            metric,
            change,
            name,
            interval(cell["share"]),
            interval(cell["above_control"]) if "above_control" in cell else "",
            interval(cell["counting_words"]["share"]),
            str(cell["missing"]),
            f"{figures['flagged'][name].get(metric, 0.0):.0%}",
            f"{seconds[name]:.2f}" if name in seconds else "-",
            cell["word"] or "control",
        ]
        for metric in figures["alpha"]
        for change in dict.fromkeys(change for side in figures["judges"].values() for change in side.get(metric, {}))
        for name, metrics in figures["judges"].items()
        if (cell := metrics.get(metric, {}).get(change))
    ]
    columns = [*((heading, "left") for heading in headings), *((number, "right") for number in numbers), ("", "left")]
    return Grid("what is noticed without labels", columns, rows, ("missing", "flagged", "s a text"))
