"""`rag-evaluator view` as a process: what it prints, how it ends."""

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import uvicorn
from aliases import Capture, Patch

from rag_evaluator.cli.main import main

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "rag_evaluator", "view"]
LIBRARIES = (
    "import sys; from rag_evaluator.features.app.app import make_app; print([n for n in %r if n in sys.modules])"
)


@contextmanager
def running(*options: str, token: str = "") -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The server, and the link that it has printed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = {**os.environ, "RAG_EVALUATOR_TOKEN": token}
    with subprocess.Popen([*COMMAND, *options], cwd=ROOT, env=environment, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_ends_the_server_cleanly_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    (tmp_path / "results").mkdir()
    os.environ["TMPDIR"] = str(scratch)
    try:
        with running(str(tmp_path / "results"), "--port", "0") as (process, link):
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", link)
            process.send_signal(number)
            rest = process.communicate(timeout=30)[0]
    finally:
        del os.environ["TMPDIR"]
    assert (process.returncode, rest.splitlines()[-1]) == (0, "view has ended.")
    assert "Traceback" not in rest
    assert not list(scratch.glob("rag-evaluator*"))


@pytest.mark.processes
def test_a_port_in_use_is_named_with_the_remedy(tmp_path: Path) -> None:
    with running(str(tmp_path), "--port", "0", token="a-token-of-these-tests") as (_, link):
        assert link.endswith("/?token=a-token-of-these-tests")
        port = link.split(":")[2].partition("/")[0]
        again = subprocess.run([*COMMAND, str(tmp_path), "--port", port], cwd=ROOT, capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (2, "")
    assert "cannot listen" in again.stderr
    assert "--port 0" in again.stderr


@pytest.mark.parametrize(
    ("options", "token", "expected"),
    [
        (["nothing"], "", "nothing: no such folder"),
        (["docs", "--as", "Lena"], "", "needs --review"),
        (["docs", "--review", "--as", " "], "", "who reviews? Expected a name"),
        (["docs", "--review", "--as", "x" * 201], "", "who reviews? Expected a name"),
        (["docs"], "short", "RAG_EVALUATOR_TOKEN: expected 16 to 200"),
        (["docs"], "with spaces; and signs" * 2, "RAG_EVALUATOR_TOKEN: expected 16 to 200"),
    ],
)
def test_bad_input_is_reported_before_anything_listens(
    options: list[str],
    token: str,
    expected: str,
    monkeypatch: Patch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("RAG_EVALUATOR_TOKEN", token)
    assert main(["view", *options]) == 2  # a socket would be an error here: tests may open none
    shown = capsys.readouterr()
    assert shown.out == ""
    assert expected in shown.err
    assert token not in shown.err or not token


def test_the_app_starts_without_libraries_that_take_seconds() -> None:
    slow = ("torch", "transformers", "ragas", "pandas", "scipy", "statsmodels", "datasets", "vl_convert")
    done = subprocess.run(
        [sys.executable, "-c", LIBRARIES % (slow,)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_pages_that_are_cancelled_when_the_server_ends_are_no_errors(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    log = logging.getLogger("uvicorn.error")

    def run(server: uvicorn.Server, sockets: object) -> None:
        log.error("a fault of a page")
        server.should_exit = True
        log.error("Cancel 1 running task")

    monkeypatch.setattr(signal, "signal", lambda *given: None)
    monkeypatch.setattr("rag_evaluator.features.app.command._listen", lambda host, port: MagicMock())
    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(log, "filters", [])
    assert main(["view", str(tmp_path)]) == 0
    assert capsys.readouterr().err.split(maxsplit=1)[1:] == ["a fault of a page\n"]
