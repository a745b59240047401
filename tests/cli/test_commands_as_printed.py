"""Commands in messages begin as the user began, so that they work as printed: also in a clone after `make run`."""

import ast
import re
import sys
from pathlib import Path

import pytest

import rag_evaluator
from rag_evaluator.cli.main import main
from rag_evaluator.errors import SHELL
from rag_evaluator.resources import command, program
from tools.docs.commands import parsers

ROOT = Path(__file__).parents[2]
PACKAGE = Path(rag_evaluator.__file__).parent
COMMANDS = [name for name, _ in parsers() if name != "rag-evaluator"]
OURS = re.compile(rf"rag-evaluator \w*config\.yaml\b|\b(?:{'|'.join(COMMANDS)})\b")
STARTS = {  # how it was started, below the folder of the user: (argv[0], the Python, PATH) -> what commands begin with
    "installed and on the PATH": ("env/bin/rag-evaluator", "env/bin/python", "env/bin", "rag-evaluator"),
    "by its path in the clone": ("env/bin/rag-evaluator", "env/bin/python", "", "env/bin/rag-evaluator"),
    "by make run": ("main.py", "env/bin/python", "", "env/bin/python main.py"),
    "main.py in an active environment": ("main.py", "env/bin/python", "env/bin", "python main.py"),
    "main.py from elsewhere": ("../clone/main.py", "env/bin/python", "env/bin", "python {above}/clone/main.py"),
    "as a module": ("env/lib/rag_evaluator/__main__.py", "env/bin/python", "", "env/bin/python -m rag_evaluator"),
    "in a folder with a space": ("my env/bin/rag-evaluator", "my env/bin/python", "", "'my env/bin/rag-evaluator'"),
    "by another program": ("train.py", "env/bin/python", "", "rag-evaluator"),
}


@pytest.mark.parametrize("start", STARTS)
def test_commands_begin_as_the_user_began(start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, python, path, expected = STARTS[start]
    home = tmp_path / "home"
    for name in {started, python, "env/bin/python", "env/bin/rag-evaluator"}:
        made = home / name
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch(mode=0o755)
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setattr(sys, "executable", str(home / python))
    monkeypatch.setenv("PATH", str(home / path) if path else "")
    token = SHELL.set(True)
    try:
        assert program() == expected.format(above=tmp_path)
        assert command("merge", "my results/a") == f"{program()} merge 'my results/a'"
    finally:
        SHELL.reset(token)


def test_a_program_of_somebody_else_is_not_taken_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/theirs/main.py"])
    assert program() == "rag-evaluator"


def test_help_shows_commands_as_the_user_began(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["main.py"])
    monkeypatch.setattr(sys, "executable", "/env/bin/python")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["gate", "--help"])
    shown = capsys.readouterr().out
    assert "usage: /env/bin/python main.py gate" in shown
    assert "  /env/bin/python main.py gate results/demo --min mean:faithfulness=0.8" in shown
    assert "rag-evaluator " not in shown


EXAMPLES = {"EXAMPLES", "VIEW_EXAMPLES", "REVIEW_EXAMPLES"}


def texts_of(path: Path) -> list[str]:
    """The strings of a module that may be printed: no docstrings, and no examples, which the help rewrites."""
    tree = ast.parse(path.read_text("utf-8"))
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.keyword) and node.arg in ("help", "epilog", "description"):
            skipped.update(map(id, ast.walk(node.value)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "with_examples":
            skipped.update(map(id, ast.walk(node)))
        if isinstance(node, ast.Assign) and EXAMPLES & {getattr(to, "id", "") for to in node.targets}:
            skipped.update(map(id, ast.walk(node.value)))
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in skipped]
    return [node.value for node in constants if isinstance(node.value, str)]


READ_ELSEWHERE = {  # in files that are passed on
    "features/setup/starter.py",
    "report/document.py",
    "features/app/answers.py",
    "features/app/templates/enter.html",
    "prompts/adapt.py",
}


def test_no_message_spells_a_command_by_hand() -> None:
    pages = {path: [path.read_text("utf-8")] for path in PACKAGE.rglob("templates/*.html")}
    modules = {path: texts_of(path) for path in PACKAGE.rglob("*.py")}
    texts = {path.relative_to(PACKAGE).as_posix(): own for path, own in (modules | pages).items()}
    kept = {path: own for path, own in texts.items() if path not in READ_ELSEWHERE}
    found = [f"{path}: {text}" for path, own in kept.items() for text in own if OURS.search(text)]
    assert not found, "build it with rag_evaluator.resources.command:\n" + "\n".join(found)
