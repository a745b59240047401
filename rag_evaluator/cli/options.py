"""What several commands share: exit codes, arguments, examples in the help (a test runs them)."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from rag_evaluator.files import GRACE, JsonDict

OK = 0
FAILED = 1  # nothing could be scored, a rule failed, what was checked has faults
BAD_INPUT = 2
NOT_SETTLED = 3  # worse by a metric's own interval, not after correction; where it was asked for
TRY_AGAIN = 75  # stopped, or not all there: the same command continues
INTERRUPTED = 130
STDOUT = Path("-")  # of `--markdown`: nothing else is on standard output
TEXTS = ("", ".md", ".markdown", ".txt")
ROWS = {"limit": "only the first N rows", "sample": "only N rows, drawn by sample_seed"}


class ExamplesFormatter(argparse.HelpFormatter):
    """Fits paragraphs to the terminal; leaves lines of examples as they are, so that they can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def with_examples(*examples: str, note: str = "") -> JsonDict:
    """What `add_parser` takes for a help that ends with examples, each a command line, and a note after them."""
    lines = ["examples:", *(f"  {example}" for example in examples), *(["", note] if note else [])]
    return {"epilog": "\n".join(lines), "formatter_class": ExamplesFormatter}


def add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="everything as JSON on standard output")


def add_markdown(parser: argparse._ActionsContainer) -> None:
    """Add `--markdown`; without a file standard output holds nothing else."""
    says = "sentences and tables as Markdown: alone, or added to FILE, such as $GITHUB_STEP_SUMMARY"
    parser.add_argument("--markdown", nargs="?", const=STDOUT, type=_markdown_file, metavar="FILE", help=says)


def _markdown_file(text: str) -> Path:
    """Raises `ArgumentTypeError` for a run or a table of scores, which is meant for the command and not for this."""
    path = Path(text)
    if path.is_dir() or path.suffix.lower() not in TEXTS:
        raise argparse.ArgumentTypeError(f"{text} is no file of Markdown, such as summary.md; name the runs before it")
    return path


def add_on(parser: argparse.ArgumentParser) -> None:
    says = "match rows by this column; default: 'id' if every row has its own, else the question"
    parser.add_argument("--on", metavar="COLUMN", help=says)


def add_repeated(parser: argparse.ArgumentParser, flag: str, metavar: str, says: str) -> None:
    """An option that may be given several times; none is an empty list."""
    parser.add_argument(flag, action="append", default=[], metavar=metavar, help=f"{says}; may be repeated")


def add_set(parser: argparse.ArgumentParser) -> None:
    says = "override a key, the value read as YAML; relative paths count from the config file"
    add_repeated(parser, "--set", "KEY=VALUE", says)


def add_rows(parser: argparse.ArgumentParser, *keys: str) -> None:
    """Flags for which rows are taken; each is another name for `--set key=N`."""
    for key in keys or ROWS:
        add_count(parser, f"--{key}", key, f"{ROWS[key]}; a later run with more rows asks nothing twice")


def add_count(parser: argparse.ArgumentParser, flag: str, key: str, meaning: str) -> None:
    """A flag for a number of rows, in place of `--set key=N`."""
    parser.add_argument(flag, dest="set", action="append", type=partial(_count, key), metavar="N", help=meaning)


def _count(key: str, text: str) -> str:
    """`limit=20`. Raises `ArgumentTypeError`: the message names the flag that was typed, and not `--set`."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, received {text!r}")
    return f"{key}={int(text)}"


def add_beginning(parser: argparse.ArgumentParser) -> None:
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--fresh", action="store_true", help="forget what earlier runs left in the results folder")
    start.add_argument(
        "--update", action="store_true", help="the configuration or the rows have changed: keep what still holds"
    )
    parser.add_argument(
        "--worker", metavar="N/COUNT", help="this process is worker N of COUNT, from 0; default: from the environment"
    )
    parser.add_argument(
        "--grace",
        type=float,
        default=GRACE,
        metavar="SECONDS",
        help="time to finish what is in the making after SIGTERM, SIGINT or SIGUSR1; default: %(default)s",
    )
    add_json(parser)


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, help="YAML file; docs/config.md of the project has every key")
    add_set(parser)


def add_task_command(
    commands: Any, name: str, help_text: str, *examples: str, rows: tuple[str, ...] = tuple(ROWS)
) -> argparse.ArgumentParser:
    """Add a command that does something with the rows of a configuration.

    Args:
        examples: what stands behind `config.yaml` in the examples of its help.
        rows: the flags for which rows are taken.
    """
    lines = [f"rag-evaluator {name} config.yaml {more}".rstrip() for more in examples]
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=f"{help_text.capitalize()}.", **with_examples(*lines)
    )
    add_config(command)
    add_rows(command, *rows)
    add_beginning(command)
    return command


def typed_words(options: argparse.Namespace, *without: str) -> list[object]:
    """The configuration and the keys of a command that was typed, for the command to type next.

    Args:
        without: how the keys begin that the next command has its own value of.
    """
    keys = [text for text in options.set if not text.startswith(without)]
    return [options.config, *(word for text in keys for word in ("--set", text))]
