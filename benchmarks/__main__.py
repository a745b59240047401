"""`python -m benchmarks`: measure both ways and write benchmarks/results.md."""

import argparse
import os
import platform
import tempfile
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch

from benchmarks.models import SHAPES, model_folder
from benchmarks.rows import make_rows
from benchmarks.ways import Measurement, new_way, old_way
from rag_evaluator.config import JudgeConfig

HEADER = (
    "| model | way | samples | seconds | samples/s | missing | prefill tokens | inside forward |\n"
    "|---|---|---|---|---|---|---|---|\n"
)


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, default=64, help="generated rows (default 64)")
    parser.add_argument("--models", nargs="+", default=["demo", "random-100m"], choices=["demo", *SHAPES])
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results.md"))
    options = parser.parse_args()
    text = f"Rows: {options.rows}, generated. Six metrics. At most {options.max_new_tokens} new tokens an answer.\n"
    text += f"Machine: {_machine()}. torch {torch.__version__}.\n\n{HEADER}"
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            lines, ratio = compare(name, options.rows, options.max_new_tokens, Path(folder))
            text += "".join(lines)
            print(*lines, f"{name}: {ratio:.1f} times the samples a second", sep="")
            text += f"| {name} | **ratio** | | | **{ratio:.1f}** | | | |\n"
    title = "# Benchmarks\n\nWritten by `python -m benchmarks` (`make bench`).\n\n"
    options.output.write_text(title + text, encoding="utf-8")


def compare(name: str, rows: int, max_new_tokens: int, folder: Path) -> tuple[list[str], float]:
    """Table lines of both ways with one model, and how many times as fast the new way is.

    Random weights never give JSON that parses, so there the old way's retries are off: each prompt is asked once.
    """
    model, data = model_folder(name, folder), make_rows(rows)
    dtype = "float32" if name == "demo" else "bfloat16"
    settings = JudgeConfig(max_new_tokens=max_new_tokens, dtype=dtype)  # type: ignore[arg-type]
    new = new_way(data, model, settings)
    old = old_way(data, model, settings, retries=name == "demo")
    return [_line(name, old), _line(name, new)], old.seconds / new.seconds


def _line(name: str, result: Measurement) -> str:
    share = f"{result.inside / result.seconds:.0%}"
    speed = result.samples / result.seconds
    return (
        f"| {name} | {result.way} | {result.samples} | {result.seconds:.1f} | {speed:.3f} | "
        f"{result.missing}/{result.scores} | {result.prefill} | {share} |\n"
    )


def _machine() -> str:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return f"{device}, {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
