"""What the check of a change does on a machine without Slurm and Chromium: it says so aloud, and soon."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def check(folder: Path, make: str) -> subprocess.CompletedProcess[str]:
    """The check of a change where only a few commands are there; `make` is what that one does."""
    for name in ("bash", "env", "dirname"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, script in {"id": "echo 1000", "make": make}.items():
        (folder / name).write_text(f"#!/bin/bash\n{script}\n", "utf-8")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": str(folder)}
    return subprocess.run([ROOT / ".ci/run"], env=environment, cwd=ROOT, text=True, capture_output=True, timeout=60)


def test_the_check_of_a_change_prints_what_it_did_not_test(tmp_path: Path) -> None:
    done = check(tmp_path, 'echo made $*; test "$1" != real-models')
    assert done.returncode == 0
    made = "setup check test-package test test-processes test-models test-docs test-features"
    assert {*made.split()} <= {*done.stdout.split()}
    assert "test-browser" not in done.stdout and "test-real" not in done.stdout
    for part in ("real models", "Chromium", "Slurm"):
        assert f"NOT TESTED: {part}" in done.stderr


@pytest.mark.parametrize("fails", ["setup", "check", "test-package", "test", "test-features"])
def test_the_check_of_a_change_fails_with_each_of_its_parts(tmp_path: Path, fails: str) -> None:
    done = check(tmp_path, f'echo made $*; case " $* " in *" {fails} "*) false; esac')
    assert done.returncode != 0
    assert fails in done.stdout.split()
