"""Bundles of tiny wheels, made by the command without network."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tiny_index import index

from rag_evaluator.cli.main import main

Make = Callable[..., int]


def cached_model(hub: Path) -> Path:
    """A model as the Hugging Face cache has it: links to blobs."""
    cached = hub / "models--org--Tiny-Judge"
    snapshot = cached / "snapshots" / "abc"
    for folder in (cached / "blobs", snapshot, cached / "refs"):
        folder.mkdir(parents=True)
    for name, content in (("config.json", "{}"), ("model.safetensors", "weights"), ("pytorch_model.bin", "pickled")):
        (cached / "blobs" / name).write_text(content)
        (snapshot / name).symlink_to(cached / "blobs" / name)
    (cached / "refs" / "main").write_text("abc")
    return snapshot


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return cached_model(tmp_path / "hub")


@contextmanager
def maker(folder: Path) -> Iterator[Make]:
    """`make(*arguments)`: the exit code of `bundle`, in a folder with the tiny wheels."""
    program = index(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            patch.delenv(name)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder / "links"))
        given = ["--wheel", str(program), "--torch", "links", "--extras", "demo"]
        yield lambda *arguments: main(["bundle", "--out", "bundle", *given, *arguments])


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with maker(tmp_path) as make:
        yield make


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with maker(folder) as make:
        assert make("--models", str(cached_model(folder / "hub"))) == 0
    return folder / "bundle"


@pytest.fixture
def on_node(made_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a bundle with a model, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(made_once, tmp_path / "bundle")
