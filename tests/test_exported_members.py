"""The public names of the package: complete, sorted, found without loading what they do not need."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from imported import DELETED, PUBLIC

import rag_evaluator
from rag_evaluator import errors

ROOT = Path(__file__).parent.parent
ERRORS = {
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
}
STUB = ast.parse((ROOT / "rag_evaluator" / "__init__.pyi").read_text("utf-8"))
LISTED = [name for _, name in PUBLIC]
SLOW = ("torch", "transformers", "ragas", "pandas", "scipy", "datasets", "langchain_core", "pydantic")


def loaded_by(code: str) -> set[str]:
    """Which of the slow modules a program has loaded when it ends."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(json.loads(done.stdout.splitlines()[-1])) & set(SLOW)


def test_every_exception_is_exported() -> None:
    assert {"RagEvaluatorError", "MissingChunksError", "UndefinedScoreError"} <= ERRORS
    assert sorted(ERRORS - set(rag_evaluator.__all__)) == []


def test_the_stub_is_the_list_of_public_names() -> None:
    shown = next(ast.literal_eval(node.value) for node in STUB.body if isinstance(node, ast.Assign))
    assert rag_evaluator.__all__ == sorted({*LISTED} - DELETED)
    assert sorted(shown) == sorted(LISTED)


@pytest.mark.parametrize(
    "code",
    [
        "import rag_evaluator",
        "from rag_evaluator import MissingChunksError",
        "import rag_evaluator; dir(rag_evaluator)",
    ],
)
def test_importing_the_package_loads_no_library(code: str) -> None:
    assert loaded_by(code) == set()
