"""Features can be deleted: the core works without any, and everything else works without each."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rag_evaluator.config import FOLDER, all_features

pytestmark = pytest.mark.features
ROOT = Path(__file__).parents[2]
COPIED, LINKED = ("main.py", "config.yaml"), ("examples", "prompts", "orig_prompts", "pyproject.toml")
IMPORT_ALL_AND_RUN = """
import importlib, pkgutil, sys, rag_evaluator
skipped, *lines = sys.argv[1:]
names = [module.name for module in pkgutil.walk_packages(rag_evaluator.__path__, "rag_evaluator.")]
assert len(names) > 100
for name in names:
    if name != "rag_evaluator.__main__" and not (skipped and name.startswith(skipped)):
        importlib.import_module(name)
from rag_evaluator import *
from rag_evaluator.cli.main import main
for line in lines:
    if code := main(line.split()):
        sys.exit(f"{line}: exit code {code}")
"""
NEEDED_BY = {"certify": "rag_evaluator.features.app."}  # its pages of labels: the one import between features
CORE = (
    "config.yaml --limit 2",
    "config.yaml --limit 2 --set name=other",
    "sort config.yaml --limit 1 --set name=sorted",
    "generate config.yaml --limit 1 --set name=generated",
    "report results/demo results/other --out both.html",
    "compare results/demo results/other",
    "status results/demo",
)


def copy_without(folder: Path, *gone: str) -> Path:
    """The project without some features."""
    ignored = shutil.ignore_patterns("__pycache__", "demo")
    shutil.copytree(ROOT / "rag_evaluator", folder / "rag_evaluator", ignore=ignored)
    (folder / "rag_evaluator" / "demo").symlink_to(ROOT / "rag_evaluator" / "demo")
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    for name in COPIED:  # a program is found beside what its link leads to
        shutil.copy(ROOT / name, folder)
    for name in gone:
        shutil.rmtree(folder / "rag_evaluator" / "features" / name)
    return folder


def python(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_core_works_without_any_feature(tmp_path: Path) -> None:
    folder = copy_without(tmp_path, *all_features())
    told = python(folder, "main.py", "--help")
    assert not [name for feature in all_features().values() for name in feature.commands if f"\n  {name} " in told]
    assert "\n  evaluate " in told
    python(folder, "-c", IMPORT_ALL_AND_RUN, "", *CORE)
    assert (folder / "both.html").is_file()
    assert (folder / "results" / "demo" / "report.html").is_file()


@pytest.mark.parametrize("name", sorted(path.parent.name for path in FOLDER.glob("*/feature.py")))
def test_everything_else_works_without_one_feature(tmp_path: Path, name: str) -> None:
    folder = copy_without(tmp_path, name)
    told = python(folder, "main.py", "--help")
    listed = {
        other: [command for command in feature.commands if f"\n  {command} " in told]
        for other, feature in all_features().items()
    }
    assert listed == {other: [*feature.commands] if other != name else [] for other, feature in all_features().items()}
    python(folder, "-c", IMPORT_ALL_AND_RUN, NEEDED_BY.get(name, ""), CORE[0])
