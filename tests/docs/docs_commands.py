"""The commands that README, docs and helps show."""

import argparse
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.docs.commands import parsers
from tools.docs.words import TRANSLATIONS

ROOT = Path(__file__).parents[2]
ENGLISH_FIRST = sorted((ROOT / "docs").rglob("*.md"), key=lambda page: (page.parent.name in TRANSLATIONS, page))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ENGLISH_FIRST]
SHELL = {"", "sh", "bash"}
PROGRAMS = r"(?:(?:\.venv/bin/)?rag-evaluator|\.venv/bin/python|python|pip|make|source|sbatch|torchrun|ssh|eval)"
COMMAND = re.compile(rf"^(?:\$ )?({PROGRAMS} .*?)(?:\s+#\s.*)?$")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(rf"(?<!`)`({PROGRAMS} [^`]+)`(?!`)")
EXAMPLE = re.compile(r"^(?:  |examples?: )(rag-evaluator .*?)(?: {2,}#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command line, and what the page shows below it; a line `...` stands for any lines."""

    line: str
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Commands that are run one after the other in one folder."""

    place: str
    commands: tuple[Command, ...]


def page_blocks() -> Iterator[Block]:
    """The commands of README and docs: those of a fenced block together, those within a sentence one by one.

    Blocks of the kind `console` are the transcript of one session: all of a page are run together.
    """
    for page in PAGES:
        text = page.read_text("utf-8")
        name = page.relative_to(ROOT).as_posix()
        session = [command for match in FENCE.finditer(text) for command in _commands(match[2], match[3], {"console"})]
        if session:
            yield Block(name, tuple(session))
        for match in FENCE.finditer(text):
            if commands := tuple(_commands(match[2], match[3])):
                yield Block(f"{name}:{text.count(chr(10), 0, match.start()) + 1}", commands)
        for match in INLINE.finditer(FENCE.sub("", text)):
            yield Block(name, (Command(match[1]),))


def help_blocks() -> Iterator[Block]:
    """The examples of every --help."""
    for name, parser in parsers():
        for example in examples_of(parser):
            yield Block(f"{name} --help", (Command(example),))


def examples_of(parser: argparse.ArgumentParser) -> list[str]:
    """The command lines in the help of a command."""
    return EXAMPLE.findall(parser.epilog or "")


def _commands(kind: str, body: str, kinds: Collection[str] = SHELL) -> Iterator[Command]:
    if kind == "yaml" and kinds is SHELL:
        yield from map(Command, _steps(yaml.safe_load(body)))
    if kind not in kinds:
        return
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if match := COMMAND.match(line):
            found.append((match[1], []))
        elif found:
            found[-1][1].append(line)
    for line, output in found:
        yield Command(line, tuple(output))


def _steps(value: Any) -> Iterator[str]:
    """What a CI job runs. Any: YAML."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from [" ".join(inside.split())] if key == "run" and isinstance(inside, str) else _steps(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _steps(inside)
