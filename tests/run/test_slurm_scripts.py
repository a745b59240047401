"""The launcher, and what `submit` hands to `sbatch`."""

import os
import subprocess
from pathlib import Path

import pytest
from aliases import Capture
from folders import run_command

from rag_evaluator.cli.main import main

ROOT = Path(__file__).parents[2]


def test_sbatch_gets_the_array_its_options_and_what_each_worker_runs(tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("metrics: [exact_match]\ndataset: rows.csv\n", "utf-8")
    (tmp_path / "rows.csv").write_text("response,reference\na,a\n")
    given = ["--set", "limit=5", "--dry-run", "--", "--partition=gpu", "-A", "team"]
    run_command("submit", config, "--workers", "2", *given)
    launcher = f"--array=0-1 --partition=gpu -A team {ROOT / 'launcher.sh'}"
    assert capsys.readouterr().out.endswith(f"{launcher} evaluate {config} --set limit=5\n")


def test_a_dry_run_shows_the_call_then_says_what_submit_would_refuse_and_warns_of_the_toy(
    tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("metrics: [faithfulness]\ndataset: rows.jsonl\n", "utf-8")
    arguments = ["submit", str(config), "--workers", "2", "--dry-run"]
    assert main(arguments) == 2
    refused = capsys.readouterr()
    assert "sbatch" in refused.out
    assert "rows.jsonl: no such file" in refused.err
    (tmp_path / "rows.jsonl").write_text('{"user_input": "q", "response": "a", "retrieved_contexts": ["c"]}\n')
    assert main(arguments) == 0
    assert "The demo judge is a toy: set judge.model to a model of your own." in caplog.text


@pytest.mark.parametrize(("task", "expected"), [({}, "8"), ({"ARRAY_JOB_ID": "7", "ARRAY_TASK_ID": "3"}, "7_3")])
def test_a_job_that_is_to_continue_requeues_itself_and_not_its_array(
    task: dict[str, str], expected: str, tmp_path: Path
) -> None:
    for name, line in {"srun": "exit 75", "scontrol": 'echo "$@"'}.items():  # in the place of Slurm's
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    job = {f"SLURM_{name}": value for name, value in {"JOB_ID": "8", **task}.items()}
    environment = {**os.environ, **job, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", ROOT / "launcher.sh", "config.yaml"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (75, f"requeue {expected}\ncontinues: requeued\n")
