import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator, __version__
from rag_evaluator.manifest import versions

ROOT = Path(__file__).parent.parent


def test_signatures_hold_the_version_of_the_code_whatever_the_distribution_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("rag_evaluator.manifest.version", refuse)
    assert versions()["rag-evaluator"] == __version__
    assert versions()["ragas"] == "not installed"  # the patch is used
    [signature] = RAGEvaluator({"metrics": ["rouge_score"]}).signatures().values()
    assert f"|rag-evaluator:{__version__}|" in signature


@pytest.mark.parametrize("project", [None, ROOT], ids=["installed", "clone"])
def test_a_job_runs_the_package_and_nothing_that_lies_in_the_folder(tmp_path: Path, project: Path | None) -> None:
    (tmp_path / "yaml.py").write_text("raise SystemExit('the folder came before the installed packages')")
    place = {"PYTHONPATH": str(ROOT)} if project is None else {"PROJECT": str(project)}
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, **place}
    command = ["bash", str(ROOT / "launcher.sh"), "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"rag-evaluator {__version__}\n", "")
