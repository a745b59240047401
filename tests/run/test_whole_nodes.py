"""`submit --whole-nodes`: each element of the array has a node for itself, with the GPUs that its vLLM needs."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli.main import main

NODE = "--exclusive --mem=0"
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("judge", "extra", "expected"),
    [
        ({}, [], f"{NODE} "),
        ({"engine": "vllm"}, [], f"{NODE} --ntasks-per-node=1 "),
        ({"engine": "vllm", "vllm": {"args": ["-tp", "4"]}}, [], f"{NODE} --ntasks-per-node=1 --gres=gpu:4 "),
        (
            {"engine": "vllm", "vllm": {"args": ["--tensor_parallel_size=2", "-tp", "4", "-pp=2"]}},
            ["--gres=gpu:a100:8"],  # later ones take precedence
            f"{NODE} --ntasks-per-node=1 --gres=gpu:8 --gres=gpu:a100:8 ",
        ),
        ({"engine": "vllm", "vllm": {"args": ["-tp", "many"]}}, [], f"{NODE} --ntasks-per-node=1 "),
    ],
)
def test_each_element_of_the_array_has_a_node_for_itself_and_the_merge_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: dict[str, Any], extra: list[str], expected: str
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"user_input": "Where?"}\n', encoding="utf-8")
    config = tmp_path / "config.yaml"
    settings = {"dataset": "rows.jsonl", "metrics": ["faithfulness"], "judge": judge}
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = ["submit", str(config), "--workers", "2", "--dry-run"]
    assert main([*command, "--whole-nodes", "--", *extra]) == 0
    *_, array, merge = capsys.readouterr().out.splitlines()
    assert f" {expected}" in array
    assert "--exclusive" not in merge and "gpu" not in merge
    assert main([*command, "--", *extra]) == 0
    assert "--exclusive" not in capsys.readouterr().out


def test_the_merge_has_account_partition_and_qos_of_the_array(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text("metrics: [exact_match]\n", encoding="utf-8")
    given = ["--partition=gpu", "-A", "team", "--qos", "long", "--nice=5", "--gres=gpu:2"]
    assert main(["submit", str(tmp_path / "config.yaml"), "--workers", "2", "--dry-run", "--", *given]) == 0
    *_, array, merge = capsys.readouterr().out.splitlines()
    assert " ".join(given) in array
    assert " --partition=gpu -A team --qos long " in merge
    assert "--nice" not in merge and "--gres" not in merge


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
