"""The figures as Markdown."""

import os
import platform
from collections.abc import Sequence
from typing import Any

import torch

COLUMNS = (
    "way | samples | seconds | CPU seconds | samples/s | requests/s | tokens generated | prompt tokens computed | "
    "saved | inside forward | peak MB | missing"
).split(" | ")

HEADER = """# Benchmarks

Written by `python -m benchmarks` (`make bench`), which measures both ways in one process: the same model, generated
rows, six metrics and limit of new tokens. Peak memory is what was added while scoring. With random weights no JSON
parses, so the old way's retries are off there: it asks each prompt once.
"""


def render(known: dict[str, Any]) -> str:
    """benchmarks/results.md."""
    parts = [HEADER]
    for name, figures in known.get("ratio", {}).items():
        limit = f" At most {figures['max_new_tokens']} new tokens an answer.\n"
        parts += [f"## Samples a second: {name}\n", origin(figures) + limit]
        parts += [table(COLUMNS, [_way(way) for way in figures["ways"]])]
        old, new = figures["ways"]
        parts += [f"\n**{_ratio(old, new, 'seconds'):.1f} times the samples a second{_by_work(old, new)}.**\n"]
    for name, figures in known.get("growth", {}).items():
        parts += [f"## Growth with the rows: {name}, demo judge\n", origin(figures) + " Whole runs, start included.\n"]
        parts += [table(("rows", "scored", "seconds", "ms a row more", "peak MB"), _growth(figures["runs"])), ""]
    return "\n".join(parts)


def origin(figures: dict[str, Any]) -> str:
    """How, when and where figures were measured."""
    told = f"`{figures['command']}`, {figures['date']}, {figures['machine']}."
    return f"{told} {figures['note']}" if figures.get("note") else told


def _way(way: dict[str, Any]) -> list[str]:
    seconds = way["seconds"]
    total = way["prompt_tokens"]
    return [
        way["way"],
        str(way["samples"]),
        f"{seconds:.1f}",
        f"{way['cpu']:.1f}" if way.get("cpu") else "",
        f"{way['samples'] / seconds:.3f}",
        f"{way['requests'] / seconds:.2f}",
        str(way["generated"]),
        str(way["computed"]),
        f"{1 - way['computed'] / total:.0%}",
        f"{way['inside'] / seconds:.0%}",
        f"{way['peak'] / 2**20:.0f}",
        f"{way['missing']}/{way['scores']}",
    ]


def _ratio(old: dict[str, Any], new: dict[str, Any], clock: str) -> float:
    return (new["samples"] / new[clock]) / (old["samples"] / old[clock])


def _by_work(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The ratio by CPU time, which does not depend on what else the machine did."""
    return f", {_ratio(old, new, 'cpu'):.1f} times by CPU time" if old.get("cpu") and new.get("cpu") else ""


def _growth(runs: list[dict[str, Any]]) -> list[list[str]]:
    lines = []
    for before, run in zip([None, *runs], runs, strict=False):
        more = "" if before is None else _more(before, run)
        lines.append(
            [str(run["rows"]), str(run["scored"]), f"{run['seconds']:.1f}", more, f"{run['peak'] / 2**20:.0f}"]
        )
    return lines


def _more(before: dict[str, Any], run: dict[str, Any]) -> str:
    return f"{1000 * (run['seconds'] - before['seconds']) / (run['rows'] - before['rows']):.1f}"


def machine() -> str:
    """Processor or GPU, cores and torch, for reports."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    threads = f"{torch.get_num_threads()} of {os.cpu_count()} cores"
    return f"{device}, {threads}, torch {torch.__version__}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
