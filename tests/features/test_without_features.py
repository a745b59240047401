"""Features can be deleted: the core works without any, and everything else works without each."""

import multiprocessing
import re
import shutil
from pathlib import Path

import pytest
from imported import PUBLIC, imports_of

from rag_evaluator.config import all_features, load
from rag_evaluator.config.features import FOLDER

pytestmark = pytest.mark.features
ROOT = Path(__file__).parents[2]
LINKED = ("examples", "prompts", "orig_prompts", "pyproject.toml")
LATE = "langchain_huggingface ragas.metrics.collections sentence_transformers transformers.models.auto.modeling_auto"
STARTER = multiprocessing.get_context("forkserver")
STARTER.set_forkserver_preload(LATE.split())  # each process begins with them, and without anything of ours
HELP_IMPORT_ALL_AND_RUN = """
import importlib, os, pkgutil, sys
from contextlib import redirect_stdout, suppress
os.chdir(folder)
sys.path.insert(0, folder)
told = os.open("told", os.O_WRONLY | os.O_CREAT)
os.dup2(told, 1)
os.dup2(told, 2)
from rag_evaluator.cli.main import main
with open("help", "w") as file, redirect_stdout(file), suppress(SystemExit):
    main(["--help"])
import rag_evaluator
names = [module.name for module in pkgutil.walk_packages(rag_evaluator.__path__, "rag_evaluator.")]
assert len(names) > 100
for name in names:
    if name != "rag_evaluator.__main__" and not (skipped and name.startswith(skipped)):
        importlib.import_module(name)
from rag_evaluator import *
for line in lines:
    if code := main(line.split()):
        sys.exit(f"{line}: exit code {code}")
"""
ENDS = (".py", ".pyi", ".html", ".js", ".jinja", ".jsonl")
NEEDED_BY = {"certify": "rag_evaluator.features.app.label"}  # its pages of labels: the one import between features
CORE = (
    "config.yaml --limit 2",
    "config.yaml --limit 2 --set name=other",
    "sort config.yaml --limit 1 --set name=sorted",
    "generate config.yaml --limit 1 --set name=generated",
    "report results/demo results/other --out both.html",
    "compare results/demo results/other",
    "status results/demo",
)


USUAL = frozenset("app chains check init judges list review setup view".split())
"""Words of features that code has for other things, too: of these only commands and paths are looked for."""
NAMED_BY = {
    "__init__.pyi": all_features(),  # all public names, see `rag_evaluator/__init__.py`
    "ragas/__init__.py": ["testset"],  # names of modules of ragas
    "ragas/names.py": ["testset"],
    "dataset/records.py": ["testset"],  # a class of ragas
}
"""File of the core -> the features that it may name."""


def words_of(name: str) -> dict[str, str]:
    """Word of a feature -> the pattern that finds it: its folder, commands, tasks, and keys of the configuration."""
    feature = all_features()[name]
    keys = load(feature.keys).model_fields if feature.keys else ()
    words = {name, *feature.commands, *feature.tasks, *feature.sections, *keys}
    return {
        word: rf"(?:rag-evaluator |command\(\W*|next_command\(\W*|features[./]){word}\b"
        if word in USUAL
        else rf"\b{word}\b"
        for word in words
    }


@pytest.mark.parametrize("name", all_features())
def test_the_core_has_no_word_of_a_feature(name: str) -> None:
    core = ROOT / "rag_evaluator"
    files = [
        *(path for end in ENDS for path in core.rglob(f"*{end}") if not path.is_relative_to(FOLDER)),
        ROOT / "config.yaml",
        ROOT / "launcher.sh",
    ]
    named = {
        f"{path.relative_to(ROOT)}: {word}"
        for path in files
        if name not in NAMED_BY.get(str(path.relative_to(core)) if path.is_relative_to(core) else "", ())
        for word, pattern in words_of(name).items()
        if re.search(pattern, path.read_text("utf-8"))
    }
    assert named == set()


def test_what_tests_share_needs_no_feature() -> None:
    """A test that imports from a feature is left out where that is deleted (conftest.py); the others stay."""
    tests = ROOT / "tests"
    shared = [path for path in tests.rglob("*.py") if not path.name.startswith("test_")]
    public = {name for module, name in PUBLIC if module.startswith("rag_evaluator.features.")}
    needing = {
        path
        for path in shared
        if tests / "features" not in path.parents
        for module, name in imports_of(path)
        if module.startswith("rag_evaluator.features.") or (module == "rag_evaluator" and name in public)
    }
    assert needing == set()


def copy_without(folder: Path, *gone: str) -> Path:
    """The project without some features."""
    ignored = shutil.ignore_patterns("demo", "*.pyc.*")  # the latter while another process compiles
    shutil.copytree(ROOT / "rag_evaluator", folder / "rag_evaluator", ignore=ignored)
    (folder / "rag_evaluator" / "demo").symlink_to(ROOT / "rag_evaluator" / "demo")
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "config.yaml", folder)
    for name in gone:
        shutil.rmtree(folder / "rag_evaluator" / "features" / name)
    return folder


def help_of(folder: Path, skipped: str, *lines: str) -> str:
    """What --help shows, once everything else has been tried out."""
    names = {"folder": str(folder), "skipped": skipped, "lines": lines}
    process = STARTER.Process(target=exec, args=(HELP_IMPORT_ALL_AND_RUN, names))
    process.start()
    process.join()
    assert process.exitcode == 0, (folder / "told").read_text("utf-8")
    return (folder / "help").read_text("utf-8")


def test_the_core_works_without_any_feature(tmp_path: Path) -> None:
    folder = copy_without(tmp_path, *all_features())
    told = help_of(folder, "", *CORE)
    assert not [name for feature in all_features().values() for name in feature.commands if f"\n  {name} " in told]
    assert "\n  evaluate " in told
    assert (folder / "both.html").is_file()
    assert (folder / "results" / "demo" / "report.html").is_file()


@pytest.mark.parametrize("name", sorted(all_features()))
def test_everything_else_works_without_one_feature(tmp_path: Path, name: str) -> None:
    folder = copy_without(tmp_path, name)
    told = help_of(folder, NEEDED_BY.get(name, ""), CORE[0])
    listed = {
        other: [command for command in feature.commands if f"\n  {command} " in told]
        for other, feature in all_features().items()
    }
    assert listed == {other: [*feature.commands] if other != name else [] for other, feature in all_features().items()}
