"""`python -m benchmarks.engines`: what it counts, and the page that it writes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import engines
from benchmarks.engine_report import ratios, render
from benchmarks.engine_ways import WAYS, Setting
from benchmarks.processes import cpu_seconds

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
FIGURES = Path(__file__).parent.parent.parent / "benchmarks" / "engines.json"
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


def test_the_page_is_what_the_figures_give() -> None:
    known = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert FIGURES.with_suffix(".md").read_text(encoding="utf-8") == render(known)


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


def test_a_way_is_compared_with_ours_in_the_same_round() -> None:
    rounds = [{"ours": counts(2.0), "vllm": counts(3.0)}, {"ours": counts(10.0), "vllm": counts(25.0)}]
    assert ratios("vllm", rounds) == [1.5, 2.5]
    assert line(page(*rounds), "vllm")[1:7] == ["2", "3.0", "14.0", "25.0", "2.00", "1.50 to 2.50"]


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([counts(1.0), counts(1.0)], ["30", "9", "yes", "4"]),
        ([counts(1.0), counts(1.0, equal=3)], ["30", "9", "no: 3 of 4", "4"]),
        ([counts(1.0, computed=33), counts(1.0, complete=2)], ["30 to 33", "9", "yes", "2 to 4"]),
        ([counts(1.0, equal=None)], ["30", "9", "no grammar", "4"]),
        ([counts(1.0, computed=None)], ["not known", "9", "yes", "4"]),
    ],
)
def test_counts_that_differ_between_rounds_are_shown_as_such(rounds: list[Any], expected: list[str]) -> None:
    text = page(*({"ours": counts(1.0), "vllm": figures} for figures in rounds))
    assert line(text, "vllm")[9:] == expected


def test_a_round_that_was_broken_off_counts_as_far_as_it_went() -> None:
    text = page({"ours": counts(2.0), "vllm": counts(3.0)}, {"ours": counts(4.0)})
    assert line(text, "ours")[1:5] == ["2", "2.0", "3.0", "4.0"]
    assert line(text, "vllm")[1:7] == ["1", "3.0", "3.0", "3.0", "1.50", "1.50 to 1.50"]


def test_rounds_are_added_to_those_that_the_page_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "FIGURES", tmp_path / "engines.json")
    monkeypatch.setattr(sys, "argv", ["engines", "--models", "demo"])
    setting = Setting(tmp_path, 1, 16, None)
    engines.keep("demo", setting, [{"ours": counts(1.0)}], "busy", None)
    engines.keep("demo", setting, [{"ours": counts(3.0)}], "busy", engines.known_figures()["demo"])
    text = (tmp_path / "engines.md").read_text(encoding="utf-8")
    assert line(text, "ours")[1:5] == ["2", "1.0", "2.0", "3.0"]
    assert text.count("`python -m benchmarks.engines --models demo`") == 2


def test_what_was_not_measured_is_said_to_be_so() -> None:
    assert line(page({"ours": counts(1.0)}), "vllm")[1] == "not measured"


def test_the_page_says_which_way_ours_is_behind() -> None:
    ahead = page({"ours": counts(1.0), "vllm": counts(2.0)})
    behind = page({"ours": counts(2.0), "vllm": counts(1.0), "generate": counts(3.0)})
    assert "No way needed fewer CPU seconds than ours." in ahead
    assert f"**Ours is behind {WAYS['vllm'][0]} (0.50 times our CPU seconds).**" in behind


@pytest.mark.processes
def test_engines_answer_equal_questions_with_equal_tokens(model_folder: Callable[..., Path]) -> None:
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


def test_the_rope_of_llama_3_is_written_as_llama_cpp_reads_it() -> None:
    from tools.gguf_model import rope_divisors

    rope = {"rope_theta": 10000.0, "original_max_position_embeddings": 256}
    rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "factor": 64.0}
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(hidden_size=64, num_attention_heads=2, rope_parameters={**rope, "rope_type": "llama3"})
    slowed, _ = ROPE_INIT_FUNCTIONS["llama3"](config)
    plain = 10000.0 ** -(np.arange(0, 32, 2) / 32)
    assert plain / rope_divisors(rope, 32) == pytest.approx(slowed.numpy(), rel=1e-5)
