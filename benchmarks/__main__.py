"""`python -m benchmarks`: measure and write benchmarks/results.md; what is not measured keeps its last figures."""

import argparse
import json
import os
import shlex
import sys
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TQDM_DISABLE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

from benchmarks.growth import METRIC, grow
from benchmarks.models import SHAPES, model_folder
from benchmarks.report import machine, render
from benchmarks.rows import make_rows
from benchmarks.ways import new_way, old_way
from rag_evaluator.config import JudgeConfig

RESULTS = Path("benchmarks/results.json")


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--models", nargs="*", default=["demo", "random-100m"], choices=["demo", *SHAPES])
    parser.add_argument("--rows", type=int, default=64, help="generated rows for the ratio (default 64)")
    parser.add_argument("--old-rows", type=int, help="only so many of them for the old way, which is slow")
    parser.add_argument("--max-new-tokens", type=int, default=256)
    parser.add_argument("--note", default="", help="what else the machine did, for the report")
    parser.add_argument("--growth", type=int, nargs="*", default=[100, 1000, 10_000], help="rows of each run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            both = compare(name, options.rows, options.old_rows or options.rows, options.max_new_tokens, Path(folder))
            _keep("ratio", name, {"ways": both, "max_new_tokens": options.max_new_tokens, "note": options.note})
        if options.growth:
            runs = [grow(rows, Path(folder)) for rows in options.growth]
            _keep("growth", METRIC, {"runs": runs, "note": options.note})


def compare(name: str, rows: int, old_rows: int, max_new_tokens: int, folder: Path) -> list[dict[str, Any]]:
    """Measurements of the old and the new way with one model.

    Random weights never give JSON that parses, so there the old way's retries are off: each prompt is asked once.
    """
    model = model_folder(name, folder)
    data = make_rows(rows)
    dtype = "float32" if name == "demo" else "bfloat16"
    settings = JudgeConfig(max_new_tokens=max_new_tokens, dtype=dtype)  # type: ignore[arg-type]
    new = new_way(data, model, settings)
    old = old_way(data[:old_rows], model, settings, retries=name == "demo")
    return [asdict(old), asdict(new)]


def _keep(part: str, name: str, figures: dict[str, Any]) -> None:
    """Store figures at once: the next measurement may take an hour."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    figures |= {
        "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "date": date.today().isoformat(),
        "machine": machine(),
    }
    known.setdefault(part, {})[name] = figures
    RESULTS.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    RESULTS.with_suffix(".md").write_text(render(known), encoding="utf-8")
    print(json.dumps({part: {name: figures}}, indent=2))


if __name__ == "__main__":
    main()
