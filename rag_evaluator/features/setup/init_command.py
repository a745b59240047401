"""`rag-evaluator init my_rows.csv`: a first configuration for a file of rows."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluator.cli import OK, add_json, print_json, print_table, say, with_examples
from rag_evaluator.config import LANGUAGES
from rag_evaluator.dataset import ID
from rag_evaluator.errors import ConfigError, DatasetError, ResultsError
from rag_evaluator.files import JsonDict, check_replaceable, write_text
from rag_evaluator.resources import command, packaged
from rag_evaluator.results import listed

CONFIG = Path("config.yaml")
YES = ("", "y", "yes")
SAMPLE = "sample.jsonl"  # beside the configuration
Rows = list[JsonDict]  # JSON
SHOWN: Mapping[str, Sequence[str]] = {"metrics": ("name", "meaning", "columns", "needs")}
"""What the table shows where it has no room for all; `--json` gives everything."""


def add_init_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "init",
        help="write a first configuration for a file of rows",
        description="Look at the first rows of a file, recognise columns and language, propose metrics, and write a\n"
        "commented configuration. It loads no model.",
        **with_examples(
            "rag-evaluator init my_rows.csv",
            "rag-evaluator init base.xlsx new.xlsx --judge /models/Qwen3-8B      # one configuration for both",
            "rag-evaluator init --sample --out trial/config.yaml",
            "rag-evaluator init my_rows.csv --judge /models/Qwen3-8B --name first --out first.yaml",
            "rag-evaluator init my_rows.csv --columns texto=user_input --language es",
            "rag-evaluator init my_rows.csv --metrics groundedness  # verifier: {model: words} needs no model",
        ),
    )
    command.add_argument(
        "data",
        nargs="*",
        type=Path,
        help="the rows: .csv .tsv .jsonl .json .xlsx .parquet, a `datasets` folder; give one file for each system",
    )
    command.add_argument(
        "--sample",
        action="store_true",
        help=f"take no rows of yours: write those that come with the program to {SAMPLE}",
    )
    command.add_argument(
        "--judge",
        default="demo",
        metavar="MODEL",
        help="folder of the judge's model, a hub id, or the address of a server",
    )
    command.add_argument(
        "--embeddings", default="demo", metavar="MODEL", help="folder of the embedding model, or a hub id"
    )
    command.add_argument("--name", help="the name of the run and of its results folder; default: the file's name")
    command.add_argument("--out", type=Path, default=CONFIG, help="the file to be written; default: %(default)s")
    command.add_argument("--force", action="store_true", help="overwrite the configuration if it is there")
    command.add_argument("--language", help="language of the rows, by name or code; default: recognised from the texts")
    command.add_argument(
        "--metrics", nargs="+", default=[], metavar="METRIC", help="metrics to be set instead of those proposed"
    )
    command.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="NAME=COLUMN",
        help="what columns hold that are not recognised, for instance texto=user_input",
    )


def init(options: argparse.Namespace) -> int:
    """`rag-evaluator init my_rows.csv`."""
    from . import starter
    from .survey import survey

    if bool(options.data) is options.sample:
        raise ConfigError("init: expected a file of rows, or --sample for those of the package, and not both.")
    out = options.out
    check_replaceable(out.expanduser(), None, options.force)
    metrics = options.metrics or (starter.sample_metrics(options.embeddings) if options.sample else [])
    columns = _columns(options.columns)
    files = options.data or [_write_sample(out)]
    wishes = {name: getattr(options, name) for name in ("name", "language", "judge", "embeddings")}
    is_asked = sys.stdin.isatty() and sys.stdout.isatty()
    surveys = (survey(path.expanduser(), columns) for path in files)
    if is_asked:
        columns |= _confirmed(starter.guesses(*surveys))
    try:
        proposal = starter.propose(files[0], out, files[1:], metrics=metrics, columns=columns, **wishes)
    except DatasetError:
        if not is_asked:
            _offer(options, columns, starter.guesses(*surveys))
        raise
    write_text(out.expanduser(), proposal.text)
    next_commands: list[list[object]] = [[out]] if options.sample else [["check", out], [out, "--limit", "10"]]
    if more := files[1:]:
        results = out.parent / starter.RESULTS
        names = [proposal.name]
        next_commands = [[out]]
        for path in more:
            names.append(starter.run_name(path, results, names))
            keys = {"dataset": starter.dataset_path(path, out), "name": names[-1]}
            words = [word for key, text in keys.items() for word in ("--set", f"{key}={starter.scalar(text)}")]
            next_commands.append([out, *words, "--against", results / proposal.name])
    _print_found(proposal, files)
    if not is_asked:
        _offer(options, columns, starter.guesses(proposal.survey, *proposal.others))
    say(f"written to {out}. Look at it, then:")
    for following in next_commands:
        say(f"  {command(*following)}")
    return OK


def _offer(options: argparse.Namespace, columns: Mapping[str, str], guesses: Mapping[str, str]) -> None:
    """Say with which command the guesses are used."""
    if guesses:
        named = [f"{name}={column}" for name, column in {**columns, **guesses}.items()]
        whole = command(*options.words, "--columns", *named, *([] if options.force else ["--force"]))
        say(f"{listed(map(repr, guesses))} may be used, too: {whole}")


def _confirmed(guesses: Mapping[str, str]) -> dict[str, str]:
    """The guesses with which the user agrees."""
    from .starter import RECOGNISED

    confirmed = {}
    for name, column in guesses.items():
        try:
            answer = input(f"Use {name!r} as {RECOGNISED[column]}? [Y/n] ")
        except EOFError:
            break
        if answer.strip().casefold() in YES:
            confirmed[name] = column
    return confirmed


def _write_sample(out: Path) -> Path:
    """The rows of the package in a file beside the configuration, which may be there already."""
    path = out.with_name(SAMPLE)
    text = packaged("examples/dataset.jsonl").read_text(encoding="utf-8")
    whole = path.expanduser()
    if whole.exists() and not (whole.is_file() and whole.read_bytes() == text.encode()):
        raise ResultsError(
            f"{path}: is there already, with other rows, and is not overwritten. Choose another folder with --out."
        )
    write_text(whole, text)
    return path


def _columns(texts: Sequence[str]) -> dict[str, str]:
    """The `columns` of the configuration, from `NAME=COLUMN`."""
    for text in texts:
        if not all(text.partition("=")):
            raise ConfigError(f"--columns {text}: expected NAME=COLUMN, for instance --columns texto=user_input.")
    return dict(text.partition("=")[::2] for text in texts)


def _print_found(proposal: Any, files: Sequence[Path]) -> None:
    """What was found in the rows. Any: `Proposal`, imported late."""
    for path, surveyed in zip(files, (proposal.survey, *proposal.others), strict=True):
        rows = f"{len(surveyed.samples)} rows" if surveyed.is_all else f"the first {len(surveyed.samples)} rows"
        which = f" of {path.name}" if len(files) > 1 else ""
        names = {**surveyed.names, **{to: [name] for name, to in surveyed.columns.items() if to == ID}}
        columns = [column if own == [column] else f"{', '.join(own)} = {column}" for column, own in names.items()]
        say(f"read {rows}{which}: {', '.join(columns)}")
        if surveyed.unused:
            say(f"not used: {', '.join(surveyed.unused)}")
    say(f"language: {proposal.language}")
    say(f"metrics: {', '.join(proposal.metrics)}")
    for warning in proposal.warnings:
        say(f"note: {warning}")


def add_list_command(commands: Any) -> None:
    """Add the command to the parser. Any: argparse has no public name for a group of subcommands."""
    command = commands.add_parser(
        "list",
        help="the names of metrics and languages",
        description="List what a configuration may name.",
        **with_examples("rag-evaluator list metrics", "rag-evaluator list languages --json"),
    )
    command.add_argument("kind", choices=sorted(LISTS), help="what to list")
    add_json(command)


def list_names(options: argparse.Namespace) -> int:
    """`rag-evaluator list metrics`."""
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
    from rag_evaluator.metrics import METRICS

    return [
        {
            "name": name,
            "meaning": metric.about,
            "columns": list(metric.columns),
            "optional": list(metric.optional),
            "needs": [need for need in ("judge", "embeddings", "verifier") if getattr(metric, need)],
            "range": [metric.scale.low, metric.scale.high],
            "better": metric.scale.better,
            "stage": metric.component,
            "also": list(metric.aliases),
        }
        for name, metric in METRICS.items()
    ]


def languages() -> Rows:
    """Each language that is known by name, and whether the package has prompts in it."""
    from rag_evaluator.prompts import ENGLISH, languages_in

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


LISTS: Mapping[str, Callable[[], Rows]] = {"metrics": metrics, "languages": languages}
"""What can be listed."""


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
