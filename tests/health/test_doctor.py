"""`rag-evaluator doctor`: what is broken, with what to do; and nothing that an issue must not show."""

import json
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli.main import main
from rag_evaluator.embeddings.hub import devices
from rag_evaluator.features.setup import doctor as doctoring
from rag_evaluator.features.setup import machine
from rag_evaluator.features.setup.machine import answer_of, probes

TORCH: dict[str, Any] = {
    "version": "2.13.0", "cuda": None, "hip": None, "threads": 2, "cpu": "AVX2", "mps": False, "devices": [],
}  # fmt: skip
GPU = {
    "device": "cuda:0", "name": "NVIDIA H200", "memory": 150 << 30, "free": 149 << 30, "capability": "9.0",
    "bf16": True,
}  # fmt: skip
Tried = dict[str, dict[str, Any]]
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The exit code of `doctor`, and what it printed; imports are said to have gone well, but for those given."""

    def examine(*arguments: str, tried: Tried | None = None, command: str = "doctor") -> tuple[int, str]:
        made = {"ragas": {"answer": "0.4.3"}, "torch": {"answer": TORCH}, **(tried or {})}
        monkeypatch.setattr(doctoring, "probes", lambda vllm_python: made)
        code = main([command, *arguments])
        return code, capsys.readouterr().out

    return examine


def test_check_without_a_configuration_looks_at_the_machine_as_doctor_does(run: Run) -> None:
    broken: Tried = {"torch": {"error": "ImportError: libcudnn"}}
    for tried, code in (({}, 0), (broken, 1)):
        (checked, shown), (examined, expected) = (
            run("--json", tried=tried, command=name) for name in ("check", "doctor")
        )
        assert (checked, examined) == (code, code)
        assert json.loads(shown)["problems"] == json.loads(expected)["problems"]
    assert run("--prompt", command="check")[0] == 2


def test_a_healthy_installation_has_exit_code_0_and_says_what_there_is(run: Run) -> None:
    code, shown = run()
    assert code == 0, shown
    assert shown.endswith("nothing is broken\n")
    for part in ("python ", "ragas ", "torch ", "CPU only", "available", "GiB", "commands", "cache of models"):
        assert part in shown


@pytest.mark.parametrize(
    ("tried", "told"),
    [
        ({"ragas": {"error": "ModuleNotFoundError: no vertexai"}}, "ragas cannot be imported: ModuleNotFoundError: no"),
        ({"torch": {"error": "ended with exit code -11"}}, "torch cannot be imported: ended with exit code -11"),
        ({"vllm": {"answer": {"python": "3.12.1"}}}, "the Python for vLLM has no vLLM"),
        ({"vllm": {"error": "cannot be started: No such file or directory"}}, "vllm cannot be imported: cannot be st"),
    ],
)
def test_what_is_broken_is_named_with_what_to_do_and_exit_code_1(run: Run, tried: Tried, told: str) -> None:
    code, shown = run(tried=tried)
    assert code == 1
    assert f"broken: {told}" in shown
    assert re.search(r"broken: .*\n  to do: \w.*\n1 broken\n$", shown)


@pytest.mark.parametrize(
    ("torch", "told"),
    [
        ({}, "torch is a build without CUDA"),
        ({"cuda": "13.0"}, "torch is built for CUDA 13.0 and sees no GPU"),
        ({"cuda": "13.0", "devices": [GPU]}, None),
    ],
)
def test_a_driver_without_a_gpu_for_torch_is_noted(
    run: Run, torch: dict[str, Any], told: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctoring, "DRIVER", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    code, shown = run(tried={"torch": {"answer": {**TORCH, **torch}}})
    assert code == 0
    assert told in shown if told else "note:" not in shown
    if not told:
        assert "NVIDIA H200, 150.0 GiB, free 149.0 GiB, capability 9.0, bf16 yes" in shown


SECRET = "hf_abcdefghijklmnop"


def test_what_is_printed_names_no_person_no_machine_and_no_secret(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "lena_torvik"
    (home / "models").mkdir(parents=True)
    monkeypatch.setattr(socket, "gethostname", lambda: "node17.example.org")
    for name, value in {
        "HOME": str(home), "USER": "ltorvik", "LOGNAME": "ltorvik", "HOSTNAME": "node17", "HF_TOKEN": SECRET,
        "OPENAI_API_KEY": SECRET, "https_proxy": f"http://me:{SECRET}@proxy", "HF_HOME": f"{home}/models",
        "TMPDIR": "/scratch/ltorvik/tmp", "SLURM_JOB_ID": "17", "SLURM_JOB_ACCOUNT": SECRET,
        "SLURM_JOB_NODELIST": "node17", "MY_SECRET": SECRET, "OMP_NUM_THREADS": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    broken: Tried = {"ragas": {"error": f"ImportError: {home}/env/x.py on NODE17.example.org of ltorvik"}}
    for arguments in ((), ("--json",)):
        code, shown = run(*arguments, tried=broken)
        assert code == 1
        assert not [word for word in (SECRET, "torvik", str(tmp_path), "node17") if word in shown.lower()]
        for part in ("~/models", "/scratch/<user>/tmp", "ImportError: ~/env/x.py on <host> of <user>", "HF_TOKEN"):
            assert part in shown


def test_json_is_one_document_with_everything(run: Run) -> None:
    code, shown = run("--json")
    found = json.loads(shown)
    assert (code, found["healthy"], found["problems"]) == (0, True, [])
    assert found["imports"]["torch"]["answer"]["cuda"] is None
    assert found["memory"]["total"] >= found["memory"]["available"] > 0
    assert found["processors"]["allowed"] >= 1
    assert found["packages"]["ragas"].startswith("0.4.")


def test_imports_are_tried_in_processes_of_their_own(tmp_path: Path) -> None:
    said = {code: answer_of([sys.executable, "-c", code], {}, 20) for code in ("print('3')", "raise OSError('no')", "")}
    assert list(said.values()) == [{"answer": 3}, {"error": "OSError: no"}, {"error": "its answer cannot be read"}]
    assert "cannot be started" in answer_of([str(tmp_path / "python")], {})["error"]
    assert answer_of([sys.executable, "-c", "import time; time.sleep(9)"], {}, 0.3)["error"] == "no answer after 0 s"


@pytest.mark.slow  # imports ragas and torch in new processes
def test_ragas_torch_and_a_python_for_vllm_answer_here() -> None:
    found = probes(sys.executable)
    assert found["ragas"]["answer"].startswith("0.4")
    assert found["torch"]["answer"]["version"]
    assert found["vllm"]["answer"]["torch"]


def test_torch_says_what_it_can_use() -> None:
    assert devices().keys() == TORCH.keys()


def test_the_cache_is_measured_without_counting_a_model_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "hub" / "models--a--b"
    (model / "blobs").mkdir(parents=True)
    (model / "blobs" / "x").write_bytes(b"x" * 1000)
    (model / "weights").symlink_to(model / "blobs" / "x")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    found = machine.cache()
    assert (found["bytes"], found["models"], found["all"]) == (1000, 1, True)
    monkeypatch.setattr(machine, "CACHE_SECONDS", -1.0)
    assert machine.cache()["all"] is False


def test_the_memory_limit_of_a_container_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "max").write_text("1000000\n")
    monkeypatch.setattr(machine, "LIMITS", (str(tmp_path / "none"), str(tmp_path / "max")))
    assert machine.memory()["limit"] == 1_000_000
