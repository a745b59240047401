"""A real Chromium, pages that must not complain, and the app."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import made_runs
import pytest
from complaints import Complaints
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from served import HOST, Server
from table import Table

HERE = Path(__file__).parent
WIDE = {"width": 1360, "height": 900}
PATIENCE = 30_000  # milliseconds: for machines that do other things as well


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("browser")
            item.add_marker(pytest.mark.allow_hosts([HOST]))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("Chromium is not installed: run tests/browser/install.sh")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def watcher() -> Complaints:
    return Complaints()


@pytest.fixture
def complaints(watcher: Complaints) -> Iterator[Complaints]:
    """What goes wrong in any page of this test."""
    watcher.forget()
    yield watcher
    assert not watcher.found, "\n".join(watcher.found)


Serve = Callable[..., Server]


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[tuple[str, ...], Server]]:
    made: dict[tuple[str, ...], Server] = {}
    yield made
    for server in made.values():
        server.kill()


@pytest.fixture
def serve(complaints: Complaints, servers: dict[tuple[str, ...], Server]) -> Serve:
    """The app over a results folder: `serve(folder, "--review", "--as", "ana")`. Tests share it, and may kill it."""

    def start(results: Path, *options: str) -> Server:
        key = (str(results), *options)
        if key not in servers:
            servers[key] = Server(results, *options)
        if not servers[key].runs:
            servers[key].start()
        complaints.origins.add(servers[key].origin)
        return servers[key]

    return start


def made_context(chromium: Browser, watcher: Complaints, **options: Any) -> BrowserContext:
    fresh = chromium.new_context(**{"viewport": WIDE, **options})
    fresh.set_default_timeout(PATIENCE)
    watcher.watch(fresh)
    return fresh


def leave(context: BrowserContext, complaints: Complaints) -> None:
    """Close the pages of a test."""
    for page in context.pages:
        complaints.look(page)
        page.close()


NewContext = Callable[..., BrowserContext]


@pytest.fixture
def new_context(chromium: Browser, complaints: Complaints) -> Iterator[NewContext]:
    """Makes a browser profile of its own: `new_context(color_scheme="dark")`."""
    made: list[BrowserContext] = []

    def context(**options: Any) -> BrowserContext:
        made.append(made_context(chromium, complaints, **options))
        return made[-1]

    yield context
    for context_made in made:
        leave(context_made, complaints)
        context_made.close()


@pytest.fixture(scope="session")
def profiles(chromium: Browser, watcher: Complaints) -> dict[bool, BrowserContext]:
    """Two profiles that tests share, as a new one takes as long as a test: without and with a network."""
    return {online: made_context(chromium, watcher, offline=not online) for online in (False, True)}


@pytest.fixture
def page(profiles: dict[bool, BrowserContext], complaints: Complaints) -> Iterator[Page]:
    """A page in the shared profile; what it keeps for itself is not there in the next one."""
    yield profiles[True].new_page()
    profiles[True].set_offline(False)
    leave(profiles[True], complaints)


@pytest.fixture
def offline_page(profiles: dict[bool, BrowserContext], complaints: Complaints) -> Iterator[Page]:
    """A page whose network is off: what opens here needs nothing."""
    yield profiles[False].new_page()
    leave(profiles[False], complaints)


@pytest.fixture
def elsewhere(tmp_path: Path, complaints: Complaints) -> Iterator[tuple[str, Path]]:
    """A web server of somebody else: its origin, and the folder of its pages."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer((HOST, 0), partial(Quiet, directory=str(tmp_path))) as foreign:
        Thread(target=foreign.serve_forever, daemon=True).start()
        origin = f"http://{HOST}:{foreign.server_port}"
        complaints.origins.add(origin)
        yield origin, tmp_path
        foreign.shutdown()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> made_runs.Runs:
    """Results folders, each made when it is first asked for; nobody writes into them."""
    return made_runs.Runs(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="session")
def reports(runs: made_runs.Runs) -> Callable[..., Path]:
    """`reports("plain")`: the report of a run; of two runs their comparison."""
    return runs.report


@pytest.fixture(scope="session")
def to_review(runs: made_runs.Runs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`to_review("plain")`: a copy of a run for one test to write into, below a folder that all of them share."""
    results = tmp_path_factory.mktemp("reviewed") / "results"
    numbers = count()
    return lambda name: Path(shutil.copytree(runs(name), results / f"{name}-{next(numbers)}"))


@pytest.fixture
def table(offline_page: Page, reports: Callable[..., Path]) -> Table:
    """The report of 12 rows, opened from disk, with the network off."""
    offline_page.goto(reports("plain").as_uri())
    made = Table(offline_page)
    made.shows(range(12))
    return made


@pytest.fixture
def server(run: Path, serve: Serve) -> Server:
    """The app with the pages of a review, over the folder of a test's `run`."""
    return serve(run.parent, "--review", "--as", "ana")
