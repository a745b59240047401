"""Runs the command line in forked children that need not import anything, so that many can be started and killed.

    python zygote.py RECORD < lines of JSON: {"arguments": [...], "environment": {...}, "kill": seconds or null}

Each line starts one run; with `kill` it is killed by SIGKILL so many seconds after its first score has begun. Answers
with a line of JSON: {"code": exit code, or -9}. Every score that is begun is noted in RECORD as `row metric`.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch

import rag_evaluator.cli
import rag_evaluator.evaluator
from rag_evaluator.scoring import Job, Scorer

torch.set_num_threads(1)
RECORD = Path(sys.argv[1])
SCORE = Scorer.score


async def score(self: Scorer, job: Job) -> Any:
    with RECORD.open("ab", buffering=0) as file:
        file.write(f"{job.sample.index} {job.metric}\n".encode())
    return await SCORE(self, job)


Scorer.score = score  # type: ignore[method-assign]


def start(arguments: list[str], environment: dict[str, str]) -> int:
    """The process id of a child that runs the command line."""
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(rag_evaluator.cli.main(arguments))
    return child


def wait_for_a_score(child: int) -> None:
    size = RECORD.stat().st_size
    while RECORD.stat().st_size == size and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.002)


for line in sys.stdin:
    task = json.loads(line)
    child = start(task["arguments"], task.get("environment", {}))
    if task.get("kill") is not None:
        wait_for_a_score(child)
        time.sleep(task["kill"])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)
