"""A package's `__init__.pyi` is its interface: what other packages import, and nothing else; tests use these names."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = ROOT / "rag_evaluator"
OPEN = ("rag_evaluator.cli.main", "rag_evaluator.ragas")  # the program's entry; modules named as in ragas
INNER: set[str] = set()
"""Modules that tests import all the same, and why."""


def interface_of(module: str) -> str | None:
    """The package whose interface stands for a module: `rag_evaluator.judge`, `rag_evaluator.features.app`; or None."""
    parts = module.split(".")
    size = 3 if parts[1:2] == ["features"] else 2
    return ".".join(parts[:size]) if len(parts) >= size and (ROOT / Path(*parts[:size])).is_dir() else None


def sources(folder: Path) -> Iterator[Path]:
    """Modules, and the list of public names."""
    yield from folder.rglob("*.py")
    yield from [PACKAGE / "__init__.pyi"] if folder == PACKAGE else []


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """Module of ours and name of each import from another package."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    own = interface_of(".".join(parts)) if parts[0] == PACKAGE.name else None
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or node.level):
            module = f"rag_evaluator.{node.module}" if node.level else node.module or ""
            if (module.startswith("rag_evaluator.") and own is None) or interface_of(module) not in (None, own):
                yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("rag_evaluator."))


def is_inner(module: str, name: str) -> bool:
    """Whether an import passes an interface by."""
    package = interface_of(module)
    is_module = (ROOT / Path(*module.split("."), name)).with_suffix(".py").is_file()
    return package is not None and not module.startswith(OPEN) and (module != package or is_module)


@cache
def used_by_packages() -> set[tuple[str, str]]:
    return {pair for file in sources(PACKAGE) for pair in imports(file)}


def test_packages_import_each_other_through_their_interfaces() -> None:
    assert [pair for pair in used_by_packages() if is_inner(*pair)] == []


def test_an_interface_names_what_another_package_uses_and_nothing_else() -> None:
    for file in PACKAGE.rglob("*/__init__.pyi"):
        package = ".".join(file.parent.relative_to(ROOT).parts)
        tree = ast.parse(file.read_text(encoding="utf-8"))
        offered = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
        assert set(offered) == {name for module, name in used_by_packages() if module == package}, package
        assert len(offered) == len(set(offered)), package


def test_tests_use_public_names_and_interfaces() -> None:
    inner = {module for file in sources(TESTS) for module, name in imports(file) if is_inner(module, name)}
    assert inner == INNER
