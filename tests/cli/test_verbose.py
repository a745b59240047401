"""What libraries say comes only with `-v`, of every command."""

import argparse
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli import main as command_line

ROOT = Path(__file__).parents[2]
LOUD = "something may be slow"
LOGGERS = ("accelerate", "datasets", "huggingface_hub", "sentence_transformers")
VARIABLES = {
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TQDM_DISABLE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def talk(options: argparse.Namespace) -> int:
    """A command in which libraries talk."""
    warnings.warn(LOUD, UserWarning, stacklevel=1)
    for name in LOGGERS:
        logging.getLogger(name).warning(LOUD)
    return 0


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for name in LOGGERS:
        caplog.set_level(logging.WARNING, logger=name)
    for name in VARIABLES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.parametrize("flag", [[], ["-v"], ["--verbose"]])
def test_libraries_talk_only_with_v(flag: list[str], monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr("rag_evaluator.cli.cluster.status", talk)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert command_line.main(["status", "x", *flag]) == 0
        said = [str(warning.message) for warning in warned if not issubclass(warning.category, ResourceWarning)]
        assert said == ([LOUD] if flag else [])  # files that other tests left to the garbage collector say so any time
    assert len(caplog.records) == (len(LOGGERS) if flag else 0)
    assert {name: os.environ[name] for name in VARIABLES if name in os.environ} == ({} if flag else VARIABLES)


def test_warnings_that_python_was_asked_for_are_shown() -> None:
    code = (
        "import sys, warnings\nfrom rag_evaluator.cli import cluster, main\n"
        f"cluster.status = lambda options: warnings.warn({LOUD!r}) or 0\n"
        "sys.exit(main.main(['status', 'x']))"
    )
    command = [sys.executable, "-W", "always::UserWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert LOUD in done.stderr
