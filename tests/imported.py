"""What a file imports, and which public names are of features that were deleted."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "rag_evaluator"


def imports_of(file: Path) -> Iterator[tuple[str, str]]:
    """Module and name of each import: a relative one is of the file's folder, `import module` has no name."""
    folder = ".".join(file.relative_to(PACKAGE.parent).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, (folder, node.module))) if node.level else node.module or ""
            yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def is_deleted(module: str) -> bool:
    """Whether a module is of a feature that is not there any more."""
    parts = module.removeprefix("rag_evaluator.").split(".")
    return parts[0] == "features" and len(parts) > 1 and not (PACKAGE / "features" / parts[1]).is_dir()


PUBLIC = list(imports_of(PACKAGE / "__init__.pyi"))
DELETED = {name for module, name in PUBLIC if is_deleted(module)}
