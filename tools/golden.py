"""Hashes of what must stay the same while code moves: `python -m tools.golden write FILE`, later `... compare FILE`.

Four runs with the demo judge: the bundled sample, rows in Spanish, `sort` and `generate`. Of each score the value, the
reason, the contexts, the judge's answers and their confidences are hashed; of a sorted question all that is written
about it; of a generated row its reference. Nothing that is hashed names a version. The hashes hold on one machine with
one set of libraries: write them with the old code, compare them with the new.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "examples" / "dataset.jsonl"
SPANISH = ROOT / "tools" / "golden_spanish.jsonl"
SPANISH_METRICS = (
    "context_precision_with_reference, context_recall, faithfulness, answer_relevancy, answer_correctness, "
    "factual_correctness, noise_sensitivity, context_entity_recall, response_groundedness, answer_accuracy, rouge_score"
)
ROWS = 5  # that are sorted and answered, each with the contexts of NEIGHBOURS rows
NEIGHBOURS = 3
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0"}

Parts = Mapping[str, Any]  # what a cell is made of, by name: JSON
Hashes = dict[str, dict[str, str]]  # cell, such as `row 3 faithfulness`, -> part -> hash


def scores(folder: Path) -> dict[str, Parts]:
    """One cell per row and metric, out of `details.jsonl`; fields that a later format adds do not count."""
    return {
        f"row {line['row']} {line['metric']}": {
            "value": line["value"],
            "reason": line["reason"],
            "contexts": line["contexts"],
            "answers": [judgement["response"] for judgement in line["judgements"]],
            "confidences": [judgement["confidence"] for judgement in line["judgements"]],
        }
        for line in _lines(folder / "details.jsonl")
    }


def orders(folder: Path) -> dict[str, Parts]:
    """One cell per question, out of `sorted_indices.json`."""
    rankings = json.loads((folder / "sorted_indices.json").read_text(encoding="utf-8"))
    return {f"question {place}": dict(ranking) for place, ranking in enumerate(rankings)}


def references(folder: Path) -> dict[str, Parts]:
    """One cell per row, out of `dataset_with_reference.jsonl`."""
    names = ("reference", "reference_reason")
    lines = _lines(folder / "dataset_with_reference.jsonl")
    return {f"row {place}": {name: line.get(name) for name in names} for place, line in enumerate(lines)}


def run_all(folder: Path) -> dict[str, Hashes]:
    """The hashes of all four runs, which leave their files in `folder`."""
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in _many_contexts()), encoding="utf-8")
    more = ["sort.fast=false", "generate.group_size=3", f"dataset={rows}"]
    spanish = ["language=spanish", f"dataset={SPANISH}", f"metrics=[{SPANISH_METRICS}]"]
    return {
        "sample": _run(folder, "sample", "evaluate", [f"dataset={SAMPLE}"], scores),
        "spanish": _run(folder, "spanish", "evaluate", spanish, scores),
        "sort": _run(folder, "sort", "sort", more, orders),
        "generate": _run(folder, "generate", "generate", more, references),
    }


def differences(old: Mapping[str, Hashes], new: Mapping[str, Hashes]) -> list[str]:
    """A line for each cell that is not the same, with the parts that differ; parts that are new do not count."""
    lines = []
    for run in sorted({*old, *new}):
        before, after = old.get(run, {}), new.get(run, {})
        for cell in sorted({*before, *after}):
            if cell not in after or cell not in before:
                lines.append(f"{run}: {cell}: only in the {'old' if cell in before else 'new'} hashes")
                continue
            parts = [name for name, value in before[cell].items() if after[cell].get(name) != value]
            if parts:
                lines.append(f"{run}: {cell}: {', '.join(parts)}")
    return lines


def main() -> int:
    """Write or compare; the exit code is 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.golden", description=__doc__)
    parser.add_argument("command", choices=("write", "compare"))
    parser.add_argument("file", type=Path, help="JSON file of the hashes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        hashes = run_all(Path(name))
    count = sum(len(cells) for cells in hashes.values())
    if options.command == "write":
        options.file.write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
        print(f"{count} cells of {len(hashes)} runs written to {options.file}")
        return 0
    lines = differences(json.loads(options.file.read_text(encoding="utf-8")), hashes)
    print(*lines, f"{len(lines)} of {count} cells differ", sep="\n")
    return 1 if lines else 0


def _run(
    folder: Path, name: str, command: str, overrides: list[str], read: Callable[[Path], dict[str, Parts]]
) -> Hashes:
    """Run the command line as a user does, and hash what it wrote."""
    sets = [f"--set={one}" for one in (f"name={name}", f"output_dir={folder}", *overrides)]
    arguments = [sys.executable, str(ROOT / "main.py"), command, str(ROOT / "config.yaml"), *sets]
    done = subprocess.run(arguments, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    cells = read(folder / name)
    return {cell: {part: _hash(value) for part, value in parts.items()} for cell, parts in cells.items()}


def _hash(value: Any) -> str:
    """16 hexadecimal digits; the order of fields counts, as it does in the files."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8")).hexdigest()[:16]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _many_contexts() -> list[dict[str, Any]]:
    """Questions of the sample without a reference; the contexts of their neighbours are added to their own."""
    rows = _lines(SAMPLE)
    return [
        {
            "user_input": rows[place]["user_input"],
            "retrieved_contexts": [
                text for row in rows[place : place + NEIGHBOURS] for text in row["retrieved_contexts"]
            ],
        }
        for place in range(ROWS)
    ]


if __name__ == "__main__":
    sys.exit(main())
