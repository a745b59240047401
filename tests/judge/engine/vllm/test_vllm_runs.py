"""Whole runs through a real vLLM: killed, interrupted and started again; `make test-vllm VLLM_PYTHON=...` runs them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from test_life import Processes, gone, processes, tree, wait
from test_vllm_engine import ENVIRONMENT, PYTHON

from rag_evaluator import RAGEvaluator
from rag_evaluator.demo import DEMO_JUDGE
from rag_evaluator.run import Journal

pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not PYTHON, reason="VLLM_PYTHON names no Python with vLLM")]
ROOT = Path(__file__).parents[4]
SAMPLE = ROOT / "examples" / "dataset.jsonl"
METRICS = ["faithfulness", "context_recall", "context_relevance"]
ROWS = 16
START = 1800.0  # seconds until the first record of a run is there, on a machine that has much else to do
__all__ = ["processes"]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    sample = lines_of(SAMPLE)
    asked = [(number, sample[number % len(sample)]) for number in range(ROWS)]
    return [{**row, "user_input": f"{number + 1}. {row['user_input']}"} for number, row in asked]


@pytest.fixture(scope="module")
def expected(rows: list[dict[str, Any]]) -> list[list[float]]:
    """What our own engine says, which vLLM says, too."""
    evaluator = RAGEvaluator({"metrics": METRICS, "judge": {"model": str(DEMO_JUDGE), "dtype": "float32"}})
    results = evaluator.evaluate(rows)
    evaluator.judge.release()
    return [[results.scores[name][row].value for name in METRICS] for row in range(ROWS)]


@pytest.fixture
def config(tmp_path: Path, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = {"model": str(DEMO_JUDGE), "dtype": "float32", "engine": "vllm", "batch_size": 2}
    judge["vllm"] = {"python": PYTHON, "args": ["--enforce-eager"]}
    settings = {"dataset": "rows.jsonl", "metrics": METRICS, "judge": judge, "chunk_size": 4}
    (tmp_path / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")
    return tmp_path / "config.yaml"


def begun(*arguments: object) -> "subprocess.Popen[str]":
    """The command in a session of its own, as a shell begins one in a process group of its own."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), *map(str, arguments)], start_new_session=True, **pipes
    )


@contextmanager
def decoding(config: Path, *options: str, command: str = "evaluate") -> Iterator["subprocess.Popen[str]"]:
    """The command, once it has journalled something; it is killed in the end if it still lives."""
    kind = "answers" if command == "sort" else "scores"
    before = set(journalled(config, kind))
    with begun(command, config, *options) as run:
        try:
            there = wait(lambda: set(journalled(config, kind)) - before or run.poll() is not None, START)
            assert there and run.poll() is None, run.communicate(timeout=30)
            yield run
        finally:
            if run.poll() is None:
                run.kill()


def journalled(config: Path, kind: str) -> list[bytes]:
    """Whole lines of records or answers that are on disk, published or not."""
    paths = sorted((config.parent / "results" / "run").glob(f"**/g1/{kind}/*.jsonl"))
    return [line for path in paths for line in path.read_bytes().split(b"\n")[:-1]]


def cells(config: Path) -> Counter[tuple[Any, Any]]:
    records = [json.loads(line) for kind in ("parts", "scores") for line in journalled(config, kind)]
    return Counter((record["index"], record["column"]) for record in records if "index" in record)


def made(config: Path) -> int:
    """Cells that the process made which finished each chunk; the others were there before it began."""
    journal = Journal(config.parent / "results" / "run")
    footers = [journal.read_footer(chunk) for chunk in range(journal.plan.chunks)]
    own = footers[-1]["process"]
    return sum(footer["made"] for footer in footers if footer["process"] == own)


def finished(config: Path, *arguments: str) -> str:
    """What the same command prints when it runs to its end."""
    with begun(*arguments or ("evaluate",), config) as run:
        said, _ = run.communicate(timeout=START)
    assert run.returncode == 0, said
    return said


def victims(living: dict[int, str], kind: str) -> list[int]:
    """The command itself, the server, or the processes that the server has started."""
    names = {"us": "main.py", "server": "-m vllm.entrypoints", "engine": "EngineCore"}
    return sorted(one for one, line in living.items() if names[kind] in line and "watcher.py" not in line)


def shared_memory(living: dict[int, str]) -> set[Path]:
    """Shared memory that processes have in use."""
    found = set()
    for process in living:
        with suppress(OSError):
            maps = Path(f"/proc/{process}/maps").read_text().splitlines()
            found |= {Path(line.split(maxsplit=5)[5]) for line in maps if " /dev/shm/" in line}
    return found


def values(config: Path) -> list[list[float]]:
    scores = lines_of(config.parent / "results" / "run" / "scores.jsonl")
    return [[row[name] for name in METRICS] for row in scores]


def left_behind(used: set[Path]) -> set[Path]:
    """Of shared memory, and of temporary files but for what a compiler keeps for the next start."""
    files = {path for path in Path(os.environ["TMPDIR"]).rglob("*") if "torchinductor" not in str(path)}
    return {path for path in used if path.exists()} | {path for path in files if not path.is_dir()}


ENDS = [
    ("us", signal.SIGKILL, -signal.SIGKILL, ""),
    ("server", signal.SIGKILL, 75, "the judge is lost: "),
    ("engine", signal.SIGKILL, 75, "the judge is lost: "),
    ("us", signal.SIGTERM, 75, "stopped by SIGTERM: what was scored is kept, the same command continues."),
    ("terminal", signal.SIGINT, 75, "stopped by SIGINT"),  # Ctrl-C
]


def test_a_run_that_is_killed_and_stopped_again_and_again_continues_with_the_same_command(
    config: Path, processes: Processes, expected: list[list[float]]
) -> None:
    for whom, number, code, message in ENDS:
        before = cells(config)
        with decoding(config, "--grace", "60") as run:
            living = tree(run.pid)
            used, known = shared_memory(living), cells(config)
            if whom == "terminal":
                os.killpg(run.pid, number)
            else:
                os.kill(victims(living, whom)[0], number)
            said, _ = run.communicate(timeout=300)
        assert run.returncode == code and message in said, said
        assert gone(living), tree(*living)
        assert wait(lambda used=used: not left_behind(used)), left_behind(used)  # type: ignore[misc]
        assert before.keys() < known.keys() <= cells(config).keys()
        assert number == signal.SIGKILL or len(cells(config)) > len(known)  # what was in the making was finished
    kept = cells(config)
    assert 0 < len(kept) < ROWS * len(METRICS)
    finished(config)
    assert made(config) == ROWS * len(METRICS) - len(kept)
    assert cells(config) == Counter((row, name) for row in range(ROWS) for name in METRICS)
    assert values(config) == expected
    assert not processes()


def test_no_question_of_a_killed_sort_is_asked_twice(config: Path, processes: Processes) -> None:
    with decoding(config, command="sort") as run:
        living = tree(run.pid)
        run.kill()
        run.wait()
    assert gone(living), tree(*living)
    asked = [question_of(line) for line in journalled(config, "answers")]
    assert asked
    finished(config, "sort")
    again = Counter(question_of(line) for line in journalled(config, "answers"))
    assert set(asked) < set(again) and set(again.values()) == {1}


OUTSIDE = "192.0.2.77"  # to which the machine's name leads, as on nodes of a cluster
OWN_NETWORK = f"""
import fcntl, os, socket, struct, subprocess, sys
def set_up(request, *fields):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, request, struct.pack(*fields))
SIOCSIFFLAGS, SIOCSIFADDR, UP = 0x8914, 0x8916, 1
set_up(SIOCSIFFLAGS, "16sh14x", b"lo", UP)
set_up(SIOCSIFADDR, "16sHH4s8x", b"lo:0", socket.AF_INET, 0, socket.inet_aton("{OUTSIDE}"))
with open("hosts", "w") as hosts:
    hosts.write(f"127.0.0.1 localhost\\n{OUTSIDE} {{socket.gethostname()}}\\n")
subprocess.run(["mount", "--bind", "hosts", "/etc/hosts"], check=True)
os.execvp(sys.argv[1], sys.argv[1:])
"""
ADDRESS = re.compile(r"sa_family=(AF_[A-Z0-9]+)(?:.*?inet_(?:addr|pton)\((?:AF_INET6, &?)?\"([^\"]+)\")?")


def may_trace() -> bool:
    tools = (["unshare", "-rnm", "true"], ["strace", "-qq", "-o", "/dev/null", "true"])
    return all(shutil.which(tool[0]) and subprocess.run(tool, capture_output=True).returncode == 0 for tool in tools)


@pytest.mark.skipif(not may_trace(), reason="needs strace and the right to make a namespace without network")
def test_vllm_and_we_speak_to_nobody_but_ourselves(config: Path, processes: Processes, tmp_path: Path) -> None:
    """In a namespace without a network nobody even tries to reach, or listens on, another address than loopback."""
    log = tmp_path / "calls"
    trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=connect,bind,sendto,sendmsg,sendmmsg", "-o", str(log)]
    run = [sys.executable, str(ROOT / "main.py"), str(config), "--set", "metrics=[context_relevance]"]
    done = subprocess.run(
        ["unshare", "-rnm", sys.executable, "-c", OWN_NETWORK, *trace, *run],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    calls = Counter(
        (line.split()[1].partition("(")[0], *called) for line in log.open() for called in ADDRESS.findall(line)
    )
    assert ("connect", "AF_UNIX", "") in calls  # the trace has seen what it must
    others = {
        call for call in calls if call[1] not in ("AF_UNIX", "AF_NETLINK") and call[2] not in ("127.0.0.1", "::1")
    }
    assert not others, calls
    assert not processes()


def question_of(line: bytes) -> tuple[str, str]:
    answer = json.loads(line)
    return answer["signature"], answer["prompt"]
