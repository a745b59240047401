"""`python -m tools.screenshots OUT RUN [RUN ...]`: pictures of the pages in light and dark, for the docs.

RUN are results folders in one folder; of two or more the first two are compared. Needs Chromium.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from rag_evaluator import write_report

THEMES = ("light", "dark")
SIZE = {"width": 1360, "height": 900}
TOKEN = "a-token-for-screenshots"


def main() -> None:
    """Take the pictures that the options ask for."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshots", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the pictures")
    parser.add_argument("runs", type=Path, nargs="+", help="results folders")
    parser.add_argument("--row", type=int, default=5, help="the row that is opened (default 5)")
    parser.add_argument("--pages", nargs="*", help="names of the pages; default: all")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.runs[0].parent
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, served(results) as app:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, address in addresses(options.runs, options.row, Path(folder), app).items():
            for theme in THEMES if options.pages is None or name in options.pages else ():
                take(browser, address, theme, options.out / f"{name}-{theme}.png", app)


def addresses(runs: Sequence[Path], row: int, folder: Path, app: str) -> dict[str, str]:
    """Name of a page -> where it is: in a report that is written here, or in the app."""
    one = write_report(runs[0], out=folder / "report.html").as_uri()
    found = {"report": one, "table": f"{one}#rows", "row": f"{one}#row={row}", "runs": f"{app}/"}
    if len(runs) > 1:
        both = write_report(*runs[:2], out=folder / "compare.html").as_uri()
        found |= {"compare": both, "compare-row": f"{both}#row={row}"}
    name = runs[0].name
    return {**found, "review": f"{app}/review/{name}#row={row}", "label": f"{app}/label/{name}"}


def take(browser: Browser, address: str, theme: str, out: Path, app: str) -> None:
    """One picture; pages of figures are taken whole."""
    context = browser.new_context(viewport=SIZE, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    if address.startswith(app):
        page.goto(f"{app}/?token={TOKEN}")
    page.goto(address)
    page.wait_for_timeout(500)  # fonts, the table, a row
    page.screenshot(path=out, full_page="#" not in address)
    context.close()


@contextmanager
def served(results: Path) -> Iterator[str]:
    """The origin of `rag-evaluator view --review`, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rag_evaluator", "view", str(results), "--port", str(port)]
    command += ["--review", "--as", "ana"]
    environment = {**os.environ, "RAG_EVALUATOR_TOKEN": TOKEN}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
