"""Fingerprints of models: two models never count as one, and a model is not read again at every start."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aliases import Patch

from rag_evaluator.files import file_digest
from rag_evaluator.hub import fingerprint

MIB = 1 << 20
LONG_AGO = 1_500_000_000 * 10**9  # nanoseconds since the epoch


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The cache, a folder of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rag_evaluator" / "fingerprints"


@pytest.fixture
def hashed(monkeypatch: Patch) -> list[str]:
    """Names of the files that are read."""
    names: list[str] = []

    def counted(path: Path) -> str:
        names.append(path.name)
        return file_digest(path)

    monkeypatch.setattr("rag_evaluator.hub.fingerprints.file_digest", counted)
    return names


def model_of(folder: Path, weights: bytes = b"w" * (2 * MIB), old: bool = True, **files: bytes) -> Path:
    """A folder with weights above the size that is worth caching, written long ago where that is asked for."""
    folder.mkdir(parents=True)
    for name, content in {"model.safetensors": weights, "config.json": b"{}", "tokenizer.json": b"[]", **files}.items():
        (folder / name).write_bytes(content)
        if old:
            age(folder / name)
    return folder


def age(path: Path) -> None:
    """As if the file had been written long ago: only its times are looked at, and the clock is a test's own."""
    os.utime(path, ns=(LONG_AGO, LONG_AGO))


@pytest.fixture(autouse=True)
def later(monkeypatch: Patch) -> Callable[[float], None]:
    """The clock of the cache, an hour ahead, so that no file is fresh; `later(0)` is the true time."""
    now = time.time_ns

    def shift(seconds: float) -> None:
        monkeypatch.setattr("time.time_ns", lambda: now() + int(seconds * 10**9))

    shift(3600)
    return shift


CHANGES: dict[str, Callable[[Path], object]] = {
    "one byte in the middle": lambda folder: edit(folder / "model.safetensors", MIB, b"x"),
    "another configuration": lambda folder: (folder / "config.json").write_bytes(b"[]"),
    "a file more": lambda folder: (folder / "merges.txt").write_bytes(b""),
    "code of the model's own": lambda folder: (folder / "modeling_own.py").write_bytes(b"pass"),
}


def edit(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_in_a_model_changes_its_fingerprint(change: str, tmp_path: Path) -> None:
    folder = model_of(tmp_path / "model")
    before = fingerprint(folder)
    CHANGES[change](folder)
    assert fingerprint(folder) != before


def test_a_readme_does_not_count_and_a_copy_is_the_same_model(tmp_path: Path) -> None:
    folder = model_of(tmp_path / "model")
    copy = model_of(tmp_path / "copy", **{"README.md": b"words"})
    assert fingerprint(folder) == fingerprint(copy)
    assert fingerprint("some-org/model") == "some-org/model"


def test_weights_are_read_once_and_again_after_every_kind_of_change(tmp_path: Path, hashed: list[str]) -> None:
    folder = model_of(tmp_path / "model")
    weights = folder / "model.safetensors"
    before = fingerprint(folder)
    assert fingerprint(folder) == before
    assert hashed.count(weights.name) == 1
    edit(weights, MIB, b"x")  # in place: same size, same inode
    age(weights)  # and the same time
    changed = fingerprint(folder)
    assert changed != before
    assert hashed.count(weights.name) == 2
    weights.unlink()
    weights.write_bytes(b"w" * (2 * MIB))
    age(weights)
    assert fingerprint(folder) == before
    assert hashed.count(weights.name) == 3


def test_a_file_written_a_moment_ago_is_read_again(
    tmp_path: Path, hashed: list[str], cache: Path, later: Callable[[float], None]
) -> None:
    folder = model_of(tmp_path / "model", old=False)
    later(0)
    fingerprint(folder)
    assert not cache.exists()
    fingerprint(folder)
    assert hashed.count("model.safetensors") == 2
    later(3)
    fingerprint(folder)
    fingerprint(folder)
    assert hashed.count("model.safetensors") == 3


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"z" * 64])
def test_a_broken_cache_is_as_good_as_none(content: bytes, tmp_path: Path, cache: Path, hashed: list[str]) -> None:
    folder = model_of(tmp_path / "model")
    expected = fingerprint(folder)
    [kept] = cache.iterdir()
    kept.write_bytes(content)
    assert fingerprint(folder) == expected
    assert hashed.count("model.safetensors") == 2
    assert fingerprint(folder) == expected
    assert hashed.count("model.safetensors") == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("x", "utf-8")
    assert fingerprint(model_of(tmp_path / "model")) == fingerprint(model_of(tmp_path / "copy"))


def test_a_user_without_a_home_has_models_all_the_same(tmp_path: Path, monkeypatch: Patch) -> None:
    model = model_of(tmp_path / "model")
    expected = fingerprint(model)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: Path("~nobody").expanduser())  # raises RuntimeError
    assert fingerprint(model) == expected
