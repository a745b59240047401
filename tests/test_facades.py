"""Tests import what a package offers, not its modules: then code can move without its tests."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "rag_evaluator"
PUBLIC = ("rag_evaluator.cli.main", "rag_evaluator.ragas.")  # the program's entry; modules named as in ragas

PATCHED = {
    "rag_evaluator.cli.console",
    "rag_evaluator.cli.evaluate",
    "rag_evaluator.cli.watching",
    "rag_evaluator.files.atomic",
    "rag_evaluator.judge.engines.transformers.attention",
    "rag_evaluator.judge.engines.transformers.decoder",
    "rag_evaluator.judge.engines.transformers.loading",
    "rag_evaluator.judge.engines.transformers.packed",
    "rag_evaluator.hub.lookup",
    "rag_evaluator.report.document",
    "rag_evaluator.results.xlsx",
    "rag_evaluator.tasks.evaluation",
    "rag_evaluator.tasks.manifest",
    "rag_evaluator.tasks.question",
}
"""Modules that tests still import whole, most to replace a name of theirs; none is to be added."""


def imported(file: Path) -> Iterator[str]:
    """The modules of ours that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (name if is_module(name) else node.module for name in names_of(node))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported_names(file: Path) -> Iterator[str]:
    """Whatever is imported from modules, with the module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from names_of(node)


def names_of(node: ast.ImportFrom) -> list[str]:
    return [f"{node.module}.{alias.name}" for alias in node.names]


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def is_inner(module: str) -> bool:
    """Whether a module lies inside a package: `rag_evaluator.judge.protocol`, `rag_evaluator.features.app.store`."""
    depth = 3 if module.startswith("rag_evaluator.features.") else 2
    return module.startswith("rag_evaluator.") and module.count(".") >= depth and not module.startswith(PUBLIC)


def test_tests_import_packages_and_not_their_modules() -> None:
    assert {module for file in TESTS.rglob("*.py") for module in imported(file) if is_inner(module)} == PATCHED


def test_each_name_that_a_package_offers_is_there_and_is_imported_by_a_test() -> None:
    asked = {name for file in TESTS.rglob("*.py") for name in imported_names(file)}
    for path in PACKAGE.rglob("__init__.py"):
        package = import_module(".".join(path.parent.relative_to(PACKAGE.parent).parts))
        if "facade" in vars(package) and package.__name__ not in ("rag_evaluator.dataset", "rag_evaluator.tasks"):
            offered = set(package.__all__)
            assert not [name for name in offered if not hasattr(package, name)]
            assert {name for name in offered if f"{package.__name__}.{name}" not in asked} == set()
