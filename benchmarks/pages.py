"""`python -m benchmarks.pages`: reports and the app in Chromium; writes benchmarks/pages.json and pages.md.

Runs are made up: six metrics, five contexts of 500 to 800 characters a row, statements, reasons, confidences. Times are
from the start of the navigation, in a fresh browser profile each: `rows` until the table shows its first rows,
`interactive` until a click on a heading after that has sorted it. What is not measured keeps its last figures.
"""

import argparse
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"

from playwright.sync_api import Browser, sync_playwright

from benchmarks.page_runs import write_run
from rag_evaluator.report import worst_places
from rag_evaluator.results import Run

FIGURES = Path("benchmarks/pages.json")
METRIC = "faithfulness"
HOST, TOKEN = "127.0.0.1", "a-token-for-benchmarks"
LIMITS = {  # (part, figure) -> what the project promises
    ("report of 1,000 rows", "MB"): 5.0,
    ("report of 1,000 rows", "interactive"): 2.0,
    ("report of 10,000 rows", "interactive"): 5.0,
    ("app, 100,000 rows, first page", "rows"): 1.0,
}


def main() -> None:
    """Measure what the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--reports", type=int, nargs="*", default=[1000, 10_000], help="rows of each report")
    parser.add_argument("--app", type=int, nargs="*", default=[100_000], help="rows of each run that is served")
    parser.add_argument("--times", type=int, default=5, help="how often each page is opened")
    parser.add_argument("--folder", type=Path, help="where runs are made, and found again (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = options.folder or Path(temporary)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for rows in options.reports:
            _keep(f"report of {rows:,} rows", report(browser, made(folder, rows), rows, options.times))
        for rows in options.app:
            run = made(folder, rows)
            _keep(f"app, {rows:,} rows, first page", app(browser, run, options.times, again=False))
            _keep(f"app, {rows:,} rows, opened again", app(browser, run, options.times, again=True))


def made(folder: Path, rows: int) -> Path:
    """The run of so many rows, alone in a folder of runs."""
    run = folder / f"{rows}" / "made-up-0"
    return run if run.is_dir() else write_run(run, rows)


def report(browser: Browser, run: Path, rows: int, times: int) -> dict[str, list[float]]:
    """Seconds to write a report and to open it, and its size."""
    from rag_evaluator import write_report

    out, written = run.parent / "report.html", []
    for _ in range(min(3, times)):
        start = time.perf_counter()
        write_report(run, out=out)
        written.append(time.perf_counter() - start)
    opened = [opening(browser, out.as_uri(), first_row(run)) for _ in range(times)]
    return {
        "MB": [out.stat().st_size / 1e6],
        "written": written,
        "rows/s": [rows / seconds for seconds in written],
        **{name: [each[name] for each in opened] for name in opened[0]},
    }


def app(browser: Browser, run: Path, times: int, again: bool) -> dict[str, list[float]]:
    """Seconds until a served run is shown: each time by a server that has just started, or by one that knows it."""
    found = []
    address = f"{{origin}}/run/{run.name}"
    if again:
        with served(run.parent) as origin:
            opening(browser, address.format(origin=origin), first_row(run), origin)
            found = [opening(browser, address.format(origin=origin), first_row(run), origin) for _ in range(times)]
    else:
        for _ in range(times):
            with served(run.parent) as origin:
                found.append(opening(browser, address.format(origin=origin), first_row(run), origin))
    return {name: [each[name] for each in found] for name in found[0]}


def opening(browser: Browser, address: str, lowest: int, origin: str | None = None) -> dict[str, float]:
    """One visit in a profile of its own, the network off for a file. `lowest`: the first row once it is sorted."""
    context = browser.new_context(offline=origin is None, viewport={"width": 1360, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    if origin is not None:
        page.goto(f"{origin}/nothing?token={TOKEN}")  # this tab keeps the token
    else:
        page.goto("about:blank")
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_function("() => document.querySelector('#rows tbody tr[data-row]') !== null")
    rows = time.perf_counter() - start
    page.locator(f"#rows thead th[data-key='{METRIC}'] button").click()
    page.wait_for_function(
        "(row) => document.querySelector('#rows tbody tr[data-row]')?.dataset.row === String(row)", arg=lowest
    )
    interactive = time.perf_counter() - start
    context.close()
    return {"rows": rows, "interactive": interactive}


def first_row(run: Path) -> int:
    """The first of the rows with the lowest score, which are in the order of their combined rank."""
    worst = worst_places(Run(run))
    with (run / "scores.jsonl").open("rb") as file:
        values = [json.loads(line)[METRIC] for line in file]
    return min(range(len(values)), key=lambda row: (values[row] is None, values[row] or 0.0, worst[row]))


@contextmanager
def served(results: Path) -> Iterator[str]:
    """The origin of `rag-evaluator view`, while it runs."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rag_evaluator", "view", str(results), "--port", str(port)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "RAG_EVALUATOR_TOKEN": TOKEN},
        stdout=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                socket.create_connection((HOST, port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("the app did not start") from None
                time.sleep(0.02)
        yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


def _keep(part: str, figures: dict[str, list[float]]) -> None:
    """Store figures at once."""
    known = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.is_file() else {}
    about = {"date": date.today().isoformat(), "machine": _machine()}
    known[part] = {"figures": figures, "command": " ".join(["python -m benchmarks.pages", *sys.argv[1:]]), **about}
    FIGURES.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    FIGURES.with_suffix(".md").write_text(_render(known), encoding="utf-8")
    print(part, {name: _spread(values) for name, values in figures.items()}, flush=True)


def _render(known: dict[str, dict[str, Any]]) -> str:
    _, _, rest = (__doc__ or "").partition("\n\n")
    text = f"# Pages in a browser\n\nWritten by `python -m benchmarks.pages`. {' '.join(rest.split())}\n\n"
    text += "| page | figure | minimum | median | maximum | times | at most |\n|---|---|---|---|---|---|---|\n"
    for part, about in known.items():
        for name, values in about["figures"].items():
            limit = LIMITS.get((part, name))
            unit = name if name in ("MB", "rows/s") else f"{name}, s"
            spread = " | ".join(_number(value) for value in (min(values), statistics.median(values), max(values)))
            text += f"| {part} | {unit} | {spread} | {len(values)} | {'' if limit is None else limit} |\n"
    for line in dict.fromkeys(f"`{one['command']}`, {one['date']}, {one['machine']}." for one in known.values()):
        text += f"\n{line}\n"
    return text


def _spread(values: Sequence[float]) -> str:
    return "/".join(_number(value) for value in (min(values), statistics.median(values), max(values)))


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def _machine() -> str:
    chromium = shutil.which("chromium") or ""
    version = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return f"{platform.machine()}, {os.cpu_count()} cores, Chromium {version}"


if __name__ == "__main__":
    main()
