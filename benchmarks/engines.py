"""`python -m benchmarks.engines`: ways to run a judge, on equal questions; writes benchmarks/engines.json and .md.

Every way answers the same questions with the same model in float32, on one thread. CPU seconds are those of its process
and of all that it has started from the first question to the last answer: starting, loading and a
first short question are not counted. No way finds its caches filled, and the ways take turns (all once, then all
again), so that whatever else the machine does meets all of them.
"""

import argparse
import json
import multiprocessing
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import date
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch

from benchmarks.engine_report import FIRST, render
from benchmarks.engine_ways import LASTING, WAYS, Answers, Setting
from benchmarks.models import model_folder
from benchmarks.processes import cpu_seconds
from benchmarks.report import machine

FIGURES = Path("benchmarks/engines.json")

QUESTIONS = {"demo": (1, 128), "random-100m": (4, 64)}  # model -> each how manieth of the 48, new tokens of an answer


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS), help=f"beside '{FIRST}'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--add", action="store_true", help="keep the rounds that the page has")
    parser.add_argument("--every", type=int, help="ask only every Nth of the 48 questions (default 1, and 4 of 100m)")
    parser.add_argument("--max-new-tokens", type=int, help="of an answer (default 128, and 64 of 100m)")
    parser.add_argument("--note", default="", help="what else the machine did, for the report")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [name for name in WAYS if name == FIRST or name in options.ways]
    if find_spec("vllm") is None and "vllm" in names:
        names.remove("vllm")
    for model in options.models:
        every, max_new_tokens = QUESTIONS[model]
        with tempfile.TemporaryDirectory() as temporary:
            folder = model_folder(model, Path(temporary))
            limit = options.max_new_tokens or max_new_tokens
            setting = Setting(folder, options.every or every, limit)
            before = known_figures().get(model) if options.add else None
            for measured in rounds(names, setting, options.rounds):
                keep(model, setting, measured, options.note, before)


def rounds(names: list[str], setting: Setting, count: int) -> Iterator[list[dict[str, dict[str, Any]]]]:
    """Figures of each way in each round, as far as they are measured: after each measurement."""
    measured: list[dict[str, dict[str, Any]]] = []
    expected: list[list[int]] = []
    with ExitStack() as stack:
        workers: dict[bool, Worker] = {}
        for number in range(count):
            measured.append({})
            for name in names:
                apart = name in LASTING
                if apart not in workers:
                    workers[apart] = stack.enter_context(Worker(setting))
                seconds, answers = workers[apart].measure(name)
                expected = expected or answers.tokens
                measured[-1][name] = {"cpu": round(seconds, 2), **_counts(answers, expected)}
                print(f"round {number + 1}, {name}: {measured[-1][name]}", flush=True)
                yield measured


def _counts(answers: Answers, expected: list[list[int]]) -> dict[str, Any]:
    """Figures of answers; `equal`: those with the tokens of the first way in the first round."""
    counts = asdict(answers)
    tokens = counts.pop("tokens")
    equal = sum(own == other for own, other in zip(tokens, expected, strict=True)) if tokens else None
    return {**counts, "equal": equal}


class Worker:
    """A process in which ways are measured, one after another, until the block ends."""

    def __init__(self, setting: Setting) -> None:
        context = multiprocessing.get_context("spawn")
        self._log = tempfile.NamedTemporaryFile("r")  # noqa: SIM115  # closed by __exit__
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_work, args=(setting, there, self._log.name))
        self._process.start()
        there.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join()
        self._log.close()

    def measure(self, name: str) -> tuple[float, Answers]:
        """CPU seconds of a way, and what it has done in them."""
        try:
            self._pipe.send(name)
            self._pipe.recv()  # it is ready
            before = self._seconds()
            self._pipe.send("ask")
            answers: Answers = self._pipe.recv()
            return self._seconds() - before, answers
        except EOFError:
            raise SystemExit(f"{name} has ended:\n{self._log.read()[-4000:]}") from None

    def _seconds(self) -> float:
        return cpu_seconds(self._process.pid or 0)


def _work(setting: Setting, pipe: Connection, log: str) -> None:
    """A worker's process: it says when a way is ready, and when it has answered."""
    with Path(log).open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)  # llama.cpp writes a page for each question
    torch.set_num_threads(1)
    with suppress(EOFError):  # no more is wanted
        while True:
            _, way = WAYS[pipe.recv()]
            with way(setting) as answer:
                pipe.send("ready")
                pipe.recv()
                pipe.send(answer())


def known_figures() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    return known


def keep(
    model: str, setting: Setting, measured: list[dict[str, Any]], note: str, before: dict[str, Any] | None
) -> None:
    """Store figures at once, after those of `before`: the next way takes minutes."""
    about = {
        "command": shlex.join(["python", "-m", "benchmarks.engines", *sys.argv[1:]]),
        "date": date.today().isoformat(),
        "machine": machine(),
        "note": note,
        "max_new_tokens": setting.max_new_tokens,
        "rounds": measured,
    }
    if before is not None:
        about["command"] = f"{before['command']}`, then `{about['command']}"
        about["rounds"] = before["rounds"] + measured
    known = known_figures() | {model: about}
    FIGURES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    FIGURES.with_suffix(".md").write_text(render(known), encoding="utf-8")


if __name__ == "__main__":
    main()
