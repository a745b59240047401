"""The example notebook runs from top to bottom, and shows tables; the example by hand gives what `evaluate` gives."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
WIDGETS = "IProgress not found"  # tqdm's advice to install ipywidgets


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_bytes())["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
    assert NOTEBOOK.stat().st_size < 20_000


@pytest.fixture(scope="module")
def executed() -> list[Any]:
    """The code cells with their outputs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOK.parent)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def html_of(cells: list[Any], beginning: str) -> list[str]:
    """What the outputs of the cell with this line are as HTML."""
    [cell] = [cell for cell in cells if beginning in cell.source]
    outputs = [output for output in cell.outputs if "data" in output]
    return [output["data"]["text/html"] for output in outputs if "text/html" in output["data"]]


@pytest.mark.docs
@pytest.mark.enable_socket  # between the notebook and its kernel
def test_the_notebook_shows_tables_and_nothing_that_libraries_say(executed: list[Any]) -> None:
    [summary] = html_of(executed, "base = RAGEvaluator")
    assert "faithfulness" in summary
    [worst] = html_of(executed, "nsmallest")
    assert worst.count("<tr") == 4 and "faithfulness" in worst
    [grounded] = html_of(executed, "grounded = RAGEvaluator")
    assert grounded.count("<tr") == 7 and "groundedness" in grounded
    [comparison] = html_of(executed, "compare(base, other)")
    assert "6 rows of base and careless matched by" in comparison
    [verdicts] = html_of(executed, "gate(other")
    assert "Failed: 3 of 3 rules, according to the toy judge" in verdicts
    said = [output for cell in executed for output in cell.outputs if output.get("name") == "stderr"]
    assert [output.text for output in said if WIDGETS not in output.text] == []


@pytest.mark.docs
def test_ragas_asked_by_hand_gives_the_score_of_evaluate() -> None:
    """The example itself ends with an error where the two differ."""
    command = [sys.executable, str(ROOT / "examples" / "by_hand.py")]
    made = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("by hand ")
