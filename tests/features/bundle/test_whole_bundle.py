"""The real bundle: every wheel from the package index, installed and used without network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ON_NODE = """
set -e
bash bundle/install.sh
.venv/bin/rag-evaluator init --sample
.venv/bin/rag-evaluator config.yaml
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace without network needs root")
def test_a_node_without_network_installs_the_bundle_and_scores_the_sample(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "main.py"), "bundle", "--out", "bundle", "--torch", "cpu"]
    subprocess.run(command, cwd=tmp_path, check=True)
    environment = {"PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        ["unshare", "--net", "bash", "-c", ON_NODE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    shutil.rmtree(tmp_path / "bundle")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sample: 12 rows" in done.stdout
    assert (tmp_path / "results/sample/report.html").is_file()
