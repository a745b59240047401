"""Without a terminal a long command writes a line now and then, whatever it waits for: short, plain, never too late."""

import os
import re
import subprocess
import sys
import threading
import time
from functools import partial
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from aliases import Patch
from folders import run_command

import rag_evaluator.evaluator  # noqa: F401  # imports of libraries may keep all threads waiting for seconds
from rag_evaluator.files import ACTIVITY, State, Watch, write_to

# seconds, in place of 2, 15
FIRST = 0.02
APART = 0.1
# seconds: of a blocked event loop, and for a machine that has much else to do
BLOCKED = 1.5
SPARE = 1.2
ROOT = Path(__file__).parents[2]
Seen = list[tuple[float, str]]


@pytest.fixture
def seen(monkeypatch: Patch) -> Seen:
    """The lines of the commands of a test, with their time; they come so often as in a run that is much longer."""
    lines: Seen = []
    monkeypatch.setattr(
        "rag_evaluator.cli.watching.write_to",
        lambda stream: lambda state: lines.append((time.monotonic(), shown(state))),
    )
    monkeypatch.setattr("rag_evaluator.cli.watching.Watch", partial(Watch, first=FIRST, apart=APART))
    return lines


def shown(state: State) -> str:
    """The line that is written of a state."""
    stream = StringIO()
    write_to(stream)(state)
    return stream.getvalue().removesuffix("\n")


def largest_gap(seen: Seen, began: float, ended: float) -> float:
    times = [began, *(at for at, _ in seen), ended]
    return max(later - before for before, later in pairwise(times))


def check_lines(seen: Seen) -> None:
    for _, line in seen:
        assert len(line) <= 120
        assert line.isprintable()


BLOCKING = """
import time
def slow(response):
    time.sleep(1.5)
    return None if response == "Brak" else 1.0
"""


def test_lines_come_while_the_event_loop_is_blocked(seen: Seen, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "blocking_metric.py").write_text(BLOCKING, "utf-8")
    (tmp_path / "rows.jsonl").write_text('{"response": "Tesk"}\n{"response": "Brak"}\n', "utf-8")
    (tmp_path / "config.yaml").write_text(
        "dataset: rows.jsonl\nmetrics: [slow]\noutput_dir: out\nname: run\nreport: false\n"
        'custom_metrics: {slow: {function: "blocking_metric:slow", columns: [response], range: [0, 1]}}\n',
        "utf-8",
    )
    began = time.monotonic()
    run_command(tmp_path / "config.yaml")
    assert largest_gap(seen, began, time.monotonic()) < APART + SPARE < BLOCKED
    check_lines(seen)
    assert len(seen) > 6
    assert any("scores 0/2 (0 %), 0 missing" in line for _, line in seen)
    assert any(re.search(r"scores 1/2 \(50 %\), [\d.]+/min, 00:00:0\d left", line) for _, line in seen)


SCORES = "scores "
QUESTIONS = "questions "


WAYS = [
    (State("loading /models/Qwen3-8B", 25, elapsed=65), "00:01:05 loading /models/Qwen3-8B (for 00:00:25)"),
    (
        State("writing results to x", 4, "scores", 960, 960, 2, 9, elapsed=65),
        "00:01:05 writing results to x (for 00:00:04); scores 960/960 (100 %), 2 missing",
    ),
    (
        State(noun="scores", done=120, total=960, missing=2, tokens=512, rate=3.4, elapsed=65),
        "00:01:05 scores 120/960 (12 %), 3.4/s, 00:04:07 left, 2 missing, 512 tokens",
    ),
    (
        State(noun="pairs", done=1, total=3, rate=0.05, elapsed=20),
        "00:00:20 pairs 1/3 (33 %), 3.0/min, 00:00:40 left, 0 missing",
    ),
    (State("reading a\rb\x1b[31mc\n.csv", 1, elapsed=1), r"00:00:01 reading a\rb\x1b[31mc\n.csv (for 00:00:01)"),
]


@pytest.mark.parametrize(("state", "line"), WAYS)
def test_a_line_says_what_is_done_and_what_is_left(state: State, line: str) -> None:
    assert shown(state) == line


def test_lines_come_after_two_seconds_and_then_every_fifteen(monkeypatch: Patch) -> None:
    waited = list[float]()
    shown = list[State]()

    class Clock(threading.Event):
        def wait(self, seconds: float | None = None) -> bool:
            waited.append(seconds or 0.0)
            return len(waited) == 4

    monkeypatch.setattr("rag_evaluator.files.progress.threading.Event", Clock)
    Watch(shown.append)._run()
    assert waited == [2, 15, 15, 15] and len(shown) == 3


@pytest.mark.parametrize("kind", ["closed", "none", "full pipe", "broken pipe"])
def test_a_command_ends_whatever_has_become_of_standard_error(kind: str) -> None:
    code = (
        "import sys, time\n"
        "from rag_evaluator.files.progress import ACTIVITY\n"
        "from rag_evaluator.files.progress import Watch, write_to\n"
        f"if {kind!r} == 'closed': sys.stderr.close()\n"
        "with Watch(write_to(sys.stderr), first=0, apart=0.0001), ACTIVITY.phase('x' * 90):\n"
        "    time.sleep(1.0)\n"
        "print('ended', flush=True)\n"
    )
    reader, writer = os.pipe()
    if kind == "broken pipe":
        os.close(reader)
    command = [sys.executable, "-c", code]
    if kind == "none":
        command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, text=True, timeout=60, cwd=ROOT)
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, "ended\n")


def test_time_of_loading_is_no_time_of_judging(monkeypatch: Patch) -> None:
    now = [0.0]
    monkeypatch.setattr("rag_evaluator.files.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    with ACTIVITY.counted("scores") as at:
        at(0, 100)
        with ACTIVITY.phase("loading"):
            now[0] = 600
            assert ACTIVITY.state().rate is None
        assert ACTIVITY.state().rate is None
        at(20, 100)
        now[0] = 610
        assert ACTIVITY.state().rate == 2.0
        now[0] = 620
        assert ACTIVITY.state().rate == 1.0
