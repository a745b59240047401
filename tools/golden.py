"""Hashes of what must stay the same while code moves: `python -m tools.golden write FILE`, later `... compare FILE`.

Every command that judges or concludes runs with the demo judge, as a user starts it (`STEPS`). Hashed are the scores,
all result files, what is printed, and the text of the reports. No version, time or path is part of a hash.
The hashes hold on one machine with one set of libraries: write them with the old code, compare them with the new.
`--keep FOLDER` keeps the files, so that two of them can be compared with `diff`.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.golden_cells import ROOT, Parts, cells_of_file, cells_of_folder, cells_of_output

SAMPLE = ROOT / "examples" / "dataset.jsonl"
SPANISH = ROOT / "tools" / "golden_spanish.jsonl"
TESTSET = ROOT / "examples" / "testset"
SPANISH_METRICS = (
    "context_precision_with_reference, context_recall, faithfulness, answer_relevancy, answer_correctness, "
    "factual_correctness, noise_sensitivity, context_entity_recall, response_groundedness, answer_accuracy, rouge_score"
)
ROWS = 5  # that are sorted and answered, each with the contexts of NEIGHBOURS rows
NEIGHBOURS = 3
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0", "COLUMNS": "120"}

Hashes = dict[str, dict[str, str]]  # cell, such as `row 3 faithfulness`, -> part -> hash


@dataclass(frozen=True)
class Step:
    """One command. `{out}` in an argument is the folder of all runs."""

    name: str
    arguments: tuple[str, ...]
    folder: str = ""  # below the folder of all runs; its files are hashed
    file: str = ""  # a single file that the command writes there

    @staticmethod
    def run(name: str, command: str, *overrides: str, json_output: bool = False) -> "Step":
        """A command that takes a configuration and writes the folder `name`."""
        settings = [f"--set={setting}" for setting in (f"name={name}", "output_dir={out}", *overrides)]
        config = str(TESTSET / "config.yaml" if command.startswith("testset") else ROOT / "config.yaml")
        words = [*command.split(), config, *settings, *(["--json"] if json_output else [])]
        return Step(name, tuple(words), name)


STEPS = (
    Step.run("sample", "evaluate", f"dataset={SAMPLE}", json_output=True),
    Step.run("spanish", "evaluate", "language=spanish", f"dataset={SPANISH}", f"metrics=[{SPANISH_METRICS}]"),
    Step.run("sort", "sort", "sort.fast=false", "dataset={out}/many_contexts.jsonl"),
    Step.run("generate", "generate", "generate.group_size=3", "dataset={out}/many_contexts.jsonl"),
    Step.run("other", "evaluate", "dataset={out}/other_answers.jsonl", "group_by=[topic]", "cluster=topic"),
    Step.run("twice", "evaluate", "dataset={out}/twice.jsonl", "metrics=[faithfulness, exact_match]"),
    Step.run("probe", "probe", f"dataset={SAMPLE}", "metrics=[faithfulness, exact_match]"),
    Step("probe_json", ("probe", str(ROOT / "config.yaml"), "--json", *(f"--set={setting}" for setting in (
        "name=probe", "output_dir={out}", f"dataset={SAMPLE}", "metrics=[faithfulness, exact_match]")))),
    Step("duel", ("duel", "{out}/sample", "{out}/other", "--out", "{out}/duel", "--json"), "duel"),
    Step.run("testset", "testset make", "testset.size=4", f"testset.documents=[{TESTSET / 'documents'}]"),
    Step("testset_check", ("testset", "check", str(TESTSET / "testset.jsonl"), "--config", str(TESTSET / "config.yaml"),
        "--set=name=checked", "--set=output_dir={out}", "--limit", "4", "--json"), "checked"),
    Step("certify", ("certify", "{out}/twice", "--labels", "{out}/labels.csv", "--out", "{out}/certificate.json"),
        file="certificate.json"),
    Step("certify_json", ("certify", "{out}/twice", "--labels", "{out}/labels.csv", "--json")),
    Step("sheet", ("certify", "sheet", "{out}/twice", "--size", "20", "--out", "{out}/sheet.xlsx"), file="sheet.xlsx"),
    Step("compare", ("compare", "{out}/sample", "{out}/other", "--csv", "{out}/compared.csv"), file="compared.csv"),
    Step("compare_json", ("compare", "{out}/sample", "{out}/other", "--json")),
    Step("compare_tables", ("compare", "{out}/sample/scores.csv", "{out}/other/scores.csv", "--json")),
    Step("gate", ("gate", "{out}/other", "--not-worse-than", "{out}/sample", "--margin", "0.05", "--min",
        "faithfulness=0.2", "--junit", "{out}/gate.xml"), file="gate.xml"),
    Step("gate_json", ("gate", "{out}/other", "--min", "faithfulness=0.2", "--json")),
    Step("report", ("report", "{out}/sample", "{out}/other", "--out", "{out}/two.html"), file="two.html"),
    Step("merge", ("merge", "{out}/other", "--json")),
    Step("status", ("status", "{out}/other", "--json")),
    Step("plan", ("plan", str(ROOT / "config.yaml"), "--set=output_dir={out}/plan", "--sample", "0", "--json")),
    Step("check", ("check", str(ROOT / "config.yaml"), "--json")),
    *(Step(f"list_{kind}", ("list", kind, "--json")) for kind in ("engines", "languages", "metrics", "readers")),
)  # fmt: skip


def run_all(folder: Path, names: Iterable[str] = ()) -> dict[str, Hashes]:
    """The hashes of all steps, or of those in `names`; the steps leave their files in `folder`."""
    _write_inputs(folder)
    wanted = set(names)
    return {step.name: _hashes(step, folder) for step in STEPS if not wanted or step.name in wanted}


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
    parser.add_argument(
        "--only", nargs="+", default=(), metavar="STEP", help="these steps; they need the earlier ones' files"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="an empty folder for the files of the runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        hashes = run_all(folder.resolve(), options.only)
    count = sum(len(cells) for cells in hashes.values())
    if options.command == "write":
        options.file.write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
        print(f"{count} cells of {len(hashes)} runs written to {options.file}")
        return 0
    recorded = json.loads(options.file.read_text(encoding="utf-8"))
    lines = differences({run: cells for run, cells in recorded.items() if not options.only or run in hashes}, hashes)
    print(*lines, f"{len(lines)} of {count} cells differ", sep="\n")
    return 1 if lines else 0


def _hashes(step: Step, out: Path) -> Hashes:
    """Run the command line as a user does, and hash what it printed and wrote."""
    arguments = [word.replace("{out}", str(out)) for word in step.arguments]
    command = [sys.executable, str(ROOT / "main.py"), *arguments]
    process = subprocess.run(command, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
    if process.returncode not in (0, 1):  # 1: a rule is not kept, a test set has flags
        sys.exit(f"{' '.join(command)}\nended with {process.returncode}:\n{process.stdout}{process.stderr}")
    cells: dict[str, Parts] = {**dict(cells_of_output(process.stdout, out)), "exit code": {"value": process.returncode}}
    if step.folder:
        cells |= _scores(out / step.folder) | dict(cells_of_folder(out / step.folder, out))
    if step.file:
        cells |= dict(cells_of_file(out / step.file, step.file, out))
    return {cell: {part: _hash(value) for part, value in parts.items()} for cell, parts in cells.items()}


def _scores(folder: Path) -> dict[str, Parts]:
    """One cell per row and metric, out of `details.jsonl`; fields that a later format adds do not count."""
    path = folder / "details.jsonl"
    lines = _lines(path) if path.exists() else []
    return {
        f"row {line['row']} {line['metric']}": {
            "value": line["value"],
            "reason": line["reason"],
            "contexts": line["contexts"],
            "answers": [judgement["response"] for judgement in line["judgements"]],
            "confidences": [judgement["confidence"] for judgement in line["judgements"]],
        }
        for line in lines
        if {"metric", "judgements"} <= line.keys()
    }


def _hash(value: Any) -> str:
    """16 hexadecimal digits; the order of fields counts, as it does in the files."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode("utf-8")).hexdigest()[:16]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _write_inputs(folder: Path) -> None:
    """Rows with many contexts; the sample with every third answer exchanged; labels of people, some wrong."""
    rows = _lines(SAMPLE)
    answers = [row["response"] for row in rows]
    others = [
        {
            **row,
            "response": answers[(place + 1) % len(rows)] if place % 3 == 0 else row["response"],
            "topic": "ab"[place % 2],
        }
        for place, row in enumerate(rows)
    ]
    twice = [{**row, "id": str(place)} for place, row in enumerate((*rows, *others))]
    labels = ["id,faithfulness", *(f"{row['id']},{int(place % 3 != 0)}" for place, row in enumerate(twice))]
    _write_lines(folder / "many_contexts.jsonl", _many_contexts(rows))
    _write_lines(folder / "other_answers.jsonl", others)
    _write_lines(folder / "twice.jsonl", twice)
    (folder / "labels.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")


def _write_lines(path: Path, rows: Iterable[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _many_contexts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Questions of the sample without a reference; the contexts of their neighbours are added to their own."""
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
