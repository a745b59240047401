"""Commands that need no model start quickly: they load neither ragas nor a model library."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator

ROOT = Path(__file__).parents[2]
SLOW = ("torch", "transformers", "ragas", "langchain_core", "pandas", "datasets", "scipy", "statsmodels")
PROGRAM = """
import json, sys
from rag_evaluator.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as error:
    code = error.code
print(json.dumps([code, [name for name in %r if name in sys.modules]]))
"""


def loaded(arguments: list[str]) -> list[Any]:
    """The exit code of a command in a process of its own, and which of the slow modules it has loaded."""
    command = [sys.executable, "-c", PROGRAM % (SLOW,), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    result: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--help"], 0),
        (["prompts", "--help"], 0),
        (["list", "metrics"], 0),
        (["list", "languages", "--json"], 0),
        (["prompts", "check", str(ROOT / "prompts")], 0),
        (["prompts", "check", str(ROOT / "prompts"), "--language", "es", "--metrics", "faithfulness", "sort"], 0),
        (["prompts", "check", str(ROOT / "docs")], 2),
        (["status", str(ROOT / "docs")], 2),
        (["view", "--help"], 0),
        (["view", str(ROOT / "nothing")], 2),
        (["report", "--help"], 0),
        (["plan", "--help"], 0),
    ],
    ids=lambda value: " ".join(Path(part).name for part in value) if isinstance(value, list) else None,
)
def test_a_command_without_models_loads_no_library_that_takes_seconds(arguments: list[str], expected: int) -> None:
    assert loaded(arguments) == [expected, []]


def test_the_status_of_a_finished_run_is_shown_without_a_library_that_takes_seconds(tmp_path: Path) -> None:
    rows = [{"response": "Tesk", "reference": "Tesk"}, {"response": "Nolu", "reference": "Brak"}]
    RAGEvaluator({"metrics": ["exact_match"]}).evaluate(rows, folder=tmp_path)
    assert loaded(["status", str(tmp_path)]) == [0, []]
