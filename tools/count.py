"""How large the code is, by package: `python -m tools.count`, and `--base REV` for the difference to a commit.

Lines are those of `wc -l`, of all `*.py`. Tokens are what `tokenize` of Python 3.11 gives: names, numbers, strings and
operators, brackets and commas among them. Comments, docstrings, ends of lines and indentation do not count. Newer
Pythons divide f-strings and count more. Bytes are of all other files, without the weights and card of the demo judge.
"""

import argparse
import ast
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.trees import ROOT, files, worktree

PACKAGE = "rag_evaluator"
PARTS = {"tests": "tests", "tools": "tools, benchmarks", "benchmarks": "tools, benchmarks"}
LEFT_OUT = Path(PACKAGE) / "demo" / "judge"
COLUMNS = ("files", "lines", "tokens", "bytes of others")
NO_TOKENS = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}

Sizes = Mapping[str, Counter[str]]  # package -> column -> number


def sizes(tree: Path) -> Sizes:
    """The numbers of each package, with a sum for the whole one."""
    packages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in files(tree):
        numbers = _numbers(tree / path)
        for name in _packages(path):
            packages[name].update(numbers)
    return packages


def tokens(path: Path) -> int:
    """The number of tokens that count."""
    docstrings = set(_docstrings(ast.parse(path.read_text(encoding="utf-8"))))
    with path.open(encoding="utf-8") as lines:
        found = list(tokenize.generate_tokens(lines.readline))
    return sum(token.type not in NO_TOKENS and token.start not in docstrings for token in found)


def _numbers(path: Path) -> Counter[str]:
    content = path.read_bytes()
    if path.suffix != ".py":
        return Counter({"bytes of others": len(content)})
    return Counter({"files": 1, "lines": content.count(b"\n"), "tokens": tokens(path)})


def _packages(path: Path) -> list[str]:
    """The names of the lines of the table that a file counts in."""
    first, *inner = path.parts[:-1] or ("",)
    if first != PACKAGE or LEFT_OUT in path.parents:
        return [PARTS[first]] if first in PARTS else []
    depth = 2 if inner[:1] == ["features"] else 1
    return [PACKAGE, "/".join((first, *(inner[:depth] or ["*.py"])))]


def _docstrings(tree: ast.Module) -> Iterable[tuple[int, int]]:
    """Where they begin."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node) is not None
        ):
            yield node.body[0].lineno, node.body[0].col_offset


def table(new: Sizes, old: Sizes | None) -> str:
    """A line for each package; the difference to `old` is in brackets."""
    rows = [("package", *COLUMNS)]
    for name in sorted({*new, *(old or {})}):
        now = new.get(name, Counter())
        before = (old or new).get(name, Counter())
        changes = [
            f" ({now[column] - before[column]:+,})" if now[column] != before[column] else "" for column in COLUMNS
        ]
        rows.append((name, *(f"{now[column]:,}{change}" for column, change in zip(COLUMNS, changes, strict=True))))
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.count", description=__doc__)
    parser.add_argument("--base", metavar="REV", help="also the difference to this commit")
    options = parser.parse_args()
    old = None
    if options.base:
        with worktree(options.base) as tree:
            old = sizes(tree)
    print(table(sizes(ROOT), old))


if __name__ == "__main__":
    main()
