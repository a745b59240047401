"""`python -m benchmarks.pairs --before FOLDER`: what people wait for, in two checkouts; writes benchmarks/pairs.md.

FOLDER is another checkout of this project with an environment of its own in .venv. Each pair runs a command there and
here, in turns, whole processes with what they start; CPU seconds, median of the pairs. What is not measured keeps its
last figures.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from benchmarks.models import model_folder
from benchmarks.page_runs import write_run
from benchmarks.report import machine, table
from benchmarks.rows import make_rows

FIGURES = Path("benchmarks/pairs.json")
QUIET = {"TQDM_DISABLE": "1", "RAGAS_DO_NOT_TRACK": "true", "OMP_NUM_THREADS": "1"}
RUN = ("main.py", "config.yaml", "--set", "output_dir={out}")
Command = tuple[str, ...]
"""After `python`; `{data}` is a folder with the data of both, `{out}` an empty one."""
WORK: dict[str, tuple[str, Command]] = {
    "wrong path": ("a dataset that is not there is told", ("main.py", "config.yaml", "--set", "dataset=nowhere.jsonl")),
    "start-up": ("one row of the sample", (*RUN, "--limit", "1")),
    "sample": ("the sample: 12 rows, 10 metrics, demo judge", RUN),
    "judge of 100M": ("4 rows, faithfulness and context_recall", ("main.py", "{data}/large.yaml", "--set", RUN[-1])),
    "llama.cpp": (
        "24 of the 48 questions; of client and server, without loading",
        tuple("-m benchmarks.engines --models demo --ways llama.cpp-1 --rounds 1 --every 2".split()),
    ),
    "report": (
        "`report` of 10,000 rows",
        ("-m", "rag_evaluator", "report", "{data}/ten", "--out", "{out}/report.html"),
    ),
    "compare": ("`compare` of two runs of 1,000 rows", ("-m", "rag_evaluator", "compare", "{data}/a", "{data}/b")),
}
TOLD = {"llama.cpp": re.compile(r"llama\.cpp-1: \{'cpu': ([\d.]+)")}  # work that says its seconds itself


def prepare(data: Path, names: list[str]) -> None:
    """The data of the work that is measured."""
    if "report" in names:
        write_run(data / "ten", 10_000)
    if "compare" in names:
        write_run(data / "a", 1000)
        write_run(data / "b", 1000, seed=1, better=0.05)
    if "judge of 100M" in names:
        model = model_folder("random-100m", data)
        (data / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in make_rows(4)), "utf-8")
        config = {
            "dataset": str(data / "rows.jsonl"),
            "metrics": ["faithfulness", "context_recall"],
            "judge": {"model": str(model), "dtype": "float32", "max_new_tokens": 64},
        }
        (data / "large.yaml").write_text(yaml.safe_dump(config), "utf-8")


def seconds(checkout: Path, name: str, data: Path) -> float:
    """CPU seconds of one run, children included."""
    with tempfile.TemporaryDirectory() as out:
        command = [part.format(data=data, out=out) for part in WORK[name][1]]
        before = _children()
        done = subprocess.run(
            [str(checkout / ".venv/bin/python"), *command],
            cwd=checkout,
            env={**os.environ, **QUIET},
            capture_output=True,
            text=True,
        )
        spent = _children() - before
    expected = 2 if name == "wrong path" else 0
    if done.returncode != expected:
        raise SystemExit(f"{name} in {checkout} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    if name in TOLD:
        found = TOLD[name].search(done.stdout)
        assert found is not None, done.stdout
        return float(found[1])
    return spent


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def commit_of(checkout: Path) -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout.strip()


def render(known: Mapping[str, Any]) -> str:
    """pairs.md."""
    rows = []
    for name in filter(known.__contains__, WORK):
        about, pairs = known[name], known[name]["pairs"]
        ratios = sorted(after / before for before, after in pairs)
        sides = [f"{median(pair[side] for pair in pairs):.1f}" for side in (0, 1)]
        spread = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        commits = f"{about['before']} and {about['after']}, {about['date']}"
        rows.append([name, WORK[name][0], str(len(pairs)), *sides, spread, commits])
    columns = ("work", "what", "pairs", "CPU s before", "after", "after / before", "commits")
    head = (
        "# Before and after\n\nWritten by `python -m benchmarks.pairs --before FOLDER`. CPU seconds of whole "
        f"processes, one thread, median of pairs that ran in turns. {machine()}.\n\n"
    )
    return f"{head}{table(columns, rows)}\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pairs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, required=True, help="the other checkout")
    parser.add_argument("--only", nargs="+", default=list(WORK), choices=list(WORK), metavar="WORK")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    both: dict[str, Path] = {"before": options.before.resolve(), "after": Path.cwd()}
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), options.only)
        for name in options.only:
            pairs = [
                [seconds(checkout, name, Path(folder)) for checkout in both.values()] for _ in range(options.rounds)
            ]
            print(name, pairs, flush=True)
            known = json.loads(FIGURES.read_text("utf-8")) if FIGURES.is_file() else {}
            known[name] = {
                **{side: commit_of(checkout) for side, checkout in both.items()},
                "date": date.today().isoformat(),
                "pairs": [[round(value, 2) for value in pair] for pair in pairs],
            }
            FIGURES.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            FIGURES.with_suffix(".md").write_text(render(known), encoding="utf-8")
    print(FIGURES.with_suffix(".md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
