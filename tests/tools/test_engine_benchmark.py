"""`python -m benchmarks.engines`: what it counts, and the page that it writes."""

import subprocess
import sys
from typing import Any

import pytest
from aliases import ModelFolder

from benchmarks.engine_report import ratios, render
from benchmarks.engine_ways import WAYS, Setting
from benchmarks.processes import cpu_seconds

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
ABOUT = {"command": "c", "date": "d", "machine": "m", "note": "", "max_new_tokens": 16}


def counts(cpu: float, **changed: Any) -> dict[str, Any]:
    known = {"asked": 4, "complete": 4, "prompt_tokens": 40, "computed": 30, "generated": 9, "equal": 4}
    return {"cpu": cpu, **known, **changed}


def page(*rounds: dict[str, Any]) -> str:
    return render({"demo": {**ABOUT, "rounds": rounds}})


def line(text: str, name: str) -> list[str]:
    [found] = [line for line in text.splitlines() if line.startswith(f"| {WAYS[name][0]} |")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_cpu_seconds_count_processes_that_children_have_started_alive_or_ended() -> None:
    child = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])\nprint('done', flush=True)\ninput()"
    )
    parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "done\n"
    assert cpu_seconds(process.pid) >= 0.3
    process.communicate("\n")


def test_another_engine_is_compared_with_ours_in_the_same_round() -> None:
    rounds = [{"ours": counts(2.0), "vllm": counts(3.0)}, {"ours": counts(10.0), "vllm": counts(25.0)}]
    assert ratios("vllm", rounds) == [1.5, 2.5]
    assert line(page(*rounds), "vllm")[1:7] == ["2", "3.0", "14.0", "25.0", "2.00", "1.50 to 2.50"]


@pytest.mark.processes
def test_engines_answer_equal_questions_with_equal_tokens(model_folder: ModelFolder) -> None:
    folder = model_folder("llama")
    setting = Setting(folder, 16, 16)
    answers = {}
    for name in ("ours", "generate"):
        with WAYS[name][1](setting) as ask:
            answers[name] = ask()
    first = answers["ours"]
    assert first.asked == len(first.tokens) == 3
    assert first.generated == sum(map(len, first.tokens)) > 0
    for other in answers.values():
        assert (other.tokens, other.prompt_tokens) == (first.tokens, first.prompt_tokens)
    assert answers["generate"].computed == first.prompt_tokens >= (first.computed or 0) > 0
