"""Two runs that people review and label, and a reviewer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from app_client import client
from labelled_runs import faithful_run, graded_run
from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    graded_run(root / "exact")
    faithful_run(root / "faith", [f"It is so {place}. It is wrong." for place in range(30)])
    return root


@pytest.fixture
def results(made: Path) -> Iterator[Path]:
    yield made
    for left in (*made.glob("*/reviews.jsonl"), *made.glob("*/labels/*")):
        left.unlink()


@pytest.fixture
def anna(results: Path) -> TestClient:
    return client(results, who="anna")
