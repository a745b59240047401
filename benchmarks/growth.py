"""How time and memory grow with the rows: whole runs of the program, each in a process of its own."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.rows import make_rows

METRIC = "answer_accuracy"  # two ratings a row: the cheapest metric that asks the judge


def grow(rows: int, folder: Path) -> dict[str, Any]:
    """Seconds and peak memory, in bytes, of one run over generated rows with the demo judge."""
    data = folder / f"{rows}.jsonl"
    config = folder / f"{rows}.yaml"
    data.write_text("".join(json.dumps(row) + "\n" for row in make_rows(rows)), encoding="utf-8")
    config.write_text(f"name: grow-{rows}\ndataset: {data.name}\nmetrics: [{METRIC}]\n", encoding="utf-8")
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "main.py", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"the run of {rows} rows failed: {told[-2000:]}")
    summary = json.loads((folder / "results" / f"grow-{rows}" / "summary.json").read_text(encoding="utf-8"))
    scored = summary[METRIC]["scored"]
    return {"rows": rows, "scored": scored, "seconds": seconds, "peak": usage.ru_maxrss * 1024}
