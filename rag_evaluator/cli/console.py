"""How the command line shows results and status; light, as every command imports it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from rag_evaluator.files import Json, duration, json_text, shortened
from rag_evaluator.resources import command
from rag_evaluator.results import (
    LABELS,
    REASONS_SHOWN,
    Conclusion,
    Grid,
    interval,
    means,
    refusal_parts,
    show,
    toy_sentence,
)

from .watching import hide_bar

if TYPE_CHECKING:
    from rag_evaluator.config import Config
    from rag_evaluator.run import Plan, Status

CHUNKS_SHOWN = 20
FILE_WIDTH = 160  # characters of a table in a file
GROUPS_SHOWN = 20  # per metric and column
LABEL = 60  # characters of a group's value


def parts_of(title: str, summary: Mapping[str, Json]) -> Iterator[Grid | str]:
    """Means with coverage and reasons, what people's labels say of them, groups and pass rates, if there are any."""
    yield from means(title, "metric", summary, "no score", REASONS_SHOWN)
    yield from refusal_parts(summary)
    for name, row in summary.items():
        labels = row.get(LABELS)
        if labels and labels["label_mean"] is not None:
            mean = interval({**labels, "mean": labels["label_mean"]})
            yield f"  {name}: mean label {mean} by {labels['labels']} labels of people"
    columns = {column: len(values) for whole in summary.values() for column, values in whole.get("groups", {}).items()}
    groups = [
        (metric, f"{column}: {shortened(value, LABEL)}", interval(row, "no score"), f"{row['scored']}/{row['count']}")
        for metric, whole in summary.items()
        for column, values in whole.get("groups", {}).items()
        for value, row in _largest(values).items()
    ]
    if groups:
        headings = [("metric", "left"), ("group", "left"), ("mean", "right"), ("coverage", "right")]
        yield Grid("groups", headings, groups)
    for column, count in columns.items():
        if count > GROUPS_SHOWN:
            yield f"  {column}: the {GROUPS_SHOWN} largest of {count} groups; summary.json and scores.xlsx have all"
    rates = [
        (metric, f"{row['pass_rate']['threshold']:g}", interval(row["pass_rate"]))
        for metric, row in summary.items()
        if "pass_rate" in row
    ]
    if rates:
        yield Grid("pass rates", [("metric", "left"), ("threshold", "right"), ("share that passes", "right")], rates)


def _largest(groups: Mapping[str, Json]) -> dict[str, Json]:
    """The groups of most rows, in the order of all."""
    largest = set(sorted(groups, key=lambda value: -groups[value]["count"])[:GROUPS_SHOWN])
    return {value: row for value, row in groups.items() if value in largest}


def print_part(plan: Plan) -> None:
    """That not all rows of the dataset were taken, if so."""
    if plan.part:
        say(f"partial: {plan.rows}")


def print_end(config: Config, judged: bool, wrote: bool, changed: Sequence[str]) -> None:
    """Where the files are; and that the demo judge is a toy, if it has judged."""
    if judged and (toy := toy_sentence(config.judge.model_name, config.language)):
        say(toy)
    if wrote:
        say(f"written to {config.results_dir}")
        return
    say(f"{config.results_dir} was complete already: nothing was scored or written")
    if changed:
        verb = "is" if len(changed) == 1 else "are"
        say(
            f"{', '.join(changed)} {verb} not as written, somebody has changed it. To write all files again: "
            f"{command('merge', config.results_dir)}"
        )


def print_task(
    options: argparse.Namespace,
    config: Config,
    plan: Plan,
    conclusion: Conclusion,
    document: Json,
    parts: Iterable[Grid | str],
    wrote: bool,
    changed: Sequence[str],
    judged: bool = True,
) -> None:
    """What a task says: its one JSON document, or its sentences and other parts."""
    if options.json:
        # `part` as in `manifest.json`, null where all rows were taken
        about = {"name": config.name, "results": str(config.results_dir), "part": dict(plan.part) or None}
        print_json({**about, "conclusion": conclusion.to_json(), **document})
        return
    print_parts([*conclusion.lines(), *parts])
    print_part(plan)
    print_end(config, judged, wrote, changed)


def print_status(status: Status) -> None:
    """What is done, what is missing, how fast, how long still, and by whom."""
    done, total = status.cells
    share = f"{100 * done / total:.1f} %" if total else "-"
    say(f"{status.task}: chunks {status.chunks[0]}/{status.chunks[1]}, {status.noun} {done}/{total} ({share})")
    if status.part is not None:
        say(f"partial: {status.part}")
    if status.missing:
        names = ", ".join(f"{chunk:06d}" for chunk in status.missing[:CHUNKS_SHOWN])
        more = f" and {len(status.missing) - CHUNKS_SHOWN} more" if len(status.missing) > CHUNKS_SHOWN else ""
        say(f"missing: {names}{more}")
        left = status.seconds_left
        say(f"{status.rate:.1f} {status.noun}/s, {duration(left)} left" if left is not None else "nobody works")
    say("results written" if status.merged else "results not written yet")
    if status.workers:
        texts = [(heading, "left") for heading in ("worker", "process")]
        counts = [(heading, "right") for heading in ("chunks", status.noun, f"{status.noun}/s", "last seen")]
        rows = []
        for worker in status.workers:
            seen = time.strftime("%m-%d %H:%M:%S", time.localtime(worker.seen))
            numbers = (str(worker.chunks), str(worker.made), f"{worker.rate:.1f}")
            rows.append((worker.note.worker, worker.process, *numbers, seen, worker.state(status.at)))
        print_table("", [*texts, *counts, ("state", "left")], rows)
    if engines := [worker.note.engine for worker in status.workers if worker.note.engine]:
        from rag_evaluator.judge import slow_reasons  # asyncio and more

        for line in sorted({line for engine in engines for line in slow_reasons(engine)}):
            say(line)


def console() -> Console:
    """Standard output: as wide as the terminal; where it is none, as COLUMNS says, else as tables need."""
    hide_bar()
    narrow = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(width=None if narrow else FILE_WIDTH)


def print_json(value: Any) -> None:  # Any: JSON
    """The one document that a command with `--json` prints."""
    hide_bar()
    print(json_text(value), end="")


def print_table(
    title: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], further: Sequence[str] = ()
) -> None:
    """A table, see `Grid`."""
    print_parts([Grid(title, columns, list(rows), further)])


def print_parts(parts: Iterable[Grid | str]) -> None:
    """Sentences and tables, one below the other."""
    show(parts, console())


def say(text: str) -> None:
    """A line as it is, however long."""
    print_parts([text])
