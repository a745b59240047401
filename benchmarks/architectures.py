"""`python -m benchmarks.architectures`: our engine with tiny models of many architectures.

For each row of tools/architectures.py a folder with random weights is made, loaded as a user's is, and asked a dozen of
the 48 questions under their grammars. Writes benchmarks/architectures.json and .md.
"""

import argparse
import gc
import json
import logging
import os
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
import transformers

from benchmarks.architecture_checks import Finding, check, short
from benchmarks.architecture_report import render
from benchmarks.report import machine
from tools.architectures import ARCHITECTURES
from tools.random_models import Architecture, save_model

FIGURES = Path("benchmarks/architectures.json")


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=sorted(ARCHITECTURES), default=None)
    parser.add_argument("--list", action="store_true", help="print the names, and measure nothing")
    parser.add_argument("--note", default="", help="what else the machine did, for the report")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name}: {row.name}{row.about and ', '}{row.about}" for name, row in ARCHITECTURES.items()))
        return
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("rag_evaluator").setLevel(logging.ERROR)  # its warnings are columns of the table
    names = [name for name in ARCHITECTURES if options.only is None or name in options.only]
    rows = {name: row for name, row in known_figures()["rows"].items() if name in ARCHITECTURES}
    try:
        for number, name in enumerate(names):
            started = time.perf_counter()
            rows[name] = found = measure(ARCHITECTURES[name]).to_json()
            outcome = "right" if found["right"] else found["error"] or found["why"] or "not right"
            seconds = time.perf_counter() - started
            print(f"{number + 1} of {len(names)}, {name}: {found['way']}, {outcome} ({seconds:.1f} s)", flush=True)
    finally:  # after Ctrl-C, too
        keep({name: rows[name] for name in sorted(rows)}, options.note)


def measure(architecture: Architecture) -> Finding:
    """What was found of one architecture; an error is a finding, too."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return check(save_model(architecture, Path(folder)))
        except Exception as error:
            return Finding(architecture.name, error=short(error, Path(folder)))
        finally:
            gc.collect()


def known_figures() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {"rows": {}}
    return known


def keep(rows: dict[str, dict[str, Any]], note: str) -> None:
    about = {
        "command": "python -m benchmarks.architectures",  # whatever --only was: rows do not depend on others
        "date": date.today().isoformat(),
        "machine": machine(),
        "transformers": transformers.__version__,
        "note": note,
        "rows": rows,
    }
    FIGURES.write_text(json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    FIGURES.with_suffix(".md").write_text(render(about), encoding="utf-8")


if __name__ == "__main__":
    main()
