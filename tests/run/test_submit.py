"""`submit`: what every worker would refuse does not reach Slurm."""

import os
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Patch
from folders import printed, write_config

ROWS = [{"response": "In Tesk.", "reference": "In Tesk."}]
JUDGED = "metrics: [faithfulness]\njudge: {{model: {}}}"


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The file in which an `sbatch` notes that it was called."""
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f"#!/bin/sh\necho called >> {tmp_path}/sent\necho 7\n", "utf-8")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")
    return tmp_path / "sent"


REFUSED: dict[str, tuple[str, list[dict[str, Any]], list[str], str]] = {
    "no such file": ("", ROWS, ["--set", "dataset=none.jsonl"], "none.jsonl"),
    "no such column": ("", [{"response": "In Tesk."}], [], "'reference'"),
    "no such model": (JUDGED.format("/models/none"), ROWS, [], "judge.model: no such folder"),
    "no worker": ("", ROWS, ["--workers", "0"], "--workers 0: expected 1 or more"),
    "no contexts to sort": ("", [{"user_input": "Where?"}], ["--task", "sort"], "'retrieved_contexts'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_every_worker_refuses_is_not_submitted(case: str, tmp_path: Path, sent: Path, capsys: Capture) -> None:
    settings, rows, words, expected = REFUSED[case]
    config = write_config(tmp_path, rows, settings or "metrics: [exact_match]")
    assert expected in printed(capsys, 2, "submit", config, "--workers", "2", *words)
    assert not sent.exists()


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("echo 7", 0, "array 7 with 2 workers"),
        ("echo '7;cluster'; exit 3", 2, "job 7 ended with status 3"),
        ("echo no such partition >&2; exit 1", 2, "failed: no such partition"),
    ],
)
def test_the_answer_of_sbatch_is_printed(
    script: str, code: int, said: str, tmp_path: Path, sent: Path, capsys: Capture
) -> None:
    (sent.parent / "bin" / "sbatch").write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    config = write_config(tmp_path, ROWS, "metrics: [exact_match]")
    assert said in printed(capsys, code, "submit", config, "--workers", "2")


def test_a_folder_above_models_is_refused_without_reading_them(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.delattr("rag_evaluator.tasks.manifest.fingerprint")
    (tmp_path / "models" / "one").mkdir(parents=True)
    rows = [{**row, "user_input": "Where?", "retrieved_contexts": ["In Tesk."]} for row in ROWS]
    config = write_config(tmp_path, rows, JUDGED.format(tmp_path / "models"))
    assert "is not a model folder: it has no config.json" in printed(capsys, 2, config)
