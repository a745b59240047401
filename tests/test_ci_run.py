"""What the check of a change does on a machine without Slurm and Chromium: it says so aloud, and soon."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_ROOT = "echo 1000"


def machine(folder: Path, user: str, **commands: str) -> dict[str, str]:
    """An environment in which only a few commands are there; `commands` are what they do."""
    folder.mkdir()
    for name in ("bash", "env", "dirname"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, script in {"id": user, **commands}.items():
        (folder / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": str(folder)}


def run(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / script], env=environment, cwd=ROOT, text=True, capture_output=True, timeout=60)


def test_the_check_of_a_change_says_aloud_what_it_did_not_test(tmp_path: Path) -> None:
    done = run(".ci/run", machine(tmp_path / "bin", NOT_ROOT, make='echo make $1; test "$1" != real-models'))
    assert done.returncode == 0
    first, *beside = done.stdout.split("\n")[:3]
    assert (first, set(beside)) == ("make setup", {"make check", "make test-package"})
    assert done.stdout.split("\n")[3:8] == [
        "make test",
        "make test-processes",
        "make test-models",
        "make test-docs",
        "make test-features",
    ]
    assert "make test-browser" not in done.stdout and "make test-real" not in done.stdout
    assert "NOT TESTED: real models" in done.stderr
    assert "NOT TESTED: Chromium" in done.stderr
    assert "NOT TESTED: Slurm" in done.stderr


@pytest.mark.parametrize("fails", ["setup", "check", "test-package", "test", "test-features"])
def test_the_check_of_a_change_fails_with_each_of_its_parts(tmp_path: Path, fails: str) -> None:
    done = run(".ci/run", machine(tmp_path / "bin", NOT_ROOT, make=f'echo made $1; test "$1" != {fails}'))
    assert done.returncode != 0
    assert f"made {fails}" in done.stdout
