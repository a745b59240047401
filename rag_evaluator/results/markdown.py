"""Sentences and tables as GitHub's Markdown, for pull requests and job summaries; no text in them is markup."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from .conclusion import NEXT
from .overview import Grid, printable

MARKS = re.compile(r"[\\`*_\[\]|~!$#]")
TAGS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
LINKS = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=GH-)(?=\d)"  # people, teams and issues
    r"|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=:)(?=[\w+-]+:)"  # addresses, emoji
    r"|^(?=(?:[-+]|\d+[.)])(?:\s|$)|--)",  # items of lists, lines
    re.IGNORECASE,
)
"""Where GitHub makes something of a text that no backslash prevents."""
JOINER = "\N{WORD JOINER}"  # is not seen


def escaped(text: str) -> str:
    """A text on one line, shown as it is: nothing in it is a mark, a tag, a link, a mention or an item of a list."""
    plain = LINKS.sub(JOINER, " ".join(printable(text).split()))
    return MARKS.sub(r"\\\g<0>", plain).translate(TAGS)


def as_markdown(title: str, parts: Iterable[Grid | str]) -> str:
    """Sentences as paragraphs, indented ones as items of a list, tables as tables; under a heading."""
    blocks = [f"### {escaped(title)}"]
    for is_list, together in groupby(parts, lambda part: isinstance(part, str) and part.startswith("  ")):
        lines = [_table(part) if isinstance(part, Grid) else _line(part) for part in together]
        blocks += ["\n".join(lines)] if is_list else lines
    return "\n\n".join(blocks) + "\n"


def _line(text: str) -> str:
    """A paragraph, or an item as deep as its text is indented; a command can be copied."""
    indent = len(text) - len(text.lstrip(" "))
    if text.startswith(NEXT) and "`" not in text:
        return f"{NEXT}`{printable(text.removeprefix(NEXT))}`"
    return f"{' ' * (indent - 2)}- {escaped(text)}" if indent else escaped(text)


def _table(grid: Grid) -> str:
    sides = ["--:" if side == "right" else ":--" for _, side in grid.columns]
    lines = ["", _row([heading for heading, _ in grid.columns]), f"| {' | '.join(sides)} |"]
    lines += [_row([*cells, *[""] * (len(sides) - len(cells))]) for cells in grid.rows]
    return "\n".join([f"#### {escaped(grid.title)}"] * bool(grid.title) + lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"
