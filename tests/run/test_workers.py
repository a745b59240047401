"""Which worker a process is, which of the devices are its own, and folders without a run."""

import os
from pathlib import Path
from unittest.mock import patch

import pytest
from aliases import Capture
from folders import printed

from rag_evaluator import ConfigError
from rag_evaluator.run import Worker, find_worker, parse_worker, run_id, share_devices

ARRAY = {"SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "0"}


def test_merge_and_status_of_a_folder_without_a_run_say_so(tmp_path: Path, capsys: Capture) -> None:
    for command in ("merge", "status"):
        assert "no run has begun here" in printed(capsys, 2, command, tmp_path)
        assert "nowhere: no such folder" in printed(capsys, 2, command, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("environment", "worker"),
    [
        ({}, (0, 1)),
        ({**ARRAY, "SLURM_ARRAY_TASK_ID": "3"}, (3, 4)),
        (
            {**ARRAY, "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_STEP": "2", "SLURM_ARRAY_TASK_ID": "5"},
            (2, 4),
        ),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2"}, (1, 2)),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, (0, 1)),  # the batch script, outside of srun
        ({**ARRAY, "SLURM_ARRAY_TASK_ID": "2", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, (5, 8)),
    ],
)
def test_the_worker_is_numbered_from_the_environment(environment: dict[str, str], worker: tuple[int, int]) -> None:
    with patch.dict(os.environ, environment, clear=True):
        assert find_worker() == Worker(*worker)


def test_the_worker_can_be_set_by_hand() -> None:
    assert parse_worker("3/16") == Worker(3, 16)
    for text in ("16/16", "3", "-1/2", "a/b", "1/0"):
        with pytest.raises(ConfigError, match="expected NUMBER/COUNT, numbers from 0"):
            parse_worker(text)
    with (
        patch.dict(os.environ, {"SLURM_PROCID": "x", "SLURM_STEP_NUM_TASKS": "2"}),
        pytest.raises(ConfigError, match="the environment variable SLURM_PROCID is 'x': expected a number"),
    ):
        find_worker()


@pytest.mark.parametrize(
    ("environment", "devices"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, None),  # alone: device_map spreads the model
        ({"CUDA_VISIBLE_DEVICES": "4,5,6,7", "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2"}, "6,7"),
        ({"CUDA_VISIBLE_DEVICES": "0,1", "SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "2(x3)"}, "0"),
        ({"CUDA_VISIBLE_DEVICES": "1", "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2"}, None),  # given its own
        ({"CUDA_VISIBLE_DEVICES": "", "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "2"}, None),
    ],
)
def test_processes_of_a_node_share_its_gpus(environment: dict[str, str], devices: str | None) -> None:
    with patch.dict(os.environ, environment, clear=True):
        assert share_devices() == devices


@pytest.mark.parametrize(
    ("environment", "shared"),
    [
        ({"SLURM_ARRAY_JOB_ID": "7", "SLURM_JOB_ID": "9"}, "SLURM_ARRAY_JOB_ID=7"),
        ({"SLURM_JOB_ID": "9"}, "SLURM_JOB_ID=9"),
        ({}, None),
    ],
)
def test_workers_of_one_job_share_its_number(environment: dict[str, str], shared: str | None) -> None:
    with patch.dict(os.environ, environment, clear=True):
        assert run_id() == shared
