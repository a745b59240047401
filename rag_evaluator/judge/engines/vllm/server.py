"""The life of a server of our own: started in a private folder, ended with us however we end; see `watcher`."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rag_evaluator.errors import ModelError
from rag_evaluator.judge.engines.vllm import watcher

LAYERS = 2  # watchers: each ends what the other leaves
LONGEST_FOLDER = 64  # characters: the path of a UNIX socket may have 107, and names of vLLM's have 37
GRACE = 5.0  # seconds that a server has to end in order
STOPPED = 20.0  # seconds in which it has surely ended
CHECK = 0.2  # seconds
LINES, LETTERS = 15, 4000  # of the log, in errors


class VllmServer:
    """A server that listens on a UNIX socket in a folder that only this user can read.

    Its temporary files are in that folder, too, and end with it.

    Args:
        command: of the server, given the path of its socket.
        environment: of the server.
        grace: seconds that it has to end in order.

    Attributes:
        socket: path of the socket.

    Raises `ModelError` where processes cannot be watched.
    """

    def __init__(
        self, command: Callable[[Path], Sequence[str]], environment: Mapping[str, str], grace: float = GRACE
    ) -> None:
        if not sys.platform.startswith("linux"):
            raise ModelError("judge.engine: 'vllm' starts a server on Linux only. Take 'server' or 'transformers'.")
        folder = _private_folder()
        lock = watcher.lock(folder)
        self.socket, self._log = folder / "http", folder / "log"
        arguments = [str(os.getpid()), str(LAYERS), str(grace), str(folder), *command(self.socket)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", watcher.__file__, *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**environment, "TMPDIR": str(folder)},
                start_new_session=True,
            )
        self._end = weakref.finalize(self, _end, self._process, folder, lock, os.getpid())  # also at exit

    @property
    def ended(self) -> bool:
        """Whether the server has ended, with all that it had started."""
        return self._process.poll() is not None

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until the server answers. Raises `ModelError` with its last lines if it ends or takes too long."""
        until = time.monotonic() + seconds
        while not _answers(self.socket):
            if self.ended:
                raise ModelError(f"judge.vllm: the server ended before it was ready. {self.last_lines()}")
            if time.monotonic() > until:
                lines = self.last_lines()
                self.stop()
                raise ModelError(
                    f"judge.vllm: the server was not ready after {seconds:g} seconds; raise judge.vllm.start_timeout "
                    f"if it was still loading. {lines}"
                )
            time.sleep(CHECK)

    def last_lines(self) -> str:
        """What the server wrote last, for errors."""
        try:
            text = self._log.read_bytes()[-LETTERS:].decode("utf-8", "replace")
        except OSError:
            text = ""
        lines = [line for line in text.splitlines() if line.strip()][-LINES:]
        return "\n".join(["Its last lines:", *lines]) if lines else "It wrote nothing."

    def stop(self) -> None:
        """End the server and wait until it has ended."""
        self._end()


def _private_folder() -> Path:
    """A new folder of mode 0700, with a path that is short enough for a socket in it."""
    watcher.sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=watcher.PREFIX))
    if len(os.fsencode(folder)) <= LONGEST_FOLDER:
        return folder
    folder.rmdir()
    watcher.sweep(Path("/tmp"))
    return Path(tempfile.mkdtemp(prefix=watcher.PREFIX, dir="/tmp"))


def _answers(path: Path) -> bool:
    """Whether a server answers on a socket that it is well."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2.0)
            connection.connect(str(path))
            connection.sendall(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in connection.recv(64)
    except OSError:
        return False


def _end(process: "subprocess.Popen[bytes]", folder: Path, lock: int, owner: int) -> None:
    """Close the pipe, which ends the server; not in a copy of the process that has only inherited it."""
    if os.getpid() != owner:
        return
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOPPED)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
