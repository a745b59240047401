"""`python -m benchmarks.windowed`: a model with an attention window, packed and by `generate`; writes windowed.md.

A random Mistral of 5 to 6 million parameters judges generated rows with the metrics of `benchmarks.ways`, by both
ways with the same grammars, in float32 on one thread. The ways take turns (both, then both again), so that whatever
else the machine does meets both. CPU seconds are those of this process from the first question to the last answer;
loading is not counted. No way finds its caches filled.
"""

import argparse
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch

from benchmarks.engine_ways import BATCH, Answers, Setting, Way, generate, ours
from benchmarks.report import machine, origin, table
from rag_evaluator.demo import DEMO_JUDGE

PAGE = Path("benchmarks/windowed.md")
WAYS: dict[str, Way] = {"packed": ours, "transformers `generate`": generate}
SHAPE: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 576, "num_hidden_layers": 6}
COLUMNS = ("way", "CPU seconds: minimum", "median", "maximum", "questions", "prompt tokens", "computed", "generated")


@dataclass(frozen=True)
class Measured:
    """CPU seconds of one way in one round, and what it has done in them."""

    seconds: float
    answers: Answers


def main() -> None:
    """Measure both ways, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windowed", description=__doc__)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window", type=int, default=128, help="tokens (default 128)")
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--note", default="", help="what else the machine did, for the report")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        parameters = make_model(Path(temporary), options.window)
        setting = Setting(Path(temporary), Path(), 1, options.max_new_tokens, rows=options.rows)
        rounds = [{name: measure(way, setting) for name, way in WAYS.items()} for _ in range(options.rounds)]
    origin_of = {
        "command": shlex.join(["python", "-m", "benchmarks.windowed", *sys.argv[1:]]),
        "date": date.today().isoformat(),
        "machine": machine(),
        "note": options.note,
    }
    PAGE.write_text(render(rounds, options.window, parameters, origin(origin_of)), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


def make_model(folder: Path, window: int) -> int:
    """Write a model with the demo judge's tokenizer. Returns the number of its parameters."""
    from transformers import AutoTokenizer, MistralConfig, MistralForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(DEMO_JUDGE)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=8192,
        num_attention_heads=8,
        num_key_value_heads=2,
        sliding_window=window,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        **SHAPE,
    )
    model = MistralForCausalLM(config)
    model.save_pretrained(folder)
    return int(model.num_parameters())


def measure(way: Way, setting: Setting) -> Measured:
    with way(setting) as answer:
        before = time.process_time()
        answers = answer()
        return Measured(time.process_time() - before, answers)


def render(rounds: Sequence[dict[str, Measured]], window: int, parameters: int, told: str) -> str:
    """benchmarks/windowed.md."""
    times = [round_["transformers `generate`"].seconds / round_["packed"].seconds for round_ in rounds]
    answers = {name: measured.answers for name, measured in rounds[0].items()}
    expected = answers["packed"].tokens
    equal = all(measured.answers.tokens == expected for round_ in rounds for measured in round_.values())
    prompt = answers["packed"].prompt_tokens / answers["packed"].asked
    lines = [
        "# A model with an attention window",
        f"\nWritten by `python -m benchmarks.windowed`: a random Mistral of {parameters / 1e6:.1f}M parameters with a "
        f"window of {window} tokens in all layers. Its prompts have {prompt:.0f} tokens on average. Both ways ask the "
        f"same questions with the same grammars, in float32, on one thread, in batches of {BATCH}, in turns.\n",
        f"{told}\n",
        table(COLUMNS, [_row(name, [round_[name] for round_ in rounds]) for name in WAYS]),
        f"\n**Packed rows take {median(times):.1f} times fewer CPU seconds** ({min(times):.1f} to {max(times):.1f} in "
        f"{len(rounds)} rounds). The tokens of all answers are {'equal' if equal else '**not** equal'}.\n",
    ]
    return "\n".join(lines)


def _row(name: str, measured: Sequence[Measured]) -> list[str]:
    seconds = [one.seconds for one in measured]
    done = measured[0].answers
    counts = (done.asked, done.prompt_tokens, done.computed, done.generated)
    spread = (min(seconds), median(seconds), max(seconds))
    return [name, *(f"{value:.1f}" for value in spread), *map(str, counts)]


if __name__ == "__main__":
    main()
