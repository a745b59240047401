"""Dockerfile and Apptainer definition name what bundle and program have; `make containers` builds images."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rag_evaluator import __version__
from rag_evaluator.config import NO_NETWORK

ROOT = Path(__file__).parents[3]
CONTAINERS = ROOT / "containers"
DOCKERFILE = (CONTAINERS / "Dockerfile").read_text("utf-8").replace("\\\n", "")
DEFINITION = (CONTAINERS / "rag-evaluator.def").read_text("utf-8")
SWITCHES = {**NO_NETWORK, "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1", "RAGAS_DO_NOT_TRACK": "true"}
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]


def instructions(name: str) -> list[str]:
    """What follows an instruction of the Dockerfile."""
    return [" ".join(line.split()) for line in re.findall(rf"^{name} (.*)$", DOCKERFILE, re.MULTILINE)]


def sections() -> dict[str, list[str]]:
    """The lines of each section of the definition."""
    _, *parts = re.split(r"^%(\w+)\n", DEFINITION, flags=re.MULTILINE)
    lines = [[line.strip() for line in part.splitlines() if line.strip()] for part in parts[1::2]]
    return dict(zip(parts[::2], lines, strict=True))


def assignments(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


def environments() -> dict[str, dict[str, str]]:
    exported = [word for line in sections()["environment"] for word in shlex.split(line)]
    return {"Dockerfile": assignments(shlex.split(instructions("ENV")[0])), "definition": assignments(exported)}


def test_both_install_the_bundle_into_the_folder_whose_programs_they_run(made_once: Path) -> None:
    [run] = instructions("RUN")
    command = run.rpartition("target=/bundle ")[2]
    assert command in sections()["post"]
    script, folder = command.split()[-2:]
    assert (made_once / Path(script).relative_to("/bundle")).is_file()
    assert all(values["PATH"] == f"{folder}/bin:$PATH" for values in environments().values())
    assert [[*SCRIPTS]] == [[word] for word in re.findall(r'"([\w-]+)"', instructions("ENTRYPOINT")[0])]
    assert sections()["runscript"] == [f'exec {next(iter(SCRIPTS))} "$@"']
    assert (folder + "/bin/python") in (CONTAINERS / "container-python").read_text("utf-8")


def test_the_files_that_are_copied_are_in_a_bundle(made_once: Path) -> None:
    for line in sections()["files"]:
        source, target = line.split()
        assert (made_once.parent / source).exists()
        assert target == f"/{source}"
    for comment in re.findall(r"bundle/containers/([\w.-]+)", DOCKERFILE + DEFINITION):
        assert (made_once / "containers" / comment).is_file()


def test_both_have_the_same_python_and_no_network_or_telemetry() -> None:
    [python] = [line.partition("=")[2] for line in instructions("ARG") if line.startswith("PYTHON=")]
    [base] = [line.partition("=")[2] for line in instructions("ARG") if line.startswith("BASE=")]
    [start] = re.findall(r"^From: (.*)$", DEFINITION, re.MULTILINE)
    assert base.replace("${PYTHON}", python) == f"docker.io/library/{start}"
    for values in environments().values():
        assert values.items() >= SWITCHES.items()
    assert instructions("USER") == ["1000:1000"]


@pytest.mark.processes
def test_the_test_of_the_definition_scores_the_sample_without_network(tmp_path: Path) -> None:
    environment = {**environments()["definition"], "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    script = "\n".join(sections()["test"])
    isolated = ["unshare", "--net"] if os.geteuid() == 0 else []
    command = [*isolated, "sh", "-ec", script]
    done = subprocess.run(
        command,
        env={**environment, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "sample: 12 rows" in done.stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder of programs that stands for all of a machine; apptainer writes what it is asked, and runs it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "bash", "sed", "dirname", "mktemp", "rm"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def apptainer(programs: Path) -> None:
    lines = ["#!/bin/sh", 'echo "$@" >&2', 'while [ "$1" != /opt/rag-evaluator/bin/python ]; do shift; done', "shift"]
    (programs / "apptainer").write_text("\n".join([*lines, f'exec {sys.executable} "$@"']) + "\n", "utf-8")
    (programs / "apptainer").chmod(0o755)


def test_a_job_runs_the_python_of_the_image_with_models_read_only(tmp_path: Path, programs: Path) -> None:
    apptainer(programs)
    python = CONTAINERS / "container-python"
    environment = {"PATH": str(programs), "PYTHON": str(python), "PROJECT": str(ROOT), "MODELS": "/data/models"}
    done = subprocess.run(
        ["bash", str(ROOT / "launcher.sh"), "--version"], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"rag-evaluator {__version__}\n"
    words = done.stderr.split()
    assert words[:4] == ["exec", "--nv", "--bind", "/data/models:/data/models:ro"]
    assert {str(tmp_path), f"{tmp_path}/rag-evaluator.sif"} <= set(words)


def test_without_an_engine_the_script_prints_that_nothing_was_built(made_once: Path, programs: Path) -> None:
    done = subprocess.run(
        ["sh", str(CONTAINERS / "build.sh"), str(made_once)],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
    )
    assert done.stderr.splitlines() == [
        "NOT BUILT: containers/Dockerfile: none of docker, podman and buildah runs here.",
        "NOT BUILT: containers/rag-evaluator.def: apptainer is not here.",
    ]
    assert done.returncode == 0
