"""One judge after the other, each in a process of its own, so that one model is in memory at a time; and its cost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evaluator.files import StopSignal, json_line
from rag_evaluator.resources import PACKAGE
from rag_evaluator.run import read_status

from .candidates import NamedJudge

COSTS = "costs.jsonl"
KIB = 1 if sys.platform == "darwin" else 1024  # bytes of `ru_maxrss`


@dataclass(frozen=True)
class Cost:
    """What a judge took, loading included.

    Attributes:
        seconds, cpu: of a row: of the clock, and of all processors.
        memory: bytes at most.
    """

    seconds: float
    cpu: float
    memory: int


def run_alone(candidate: NamedJudge, task: str, config: Path, words: Sequence[str], out: Path) -> int:
    """Do a task with a judge as its command does, append what it cost to `costs.jsonl`; its exit code.

    A run that is there already loads nothing, and has no cost. Raises `StopSignal` once the process has ended.
    """
    sets = [word for override in candidate.overrides for word in ("--set", override)]
    before = os.environ.get("PYTHONPATH")
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "rag_evaluator", task, str(config), *sets, *words],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGE.parent), before)))},
    )
    try:
        _, status, used = os.wait4(child.pid, 0)
    except StopSignal:
        child.terminate()
        child.wait()
        raise
    child.returncode = os.waitstatus_to_exitcode(status)
    folder = candidate.config.results_dir
    states = read_status(folder) if (folder / "journal").is_dir() else []
    workers = [worker for state in states if state.task == task for worker in state.workers]
    made = sum(worker.made for worker in workers if worker.note.pid == child.pid and worker.note.is_here)
    if made:
        seconds = time.monotonic() - began
        cpu = used.ru_utime + used.ru_stime
        line = {"judge": candidate.name, "task": task, "made": made, "seconds": seconds, "cpu": cpu}
        with (out / COSTS).open("ab") as file:
            file.write(json_line({**line, "memory": used.ru_maxrss * KIB}))
    return child.returncode


def costs_of(out: Path, candidates: Iterable[NamedJudge], task: str) -> dict[str, Cost]:
    """What each judge took for a row; of a probe for a text. One that was not measured is not there."""
    path = out / COSTS
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.is_file() else []
    costs = {}
    for candidate in candidates:
        own = [line for line in lines if (line["judge"], line["task"]) == (candidate.name, task)]
        made = sum(line["made"] for line in own) / (len(candidate.chosen) if task == "evaluate" else 1)
        if own:
            seconds, cpu = (sum(line[name] for line in own) / made for name in ("seconds", "cpu"))
            costs[candidate.name] = Cost(seconds, cpu, max(line["memory"] for line in own))
    return costs
