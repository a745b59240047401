"""`submit`: what every worker would refuse does not reach Slurm."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli.main import main

ROWS = [{"response": "In Tesk.", "reference": "In Tesk."}]
JUDGED = {"metrics": ["faithfulness"]}


def write(folder: Path, config: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = folder / "config.yaml"
    path.write_text(json.dumps({"dataset": "rows.jsonl", "metrics": ["exact_match"], **config}), encoding="utf-8")
    return str(path)


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which an `sbatch` notes that it was called."""
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f"#!/bin/sh\necho called >> {tmp_path}/sent\necho 7\n", encoding="utf-8")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sbatch.parent}:{os.environ['PATH']}")
    return tmp_path / "sent"


REFUSED: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[str], str]] = {
    "no such file": ({"dataset": "none.jsonl"}, ROWS, [], "none.jsonl"),
    "no such column": ({}, [{"response": "In Tesk."}], [], "'reference'"),
    "no such model": ({**JUDGED, "judge": {"model": "/models/none"}}, ROWS, [], "judge.model: no such folder"),
    "no contexts to sort": ({}, [{"user_input": "Where?"}], ["--task", "sort"], "'retrieved_contexts'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_every_worker_refuses_is_not_submitted(
    case: str, tmp_path: Path, sent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, rows, words, expected = REFUSED[case]
    assert main(["submit", write(tmp_path, config, rows), "--workers", "2", *words]) == 2
    assert expected in capsys.readouterr().err
    assert not sent.exists()


def test_a_folder_above_models_is_refused_without_reading_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("rag_evaluator.tasks.manifest.fingerprint")
    (tmp_path / "models" / "one").mkdir(parents=True)
    settings = {"metrics": ["faithfulness"], "judge": {"model": str(tmp_path / "models")}}
    rows = [{**row, "user_input": "Where?", "retrieved_contexts": ["In Tesk."]} for row in ROWS]
    assert main([write(tmp_path, settings, rows)]) == 2
    assert "is not a model folder: it has no config.json" in capsys.readouterr().err
