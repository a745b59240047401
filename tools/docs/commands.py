"""The reference of the commands, made of the argument parser: usage, arguments and examples of each command."""

import argparse
import re
from collections.abc import Iterator

from rag_evaluator.cli.arguments import parser_of_commands

HEAD = """# Commands

Every command with its arguments. This page is made of the parser that reads your command line;
`rag-evaluator COMMAND --help` says the same. `rag-evaluator config.yaml` is short for
`rag-evaluator evaluate config.yaml`.
"""
PLACEHOLDER = re.compile(r"(<[\w/-]+>)")


def parsers(
    parser: argparse.ArgumentParser | None = None, name: str = "rag-evaluator"
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command's name and parser, subcommands after the command they belong to; the program's own is first."""
    parser = parser or parser_of_commands()
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from parsers(command, f"{name} {word}")


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments of a command, without --help and without subcommands."""
    return [
        action
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        and action.help != argparse.SUPPRESS
    ]


def page() -> str:
    """The page in Markdown."""
    return "\n".join([HEAD, *(_shown(name, parser) for name, parser in parsers())])


def _shown(name: str, parser: argparse.ArgumentParser) -> str:
    lines = [f"## {name}", "", *_described(parser.description or ""), "", "```text", _usage(name, parser), "```", ""]
    rows = [f"| {_names(action)} | {_cell(_help(parser, action))} |" for action in actions(parser)]
    if rows:
        lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    if parser.epilog:
        lines += ["```text", parser.epilog.strip(), "```", ""]
    return "\n".join(lines)


def _described(text: str) -> Iterator[str]:
    """A description; what stands in columns after its first paragraph stays in columns."""
    first, _, rest = text.partition("\n\n")
    if "\n  " not in rest:
        yield _text(text)
        return
    yield _text(first)
    yield from ("", "```text", _plain(rest).strip(), "```")


def _plain(text: str) -> str:
    return text.replace("%(prog)s", "rag-evaluator").replace("%%", "%")


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    """With the name of the installed command, however the program was started."""
    return " ".join(parser.format_usage().split()).replace(f"usage: {parser.prog}", name, 1)


def _names(action: argparse.Action) -> str:
    """`--out FILE`, as a heading that can be searched for."""
    value = "" if action.nargs == 0 else _value(action)
    if not action.option_strings:
        return f"`{value}`"
    return "<br>".join(f"`{' '.join([name, value]).strip()}`" for name in action.option_strings)


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar is None and action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.metavar or (action.dest.upper() if action.option_strings else action.dest)


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    words = parser._get_formatter()._expand_help(action) if action.help else ""
    return f"{words} (required)" if action.required and action.option_strings else words


def _text(text: str) -> str:
    return PLACEHOLDER.sub(r"`\1`", " ".join(_plain(text).split()))


def _cell(text: str) -> str:
    return PLACEHOLDER.sub(r"`\1`", " ".join(text.split())).replace("|", "\\|")
