"""The catalogue of messages: every sentence that the program may show, with its place: `python -m tools.messages`.

A text in the code counts if it has so many words and is no docstring; what is filled in is shown as `{…}`. Read them as
somebody who reads English as a third language.
"""

import ast
import re
from collections.abc import Iterator

from tools.count import PACKAGE
from tools.trees import ROOT, files

LEAST = 4  # words
WORD = re.compile(r"[^\W\d_]{2,}")


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each message, in order; a text that is put together of parts is one."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        match node:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Constant(value=str(text)):
                yield node.lineno, text
            case ast.JoinedStr(values=parts):
                yield (
                    node.lineno,
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in parts),
                )
                nodes += [part for part in parts if not isinstance(part, ast.Constant)]
            case _:
                nodes += [*ast.iter_child_nodes(node)][::-1]


def main() -> None:
    for path in files(ROOT):
        if path.suffix == ".py" and path.parts[0] == PACKAGE:
            for line, text in messages(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
                if len(WORD.findall(text)) >= LEAST:
                    print(f"{path}:{line}: {' '.join(text.split())}")


if __name__ == "__main__":
    main()
