"""What a killed server leaves behind is removed, and nothing else: its folder, and the memory that it shared."""

import mmap
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_life import LIMIT, OWNER, Processes, of_kind, processes, started, wait

from rag_evaluator.judge.engines.vllm import watcher

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="watches processes by Linux' means"),
]
__all__ = ["processes"]


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Shared memory that the fake server makes and never removes."""
    path = watcher.MEMORY / f"psm_{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("FAKE_VLLM_SHARES", path.name)
    yield path
    path.unlink(missing_ok=True)


@contextmanager
def owner() -> Iterator[Path]:
    """The folder of a server whose owner is another process, once it is ready."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Path(process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.mark.parametrize("killed", ["owner", "server", "second watcher"])
def test_the_memory_that_a_server_shared_is_removed_by_who_ends_it(
    processes: Processes, memory: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "polite")
    with owner() as folder:
        assert memory.exists()
        place = {"second watcher": 1}.get(killed, 0)
        os.kill(of_kind(processes(), killed.split()[-1])[place], signal.SIGKILL)
        assert wait(lambda: not memory.exists()), LIMIT
        assert wait(lambda: not folder.exists() or killed != "owner")


def test_what_is_left_when_all_are_killed_at_once_is_removed_at_the_next_start(
    processes: Processes, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "polite")
    with owner() as folder:
        assert wait((folder / watcher.SHARED).exists)
        for process in processes():
            os.kill(process, signal.SIGKILL)
    assert wait(lambda: not processes())
    assert memory.exists() and folder.exists()
    monkeypatch.delenv("FAKE_VLLM_SHARES")
    started(monkeypatch, "polite").stop()
    assert not memory.exists() and not folder.exists()


def test_temporary_files_of_a_server_end_with_it(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    life = started(monkeypatch, "polite")
    [server, *_] = of_kind(processes(), "server")
    variables = Path(f"/proc/{server}/environ").read_bytes().split(b"\0")
    assert f"TMPDIR={life.socket.parent}".encode() in variables
    life.stop()


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of /dev/shm."""
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(watcher, "MEMORY", tmp_path / "memory")
    return tmp_path / "memory"


def make(path: Path) -> Path:
    path.write_bytes(b"x" * mmap.PAGESIZE)
    return path


def replaced(path: Path) -> None:
    other = make(path.with_name("other"))
    path.unlink()
    other.rename(path)


@pytest.mark.parametrize(
    ("name", "happens", "removed"),
    [
        ("psm_0f3367a9", lambda path: None, True),
        ("sem.mp-qmoy405j", lambda path: None, True),
        ("psm_0f3367a9", replaced, False),  # another program has taken the name
        ("Qwen3-32B.safetensors", lambda path: None, False),  # a file of the user
        ("psm_ab/../../x", lambda path: None, False),
    ],
)
def test_only_memory_of_the_dead_server_is_removed(
    shared: Path, tmp_path: Path, name: str, happens: Callable[[Path], None], removed: bool
) -> None:
    (shared / "psm_ab").mkdir()
    path = make(shared / name)
    (tmp_path / watcher.SHARED).write_text(f"\nhalf a li\n{name} {path.stat().st_ino}\n")
    happens(path)
    watcher.remove_shared(tmp_path)
    assert path.exists() is not removed


def test_memory_that_somebody_still_uses_is_kept(shared: Path, tmp_path: Path) -> None:
    path = make(shared / "psm_12345678")
    (tmp_path / watcher.SHARED).write_text(f"{path.name} {path.stat().st_ino}\n")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        watcher.remove_shared(tmp_path)
        assert path.exists()
    watcher.remove_shared(tmp_path)
    assert not path.exists()


def test_a_semaphore_is_seen_in_use_by_the_process_that_made_it() -> None:
    """Which has mapped it under a passing name. In a process of its own: joblib changes what others make."""
    code = (
        "import multiprocessing, os\n"
        "from rag_evaluator.judge.engines.vllm import watcher\n"
        "semaphore = multiprocessing.get_context('spawn').Semaphore()\n"
        "name = f'sem.{semaphore._semlock.name[1:]}'\n"
        "assert (watcher.MEMORY / name).exists()\n"
        "assert name in watcher.used([os.getpid()]), watcher.used([os.getpid()])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("lock", "is_held", "swept"),
    [(b"locked\n", False, True), (b"locked\n", True, False), (b"", False, False), (None, False, False)],
)
def test_only_folders_that_nobody_watches_any_more_are_swept(
    tmp_path: Path, lock: bytes | None, is_held: bool, swept: bool
) -> None:
    """A folder without a whole lock is being made, or is none of ours."""
    folder = tmp_path / f"{watcher.PREFIX}x"
    folder.mkdir()
    if lock is not None:
        (folder / watcher.LOCK).write_bytes(lock)
    descriptor = watcher.lock(folder) if is_held else None
    watcher.sweep(tmp_path)
    assert folder.exists() is not swept
    if descriptor is not None:
        os.close(descriptor)
        watcher.sweep(tmp_path)
        assert not folder.exists()
