"""`python -m tools.screenshots OUT RUN [RUN ...]`: pictures of the pages, to look at, and those of the docs.

RUN are results folders in one folder; of two or more the first two are compared. A run that is being made shows how
far it is. Needs Chromium. The pictures of the docs:

    python -m tools.screenshots docs/pictures results/demo --row 4 --themes light --colours 192
        --pages report worst row review
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from rag_evaluator import write_report

THEMES = ("light", "dark")
PARTS = {"worst": "#worst"}  # of pages that are shown in part
HEIGHT = 1000
TOKEN = "a-token-for-screenshots"
MARGIN = dict.fromkeys(("top", "bottom", "left", "right"), "12mm")


def main() -> None:
    """Take the pictures that the options ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.screenshots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder of the pictures")
    parser.add_argument("runs", type=Path, nargs="+", help="results folders")
    parser.add_argument("--row", type=int, default=5, help="the row that is opened (default 5)")
    parser.add_argument("--pages", nargs="*", help="names of the pages; default: all")
    parser.add_argument("--themes", nargs="*", choices=THEMES, default=THEMES)
    parser.add_argument("--width", type=int, default=1360, help="of the window; 420: a telephone")
    parser.add_argument("--whole", action="store_true", help="pages in their whole height")
    parser.add_argument("--print", action="store_true", help="as PDF, as they are printed")
    parser.add_argument("--colours", type=int, help="so many at most, for small files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.runs[0].parent
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, served(results) as app:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, address in addresses(options.runs, options.row, Path(folder), app).items():
            for theme in options.themes if options.pages is None or name in options.pages else ():
                take(browser, address(), theme, options.out / f"{name}-{theme}", app, options, PARTS.get(name))


def addresses(runs: Sequence[Path], row: int, folder: Path, app: str) -> Mapping[str, Callable[[], str]]:
    """Name of a page -> what says where it is: in a report that is then written, or in the app."""

    def report(*chosen: Path) -> str:
        return write_report(*chosen, out=folder / f"{len(chosen)}.html").as_uri()

    first = runs[0]
    both = runs[:2]
    found = {
        "report": lambda: report(first),
        "worst": lambda: report(first),
        "table": lambda: f"{report(first)}#rows",
        "row": lambda: f"{report(first)}#row={row}",
        "runs": lambda: f"{app}/",
        "run": lambda: f"{app}/run/{first.name}",
        "review": lambda: f"{app}/review/{first.name}#row={row}",
        "label": lambda: f"{app}/label/{first.name}",
    }
    several = {"compare": lambda: report(*both), "compare-row": lambda: f"{report(*both)}#row={row}"}
    return {**found, **several} if len(runs) > 1 else found


def take(
    browser: Browser, address: str, theme: str, out: Path, app: str, options: argparse.Namespace, part: str | None
) -> None:
    """One picture; `part`: the selector of what is shown of the page, None shows the window."""
    size = {"width": options.width, "height": HEIGHT}
    context = browser.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    if address.startswith(app):
        page.goto(f"{app}/?token={TOKEN}")
        page.wait_for_url(f"{app}/")
    page.goto(address)
    page.wait_for_timeout(500)  # fonts, the table, a row
    page.wait_for_selector("[aria-busy=true]", state="detached")
    if options.print:
        page.pdf(path=out.with_suffix(".pdf"), format="A4", margin=MARGIN, print_background=True)  # type: ignore[arg-type]
    else:
        if part is None:
            page.screenshot(path=out.with_suffix(".png"), full_page=options.whole)
        else:
            page.locator(part).screenshot(path=out.with_suffix(".png"))
        if options.colours:
            reduce(out.with_suffix(".png"), options.colours)
    context.close()


def reduce(path: Path, colours: int) -> None:
    """A smaller file, with fewer colours."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)


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
