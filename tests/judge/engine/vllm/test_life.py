"""No process of a server of ours lives on, whoever is killed, whatever its processes do."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from rag_evaluator import ModelError
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import MODULE, VllmEngine, VllmServer, command, descendants, environment, parents, version_of

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="watches processes by Linux' means"),
]
FAKE = Path(__file__).parent / "fake"
LIMIT = 15.0  # seconds in which all must have ended
MARK = "FAKE_VLLM_RUN"
OWNER = f"""
import os, sys, time
from rag_evaluator.judge.engines.vllm.engine import VllmServer
life = VllmServer(lambda socket: [sys.executable, "-m", {MODULE!r}, "--uds", str(socket)],
            {{**os.environ, "PYTHONPATH": {str(FAKE)!r}}}, grace=1)
if os.environ["FAKE_VLLM"] != "loading":
    life.wait_until_ready(60)
print(life.socket.parent, flush=True)
time.sleep(3600)
"""
Processes = Callable[[], dict[int, str]]


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """Living processes of this test's servers, with their command lines; they bear a mark that children inherit."""
    mark = f"{MARK}={uuid.uuid4().hex}"
    monkeypatch.setenv(*mark.split("="))
    tmp_path_factory.getbasetemp()  # is made where it belongs
    folder = tempfile.mkdtemp(prefix="fake-")  # of folders that a kill leaves
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr("tempfile.tempdir", folder)

    def living() -> dict[int, str]:
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                marked = mark.encode() in (path / "environ").read_bytes()
                state = (path / "stat").read_text().rpartition(")")[2].split()[0]
                line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marked and state not in "ZX" and int(path.name) != os.getpid():
                found[int(path.name)] = line
        return found

    yield living
    for process in living():
        os.kill(process, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def wait(condition: Callable[[], object], seconds: float = LIMIT) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def tree(*roots: int) -> dict[int, str]:
    """Processes with all below them, and their command lines; vLLM's processes overwrite their environment."""
    found = {}
    for process in {*roots, *(one for root in roots for one in descendants(root))}:
        with suppress(OSError):
            found[process] = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def gone(living: Iterable[int], seconds: float = LIMIT) -> bool:
    """Whether processes end in time."""
    return wait(lambda: not set(living) & parents().keys(), seconds)


def of_kind(living: dict[int, str], kind: str) -> list[int]:
    """The owner, the first and second watcher, or the processes of the server, oldest first."""
    kinds = {
        "owner": [one for one, line in living.items() if "VllmServer(" in line],
        "watcher": [one for one, line in living.items() if "watcher.py" in line],
        "server": [one for one, line in living.items() if f"-m {MODULE}" in line and "watcher.py" not in line],
    }
    return sorted(kinds[kind])


@pytest.mark.parametrize("stage", ["loading", "decoding"])
@pytest.mark.parametrize("killed", ["owner", "first watcher", "second watcher", "server"])
def test_nothing_lives_on_after_a_kill(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, stage: str, killed: str
) -> None:
    monkeypatch.setenv("FAKE_VLLM", stage)
    with (
        subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner,
        ExitStack() as end,
    ):
        end.callback(owner.kill)
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert wait(lambda: len(of_kind(processes(), "server")) == 3, 60), processes()
        living = processes()
        place = {"second watcher": 1}.get(killed, 0)
        os.kill(of_kind(living, killed.split()[-1])[place], signal.SIGKILL)

        def left() -> dict[int, str]:
            return {one: line for one, line in processes().items() if one != owner.pid}

        began = time.monotonic()
        assert wait(lambda: not left()), left()
        assert time.monotonic() - began < LIMIT
        assert (owner.poll() is None) == (killed != "owner")
        assert wait(lambda: not folder.exists() or killed != "owner")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1])
def test_signals_to_the_whole_job_do_not_end_the_server(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """Slurm sends them to every process of a job."""
    life = started(monkeypatch, "polite")
    for one in processes():
        os.kill(one, number)
    time.sleep(1)
    assert not life.ended
    life.stop()
    assert not processes()


def test_the_server_of_a_run_that_ends_in_order_has_ended_before_it(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "polite")
    done = subprocess.run([sys.executable, "-c", OWNER.replace("time.sleep(3600)", "")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not processes()
    assert not Path(done.stdout.strip()).exists()


def test_only_the_user_can_reach_the_server(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    life = started(monkeypatch, "polite")
    assert stat.S_IMODE(life.socket.parent.stat().st_mode) == 0o700
    assert stat.S_ISSOCK(life.socket.stat().st_mode)
    folder = life.socket.parent
    life.stop()
    assert not folder.exists()


def test_a_long_folder_for_temporary_files_is_none_for_a_socket(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    life = started(monkeypatch, "polite")
    life.stop()


def test_a_server_that_ends_before_it_is_ready_says_why(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"(?s)ended before it was ready.*last lines:.*RuntimeError: no such weights"):
        started(monkeypatch, "broken")
    assert wait(lambda: not processes())


def test_a_server_that_loads_for_too_long_is_ended(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"(?s)not ready after 2 seconds; raise judge.vllm.start_timeout.*loading wei"):
        started(monkeypatch, "loading", seconds=2)
    assert not processes()


def started(monkeypatch: pytest.MonkeyPatch, how: str, seconds: float = 60) -> VllmServer:
    monkeypatch.setenv("FAKE_VLLM", how)
    given = {**os.environ, "PYTHONPATH": str(FAKE)}
    life = VllmServer(lambda socket: [sys.executable, "-m", MODULE, "--uds", str(socket)], given, grace=1)
    life.wait_until_ready(seconds)
    return life


@pytest.fixture
def python(tmp_path: Path) -> str:
    """The Python of an environment that has the fake."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={FAKE} exec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({"args": ["--reasoning-parser", "qwen3"]}, r"judge\.vllm\.args: --reasoning-parser is not yours to set"),
        ({"args": ["--served_model_name=x"]}, r"--served-model-name is not yours"),
        ({"python": "/no/such/python"}, r"judge\.vllm\.python: no such program: /no/such/python"),
        ({"python": shutil.which("false")}, r"judge\.vllm\.python: .* has no vLLM"),
    ],
)
def test_what_cannot_start_is_refused_before_it_is_tried(settings: dict[str, object], expected: str) -> None:
    config = JudgeConfig(engine="vllm", vllm=settings)
    with pytest.raises(ModelError, match=expected):
        VllmEngine.find(config, True)


def test_the_signature_names_version_parallelism_and_arguments_without_paths(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "a.jinja", tmp_path / "b.jinja"
    one.write_text("same")
    other.write_text("same")
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")

    def parts(*args: str) -> dict[str, str]:
        return VllmEngine.signature_parts(JudgeConfig(engine="vllm", vllm={"python": python, "args": list(args)}))

    assert parts() == {"vllm": "0.99.0", "tensor_parallel": "1", "vllm_batch_invariant": "1"}
    assert parts("-tp", "2")["tensor_parallel"] == parts("--tensor_parallel_size=2")["tensor_parallel"] == "2"
    assert parts("--chat-template", str(one)) == parts("--chat-template", str(other))
    assert str(tmp_path) not in str(parts("--chat-template", str(one), f"--tokenizer={one}"))
    assert parts("--quantization", "fp8")["vllm_args"] == "--quantization fp8"


def test_the_server_reports_to_nobody_and_uses_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTPS_PROXY", "PYTHONPATH", "VLLM_API_KEY"):
        monkeypatch.setenv(name, "x")
    given = environment(offline=True)
    assert given.keys().isdisjoint({"http_proxy", "HTTPS_PROXY", "PYTHONPATH", "VLLM_API_KEY"})
    assert (given["VLLM_NO_USAGE_STATS"], given["VLLM_DO_NOT_TRACK"], given["HF_HUB_OFFLINE"]) == ("1", "1", "1")
    assert (given["GLOO_SOCKET_IFNAME"], given["NCCL_SOCKET_IFNAME"]) == ("lo", "lo")
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "ib0")
    assert environment(offline=True)["NCCL_SOCKET_IFNAME"] == "ib0"
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert "HF_HUB_OFFLINE" not in environment(offline=False)


def test_the_command_ends_with_the_users_own_arguments(python: str) -> None:
    config = JudgeConfig(engine="vllm", dtype="float32", vllm={"python": python, "args": ["-tp", "2"]})
    line = command(config, "/models/x", Path("/run/socket"))
    assert line[:3] == [python, "-m", MODULE] and line[-2:] == ["-tp", "2"]
    assert line[line.index("--uds") + 1] == "/run/socket" and line[line.index("--dtype") + 1] == "float32"
    assert version_of(python) == "0.99.0"
