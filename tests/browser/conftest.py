"""A real Chromium, pages that must not complain, and the app."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import made_runs
import pytest
from complaints import Complaints
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from served import HOST, Server

HERE = Path(__file__).parent
WIDE = {"width": 1360, "height": 900}


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


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    made = Complaints()
    yield made
    assert not made.found, "\n".join(made.found)


Serve = Callable[..., Server]


@pytest.fixture
def serve(complaints: Complaints) -> Iterator[Serve]:
    """Starts the app over a results folder: `serve(folder, "--review", "--as", "ana")`."""
    made: list[Server] = []

    def start(results: Path, *options: str) -> Server:
        server = Server(results, *options)
        made.append(server)
        complaints.origins.add(server.origin)
        return server

    yield start
    for server in made:
        server.kill()


NewContext = Callable[..., BrowserContext]


@pytest.fixture
def new_context(chromium: Browser, complaints: Complaints, serve: Serve) -> Iterator[NewContext]:
    """Makes a browser profile of its own: `new_context(color_scheme="dark")`. They close before servers do."""
    made: list[BrowserContext] = []

    def context(**options: object) -> BrowserContext:
        fresh = chromium.new_context(**{"viewport": WIDE, **options})  # type: ignore[arg-type]
        fresh.set_default_timeout(10_000)
        complaints.watch(fresh)
        made.append(fresh)
        return fresh

    yield context
    for context_made in made:
        for page in context_made.pages:
            complaints.look(page)
        context_made.close()


@pytest.fixture
def page(new_context: NewContext) -> Page:
    return new_context().new_page()


@pytest.fixture
def offline_page(new_context: NewContext) -> Page:
    """A page whose network is off: what opens here needs nothing."""
    return new_context(offline=True).new_page()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> made_runs.Runs:
    """Results folders, each made when it is first asked for; nobody writes into them."""
    return made_runs.Runs(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="session")
def reports(runs: made_runs.Runs) -> Callable[..., Path]:
    """`reports("plain")`: the report of a run; of two runs their comparison."""
    return runs.report
