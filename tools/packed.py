"""Unrelated values in one assignment, `a, b = x, y`: `python -m tools.packed` names each and ends with code 1.

A swap stays, where a value is what another target was; so does what a call, a loop or a starred name unpacks.
"""

import ast
import sys
from collections.abc import Iterator

from tools.trees import ROOT, files


def packed(tree: ast.AST) -> Iterator[int]:
    """Return the lines of the assignments that hold several statements."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                written = [ast.unparse(target) for target in targets]
                read = [{ast.unparse(part) for part in ast.walk(v) if isinstance(part, ast.expr)} for v in values]
                is_swap = any(name in read[n] for n in range(len(read)) for name in {*written} - {*written[n : n + 1]})
                if not is_swap and not any(isinstance(target, ast.Starred) for target in targets):
                    yield node.lineno


if __name__ == "__main__":
    sources = [path for path in files(ROOT) if path.suffix == ".py"]
    found = [f"{path}:{line}" for path in sources for line in packed(ast.parse((ROOT / path).read_bytes()))]
    sys.exit("\n".join([*found, "one statement a line"]) if found else 0)
