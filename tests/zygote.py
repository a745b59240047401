"""Runs the command line in forked children that need not import anything, so that many can be started and killed.

Each line on standard input is JSON: {"record": path, "runs": [{"arguments": [...], "environment": {...}, "code": "",
"signals": [[seconds, number], ...]}, ...]}. The code runs before the command line. The runs begin together and get
their signals so many seconds after the first score has begun. Answers with a line of JSON: the exit codes, -9 for a run
that was killed. Every score that is begun is noted in `record` as `row metric repeat`. With SLOW in its environment
each score of a run keeps the thread of the models so long.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import langchain_huggingface  # noqa: F401  # what a run imports late
import ragas.metrics.collections
import sentence_transformers  # noqa: F401
import transformers

import rag_evaluator.cli.console
import rag_evaluator.cli.evaluate
import rag_evaluator.cli.main
import rag_evaluator.evaluator
import rag_evaluator.report.document
import rag_evaluator.tasks.manifest
from rag_evaluator.config import all_features
from rag_evaluator.judge import BatchHandler, Scheduler
from rag_evaluator.scorer import Scorer

LOADED = (ragas.metrics.collections.ContextRelevance, transformers.pipeline, transformers.AutoModelForCausalLM)
SCORE = Scorer.score
SLEEPING = BatchHandler(lambda seconds: [time.sleep(each) for each in seconds], most=1)


async def score(self: Scorer, sample: Any, metric: str, repeat: int = 0) -> Any:
    if "SLOW" in os.environ:
        await Scheduler.current().submit(SLEEPING, float(os.environ["SLOW"]))
    return await SCORE(self, sample, metric, repeat)


def note(owner: type, name: str, line: Callable[..., str]) -> None:
    """Have a method note in the record what it begins with."""
    method = getattr(owner, name)

    async def noted(self: Any, *arguments: Any) -> Any:
        with Path(os.environ["RECORD"]).open("ab", buffering=0) as file:
            file.write(f"{line(self, *arguments)}\n".encode())
        return await method(self, *arguments)

    setattr(owner, name, noted)


Scorer.score = score  # type: ignore[method-assign]
note(Scorer, "score", lambda self, sample, metric, repeat=0: f"{sample.index} {metric} {repeat}")
for feature, name, method, line in (
    ("duel", "judging:AnswerComparison", "compare", lambda self, pair: f"{pair.key} duel"),
    ("testset", "checker:CandidateMaker", "make", lambda self, slot: f"{slot.index} testset"),
):
    if feature in all_features():
        note(resolve_name(f"rag_evaluator.features.{feature}.{name}"), method, line)
for place, name in (("sort:Sorter", "sort"), ("references:Generator", "generate")):
    note(resolve_name(f"rag_evaluator.tasks.{place}"), name, lambda self, name=name: f"{self.question} {name}")


def write_document(folders: list[Path], out: Path, comparison: Any = None) -> None:
    """In place of a report, which would take a second in each child."""
    out.write_text("", "utf-8")


rag_evaluator.report.write_document = write_document  # type: ignore[assignment]


def start(arguments: list[str], environment: dict[str, str], code: str) -> int:
    """The process id of a child that runs the code, then the command line."""
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        exec(code)
        os._exit(rag_evaluator.cli.main.main(arguments))
    return child


def wait_for_a_score(record: Path, size: int, child: int) -> None:
    while record.stat().st_size == size and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.002)


for line in sys.stdin:
    task = json.loads(line)
    record = Path(task["record"])
    record.touch()
    size = record.stat().st_size
    environments = [{**run["environment"], "RECORD": str(record)} for run in task["runs"]]
    children = [
        start(run["arguments"], found, run["code"]) for run, found in zip(task["runs"], environments, strict=True)
    ]
    for child, run in zip(children, task["runs"], strict=True):
        if run["signals"]:
            wait_for_a_score(record, size, child)
        for seconds, number in run["signals"]:
            time.sleep(seconds)
            os.kill(child, number)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]), flush=True)
