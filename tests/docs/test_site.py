"""The site is built without a network; its pages link to what exists and ask no other host for anything."""

import fcntl
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest
from docs_commands import ROOT

WITHOUT_NETWORK = ["unshare", "-n"]


class Reader:
    """The ids of a page, its links, and what it loads."""

    def __init__(self, page: Path) -> None:
        tree = lxml.html.document_fromstring(page.read_text(encoding="utf-8"))
        self.ids = set(tree.xpath("//@id | //@name"))
        self.links = tree.xpath("//a/@href")
        self.loads = tree.xpath("//script/@src | //link[not(@rel='canonical')]/@href | //img/@src | //iframe/@src")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "site"
    can = subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode == 0
    command = [*(WITHOUT_NETWORK if can else []), sys.executable, "-m", "tools.docs", str(target)]
    with (Path(tempfile.gettempdir()) / "rag_evaluator_docs.lock").open(
        "w"
    ) as lock:  # its sources are in one folder, whoever builds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    return {
        page: Reader(page)
        for page in sorted(site.rglob("*.html"))
        if page.name not in ("404.html", "sample-report.html")
    }


@pytest.mark.docs
@pytest.mark.xdist_group("site")
def test_every_link_of_the_site_leads_to_a_page_and_a_place_in_it(pages: dict[Path, Reader]) -> None:
    lost = []
    for page, reader in pages.items():
        for link in reader.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = pages[target].ids if target in pages else None
            if not target.is_file() or (parts.fragment and known is not None and unquote(parts.fragment) not in known):
                lost.append((page.name, link))
    assert lost == []


@pytest.mark.docs
@pytest.mark.xdist_group("site")
def test_pages_load_nothing_from_other_hosts(pages: dict[Path, Reader]) -> None:
    assert [load for reader in pages.values() for load in reader.loads if urlsplit(load).netloc] == []
