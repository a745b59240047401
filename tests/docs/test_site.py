"""The site is built without a network, and its pages ask no other host for anything. A link to nowhere is an error."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import lxml.html
import pytest
from docs_commands import ROOT

WITHOUT_NETWORK = ["unshare", "-n"]
LOADS = "//script/@src | //link[not(@rel='canonical')]/@href | //img/@src | //iframe/@src"


@pytest.mark.docs
def test_the_site_is_built_and_its_pages_load_nothing_from_other_hosts(tmp_path: Path) -> None:
    can = subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode == 0
    command = [*(WITHOUT_NETWORK if can else []), sys.executable, "-m", "tools.docs", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = [page for page in tmp_path.rglob("*.html") if page.name not in ("404.html", "sample-report.html")]
    trees = [lxml.html.document_fromstring(page.read_text("utf-8")) for page in pages]
    assert len(trees) > 30
    assert [load for tree in trees for load in tree.xpath(LOADS) if urlsplit(load).netloc] == []
