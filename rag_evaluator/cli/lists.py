"""`rag-evaluator list`: the names that a configuration may use."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evaluator.cli.options import add_json, with_examples

OK = 0
Rows = list[dict[str, Any]]  # JSON


SHOWN: Mapping[str, Sequence[str]] = {"metrics": ("name", "meaning", "columns", "needs")}
"""What the table shows where it has no room for all; `--json` gives everything."""


def add_list_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "list",
        help="the names of metrics, languages, readers and engines",
        description="List what a configuration may name.",
        **with_examples("rag-evaluator list metrics", "rag-evaluator list languages --json"),
    )
    command.add_argument("kind", choices=sorted(LISTS), help="what to list")
    add_json(command)


def list_names(options: argparse.Namespace) -> int:
    """`rag-evaluator list metrics`."""
    from rag_evaluator.cli.console import print_json, print_table

    rows = LISTS[options.kind]()
    if options.json:
        print_json(rows)
        return OK
    headings = SHOWN.get(options.kind, list(rows[0]))
    cells = [[_cell(row[heading]) for heading in headings] for row in rows]
    print_table(options.kind, [(heading, "left") for heading in headings], cells)
    return OK


def metrics() -> Rows:
    """Each metric with what it needs."""
    from rag_evaluator.metrics.table import METRICS

    return [
        {
            "name": name,
            "meaning": metric.about,
            "columns": list(metric.columns),
            "optional": list(metric.optional),
            "needs": [need for need in ("judge", "embeddings") if getattr(metric, need)],
            "range": list(metric.range),
            "better": metric.better,
            "stage": metric.stage,
            "also": list(metric.aliases),
        }
        for name, metric in METRICS.items()
    ]


def languages() -> Rows:
    """Each language that is known by name, and whether the package has prompts in it."""
    from rag_evaluator.languages import LANGUAGES
    from rag_evaluator.prompts.check import languages_in
    from rag_evaluator.prompts.pack import ENGLISH
    from rag_evaluator.resources import packaged

    with_packs = {ENGLISH, *languages_in(packaged("prompts"))}
    return [
        {
            "name": name,
            "native": language.native,
            "codes": list(language.codes),
            "prompts": "come with the package" if name in with_packs else "make them with 'prompts adapt'",
            "also": list(language.aliases),
        }
        for name, language in sorted(LANGUAGES.items(), key=lambda item: (item[0] not in with_packs, item[0]))
    ]


def readers() -> Rows:
    """Each kind of file that a dataset can be."""
    from rag_evaluator.dataset.readers.table import READERS

    return [{"suffix": suffix, "meaning": _first_line(read)} for suffix, read in READERS.items()]


def engines() -> Rows:
    """Each engine that can run a judge."""
    from rag_evaluator.judge.engine.engines import ENGINES

    return [{"name": name, "made_by": path} for name, path in ENGINES.items()]


LISTS: Mapping[str, Callable[[], Rows]] = {
    "metrics": metrics,
    "languages": languages,
    "readers": readers,
    "engines": engines,
}
"""What can be listed."""


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
