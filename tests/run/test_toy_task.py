"""A task of a few lines: the run package knows no task by name, so workers, kills, resume and merge come for free."""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import JudgeLostError
from rag_evaluator.cli.main import main
from rag_evaluator.config import Task
from rag_evaluator.files import Stop, StopSignal
from rag_evaluator.judge import ORDER, BatchHandler, Scheduler
from rag_evaluator.run import Journal, Plan, Record, Stage, Table, Work, parse_worker, run_stage
from rag_evaluator.tasks import all_tasks

COUNT = 40


@dataclass(frozen=True)
class Number:
    """A unit: a whole number."""

    index: int


class Squares(Stage):
    """Numbers x their squares."""

    files: Sequence[str] = ("squares.json",)
    about: Mapping[str, Any] = {"what": "squares"}

    def __init__(self, seconds: float = 0.0) -> None:
        self.units = [Number(index) for index in range(COUNT)]
        self.plan = Plan("toy", "squares", COUNT, "numbers", "powers", "squares", "0", {}, {"square": "v1"}, 5)
        self.seconds = seconds

    def digest(self, unit: Number, column: str) -> str:
        return hashlib.sha256(str(unit.index).encode()).hexdigest()[:16]

    def check(self, column: str, value: Any) -> None:
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is no whole number")

    @asynccontextmanager
    async def open(self, answers: Any) -> AsyncIterator[Work]:
        yield Work(self.make, 2)

    async def make(self, unit: Number, column: str, repeat: int) -> Record:
        await asyncio.sleep(self.seconds)
        return Record(unit.index**2)

    def write(self, table: Table, folder: Path) -> Sequence[str]:
        values = [records["square"][0].value for _, records in table]
        (folder / "squares.json").write_text(json.dumps(values), "utf-8")
        return self.files


def of_journal(journal: Journal) -> Squares:
    """The row of `TASKS` for the command `merge`."""
    return Squares()


def start(folder: Path, worker: str, seconds: float) -> "subprocess.Popen[str]":
    """A process that does one worker's part of the toy task."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); sys.path.insert(0, '.')\n"
        "from pathlib import Path\nimport asyncio\nimport test_toy_task as toy\n"
        f"print('begins', flush=True)\n"
        f"toy.run_stage(toy.Squares({seconds}), Path({str(folder)!r}), toy.parse_worker({worker!r}))"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_a_toy_task_runs_with_workers_is_killed_resumed_and_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = {**all_tasks(), "toy": Task(f"{__name__}:of_journal")}  # type: ignore[arg-type]
    monkeypatch.setattr("rag_evaluator.tasks.table.TASKS", tasks)
    folder = tmp_path / "results"
    folder.mkdir()
    with start(folder, "0/2", 0.02) as killed:
        place = folder / "journal" / "toy.squares" / "g1" / "parts"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(list(place.glob("*.jsonl"))) < 2:
            assert killed.poll() is None
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
    before = {path: path.stat().st_ino for path in place.glob("*.jsonl")}
    assert 2 <= len(before) < 8
    assert main(["merge", str(folder)]) == 75
    assert main(["status", str(folder)]) == 0
    assert "gone without a word (killed?)" in capsys.readouterr().out
    with start(folder, "0/2", 0.0) as first, start(folder, "1/2", 0.0) as second:
        assert (first.wait(), second.wait()) == (0, 0)
    assert {path: path.stat().st_ino for path in before} == before  # nothing was made again
    assert json.loads((folder / "squares.json").read_bytes()) == [n**2 for n in range(COUNT)]
    (folder / "squares.json").unlink()
    assert main(["merge", str(folder)]) == 0
    assert "40 numbers from 8 chunks written" in capsys.readouterr().out
    assert (folder / "squares.json").is_file()


def test_a_value_that_a_toy_task_cannot_have_is_refused_at_the_merge(tmp_path: Path) -> None:
    class Wrong(Squares):
        async def make(self, unit: Number, column: str, repeat: int) -> Record:
            return Record("four")

    with pytest.raises(Exception, match="'four' is no whole number"):
        run_stage(Wrong(), tmp_path, parse_worker("0/1"))


@pytest.mark.parametrize("signalled", [True, False])
def test_a_judge_that_a_signal_to_the_whole_job_ends_is_a_run_that_was_stopped(tmp_path: Path, signalled: bool) -> None:
    """Slurm sends SIGTERM to our server, too."""

    class Ending(Squares):
        async def make(self, unit: Number, column: str, repeat: int) -> Record:
            if unit.index < 7:
                return Record(unit.index**2)
            if signalled:
                os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.01)
            raise JudgeLostError("the server has ended")

    with pytest.raises(StopSignal if signalled else JudgeLostError), Stop() as stop:
        run_stage(Ending(), tmp_path, parse_worker("0/1"), stop=stop)
    [note] = (tmp_path / "journal" / "toy.squares" / "g1" / "workers").glob("*.json")
    assert json.loads(note.read_bytes())["ended"] == ("stopped by SIGTERM" if signalled else "failed: JudgeLostError")
    run_stage(Squares(), tmp_path, parse_worker("0/1"))
    assert json.loads((tmp_path / "squares.json").read_bytes()) == [n**2 for n in range(COUNT)]


class Begun(Squares):
    """Notes which numbers were begun, and how many were made by then."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[tuple[int, int]] = []
        self.made = 0

    @asynccontextmanager
    async def open(self, answers: Any) -> AsyncIterator[Work]:
        yield Work(self.make, 8, at_first=2)

    async def make(self, unit: Number, column: str, repeat: int) -> Record:
        self.begun.append((unit.index, self.made))
        await asyncio.sleep(0.01)
        self.made += 1
        return Record(unit.index**2)


def test_a_run_begins_with_few_cells_until_the_first_one_is_made(tmp_path: Path) -> None:
    stage = Begun()
    run_stage(stage, tmp_path, parse_worker("0/1"))
    assert stage.begun[:2] == [(0, 0), (1, 0)]
    assert [number for number, _ in stage.begun] == list(range(COUNT))
    assert all(made > 0 for _, made in stage.begun[2:])
    assert stage.begun[8][1] < 3  # then all are in the making


def test_what_was_begun_first_goes_first_into_a_batch_that_is_open() -> None:
    taken: list[int] = []

    def open_batch() -> Callable[[Mapping[int, int]], Mapping[int, int]]:
        def step(requests: Mapping[int, int]) -> Mapping[int, int]:
            taken.extend(requests.values())
            return dict(requests)

        return step

    handler = BatchHandler(list, 1, open_batch)

    async def ask(order: int, question: int) -> None:
        ORDER.set(order)
        await Scheduler.current().submit(handler, question)

    async def ask_all() -> None:
        await asyncio.gather(*(ask(order, 10 * order) for order in (2, 0, 3, 1)))

    asyncio.run(ask_all())
    assert taken == [0, 10, 20, 30]
