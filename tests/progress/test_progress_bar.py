"""On a terminal a bar moves from the first token, says once that Ctrl-C is safe, and leaves the terminal as it was."""

import os
import re
import shlex
import sys
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
COMMAND = """
import sys, time
from rag_evaluator.cli import cluster, main, watching
from rag_evaluator.cli.console import say
from rag_evaluator.config.features import Command
from rag_evaluator.files.progress import ACTIVITY
watching.FIRST = 0.0

def work(options):
    with ACTIVITY.phase("loading /models/Qwen3-8B"):
        time.sleep(0.5)
    with ACTIVITY.counted("scores") as at:
        at(0, 40)
        for step in range(1, 5):
            ACTIVITY.tokens += 100
            time.sleep(0.3)
        print("a library says something", file=sys.stderr)
        at(30, 40)
        ACTIVITY.missing += 2
        time.sleep(0.6)
    say("the table")
    return 0

ARGUMENTS = "rag_evaluator.cli.arguments:add_evaluate_command"
rows = {"evaluate": Command("rag_evaluator.cli.cluster:work", ARGUMENTS, continued=True)}
main.all_commands = lambda: rows
cluster.work = work
sys.exit(main.main(["evaluate", "x"]))
"""


@pytest.fixture(scope="module")
def terminal() -> str:
    """All that came on a terminal of its own."""
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm-256color"}
    command = shlex.join([sys.executable, "-c", COMMAND])
    text, code = pexpect.run(command, timeout=60, withexitstatus=True, encoding="utf-8", cwd=ROOT, env=environment)
    assert code == 0, text
    return str(text)


def test_the_bar_moves_with_the_tokens_of_the_first_batch(terminal: str) -> None:
    text = CONTROL.sub("", terminal)
    assert text.index("loading /models/Qwen3-8B") < text.index("0/40, 0 missing, 100 tokens")
    assert text.index(" 100 tokens") < text.index(" 300 tokens") < text.index("30/40, ")
    assert "2 missing" in text


def test_it_says_once_that_ctrl_c_is_safe(terminal: str) -> None:
    assert terminal.count("Ctrl-C is safe; the same command continues") == 1


def test_the_bar_is_gone_before_the_table_and_the_cursor_was_never_hidden(terminal: str) -> None:
    assert terminal.endswith("the table\r\n")
    assert "\x1b[?25l" not in terminal
    assert "a library says something" in terminal
