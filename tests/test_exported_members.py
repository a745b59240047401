"""The public names of the package: complete, sorted, found without loading what they do not need."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rag_evaluator
from rag_evaluator import errors

ROOT = Path(__file__).parent.parent
ERRORS = {
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception) and value.__module__ == errors.__name__
}
OTHERS = {  # public names that live neither in `api` nor in `errors`
    "METRICS",
    "Config",
    "CustomMetric",
    "Judge",
    "Results",
    "ScriptedJudge",
    "load_config",
    "load_dataset",
    "metric",
    "read_questions",
}
NOT_FOR_USERS = {
    "asking",
    "Finding",
    "check_judge",
    "check_lists",
    "check_questions",
    "columns_read",
    "draw_like",
    "draw_rows",
    "embeddings_fit",
    "has_demo_embeddings",
    "unfit_embeddings",
    "is_possible",
    "known_scale",
    "of_scored",
    "scales_with_directions",
    "Differences",
    "in_notebook",
    "judge_source",
    "look_at_judge",
    "optional_texts",
    "preferred",
    "propose",
    "read_scores",
    "run_name",
    "run_probe",
    "scales_for",
    "settings_of",
    "sheet_of",
    "size",
    "text_of",
    "write_new",
    "Checks",
    "write_junit",
    "Count",
    "FilledRows",
    "changed_scores",
    "fill_missing",
    "named",
    "shown",
    "NotebookBar",
    "Proposal",
    "InitOptions",
}  # steps of the functions
SLOW = ("torch", "transformers", "ragas", "pandas", "scipy", "datasets", "langchain_core", "pydantic")


def of_api() -> set[str]:
    """The classes and functions of `rag_evaluator.features.chains` that have no underscore."""
    modules = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "rag_evaluator" / "api").glob("*.py")]
    defined = [node for module in modules for node in module.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return {node.name for node in defined if not node.name.startswith("_")} - NOT_FOR_USERS


def loaded_by(code: str) -> set[str]:
    """Which of the slow modules a program has loaded when it ends."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(json.loads(done.stdout.splitlines()[-1])) & set(SLOW)


def test_every_exception_is_exported() -> None:
    assert {"RagEvaluatorError", "MissingChunksError", "UndefinedScoreError"} <= ERRORS
    assert sorted(ERRORS - set(rag_evaluator.__all__)) == []


def test_every_public_class_and_function_of_api_is_exported() -> None:
    assert sorted(of_api() - set(rag_evaluator.__all__)) == []


def test_nothing_else_is_exported() -> None:
    assert sorted(set(rag_evaluator.__all__) - ERRORS - of_api() - OTHERS) == []


@pytest.mark.parametrize("name", rag_evaluator.__all__)
def test_every_public_name_is_found(name: str) -> None:
    value = getattr(rag_evaluator, name)
    assert getattr(value, "__name__", name) == name
    assert name in dir(rag_evaluator)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No rag_evaluator attribute evaluator"):
        rag_evaluator.evaluator  # noqa: B018


def test_every_exception_is_in_the_drawn_tree_below_its_base() -> None:
    """The tree at the top of `errors.py`, by the depth of each line."""
    path: list[str] = []
    drawn = set()
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([ │├└─]*)([A-Z]\w+Error)\b", line):
            path[len(found[1]) // 4 :] = [found[2]]
            bases = [base.__name__ for base in getattr(errors, found[2]).__mro__ if base.__name__ in ERRORS]
            assert path == bases[::-1]
            drawn.add(found[2])
    assert drawn == ERRORS


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
