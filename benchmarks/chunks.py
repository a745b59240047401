"""`python -m benchmarks.chunks`: what keeping every score costs, how memory grows with the rows, and a second start.

Each measurement is a process of its own. `plain` scores in memory and writes the result files at the end, so that a
kill loses everything; `kept` is an ordinary run with chunks, journal and merge; `again` starts the finished run once
more. Overhead is told in seconds of the processor, as others may use the machine, and of the clock.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MEMORY = "peak MB"


def write_rows(path: Path, rows: int) -> None:
    """Rows of some two hundred characters, all different."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            text = f"The bridge of Harn over the river Om was built by Lira Vosk in {1000 + number % 900}, "
            row = {"id": number, "response": f"{text}as bridge {number}.", "reference": f"{text}they say, in Tesk."}
            file.write(json.dumps(row) + "\n")


Seconds = tuple[float, float]  # of the clock, of the processor


def _now() -> Seconds:
    return time.perf_counter(), time.process_time()


def _since(began: Seconds) -> Seconds:
    clock, processor = _now()
    return clock - began[0], processor - began[1]


def plain(config: Path) -> Seconds:
    """Scoring in memory and writing the files."""
    from rag_evaluator import RAGEvaluator

    evaluator = RAGEvaluator.from_config(config)
    began = _now()
    evaluator.evaluate().write(config.parent / "plain")
    return _since(began)


def kept(config: Path) -> Seconds:
    """A run that can be killed at any time."""
    from rag_evaluator import RAGEvaluator

    evaluator = RAGEvaluator.from_config(config)
    began = _now()
    evaluator.run(evaluator.config.results_dir)
    return _since(began)


def again(config: Path) -> Seconds:
    """The command on a finished run, start of Python included."""
    began = _now()
    command = [sys.executable, str(ROOT / "main.py"), str(config)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return _since(began)


WAYS = {"plain": plain, "kept": kept, "again": again}


def measure(way: str, config: Path) -> dict[str, Any]:
    """Seconds and peak memory of one way, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.chunks", "--way", way, "--config", str(config)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def compare(rows: int, metric: str) -> dict[str, Any]:
    """The figures of one number of rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "rows.jsonl", rows)
        config = folder / "config.yaml"
        config.write_text(f"dataset: rows.jsonl\nmetrics: [{metric}]\n", encoding="utf-8")
        found = {way: measure(way, config) for way in WAYS}
        same = (folder / "plain" / "scores.jsonl").read_bytes() == (folder / "results/run/scores.jsonl").read_bytes()
        assert same, "both ways give the same scores"
    overhead = {key: 1 - found["plain"][key] / found["kept"][key] for key in ("clock", "processor")}
    return {"rows": rows, "metric": metric, "overhead": overhead, **found}


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chunks", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--metric", default="bleu_score", help="a metric without a model (default bleu_score)")
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--config", type=Path)
    options = parser.parse_args()
    if options.way:
        clock, processor = WAYS[options.way](options.config)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"clock": clock, "processor": processor, MEMORY: peak}))
        return
    print("| rows | metric | plain s | kept s | overhead | processor | plain peak MB | kept peak MB | again s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for rows in options.rows:
        figures = compare(rows, options.metric)
        numbers = [f"{figures[way]['clock']:.1f}" for way in ("plain", "kept")]
        shares = [f"{share:.1%}" for share in figures["overhead"].values()]
        memory = [f"{figures[way][MEMORY]:.0f}" for way in ("plain", "kept")]
        again = f"{figures['again']['clock']:.1f}"
        print(f"| {' | '.join([str(rows), figures['metric'], *numbers, *shares, *memory, again])} |", flush=True)


if __name__ == "__main__":
    main()
