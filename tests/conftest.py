"""Shared parts: one thread for each process, model folders made once a session, a small dataset.

It imports no torch: the process of pytest-xdist that gives out tests needs none.
"""

import gc
import os
from shutil import rmtree
from tempfile import mkdtemp

os.environ["OMP_NUM_THREADS"] = "1"  # of torch, here and in what tests start: two workers fill two cores
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
os.environ["HF_HOME"] = mkdtemp()  # where unpacked models are kept
os.environ.pop("COLUMNS", None)  # pytest-xdist sets 80 in its workers, which no output of ours is meant for

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from command_starter import Zygote
from httpx._config import create_ssl_context
from imported import DELETED, imports_of, is_deleted

from rag_evaluator import Config, load_config
from rag_evaluator.files import Watch


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A test that imports from a deleted feature goes with it."""
    if collection_path.suffix != ".py" or not (DELETED or b"rag_evaluator.features." in collection_path.read_bytes()):
        return None
    pairs = imports_of(collection_path)
    return any(is_deleted(module) or (module == "rag_evaluator" and name in DELETED) for module, name in pairs) or None


def pytest_collection_finish() -> None:
    """What is imported by now stays, and is not searched for garbage after each model."""
    gc.freeze()


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One for all modules: its imports take longer than most of what it starts."""
    made = Zygote()
    yield made
    made.close()


@pytest.fixture(scope="session", autouse=True)
def _no_unpacked_models_left() -> Iterator[None]:
    yield
    rmtree(os.environ["HF_HOME"])


@pytest.fixture(scope="session", autouse=True)
def _quick_files_and_clients() -> Iterator[None]:
    """Nothing waits for the disk; certificates are read once, not for each client of a fake server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        patch.setattr("httpx._transports.default.create_ssl_context", cache(create_ssl_context))
        yield


@pytest.fixture(autouse=True)
def _no_charts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without figures, whose charts take a second in each process, but where they are the subject."""
    if not any(map(request.node.get_closest_marker, ("charts", "browser"))):
        monkeypatch.setattr("rag_evaluator.report.document.figures_html", lambda run: "")


@pytest.fixture(autouse=True)
def _no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process write no progress, however slow the machine is, but where it is the subject."""
    monkeypatch.setattr("rag_evaluator.cli.watching.Watch", partial(Watch, first=3600.0))


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`model_folder(kind, **shape)`: folder of a tiny random-weight model, made once."""
    import tiny_models

    made: dict[Any, Path] = {}

    def folder(kind: str, **shape: Any) -> Path:
        key = (kind, *sorted(shape.items()))
        if key not in made:
            made[key] = tiny_models.make(kind, tmp_path_factory.mktemp(kind), **shape)
        return made[key]

    return folder


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs in a new folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Config]:
    """`load(text, *overrides)`: what `load_config` makes of a config.yaml with this text."""

    def write_and_load(text: str, *overrides: str) -> Config:
        (tmp_path / "config.yaml").write_text(text, "utf-8")
        return load_config(tmp_path / "config.yaml", overrides)

    return write_and_load


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """Three rows with every column a metric can need."""
    return [
        {
            "id": "a",
            "user_input": "Where was Nolu Brak born?",
            "retrieved_contexts": ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."],
            "response": "Nolu Brak was born in Tesk.",
            "reference": "He was born in Tesk.",
        },
        {
            "id": "b",
            "user_input": "Who built the Harn bridge?",
            "retrieved_contexts": ["The Harn bridge was built by Lira Vosk in 1921."],
            "response": "It was built by Dana Mirol. It was opened in 1921.",
            "reference": "Lira Vosk built it.",
        },
        {
            "id": "c",
            "user_input": "How high is Mount Selo?",
            "retrieved_contexts": ["Mount Selo is 812 metres high."],
            "response": "I don't know.",
            "reference": "812 metres",
        },
    ]
