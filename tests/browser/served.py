"""The app as a process that can be killed and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

HOST = "127.0.0.1"
TOKEN = "a-token-for-tests"


class Server:
    """`rag-evaluator view` as a process of its own."""

    def __init__(self, results: Path, *options: str) -> None:
        self.results = results
        self.options = options
        self.port = free_port()
        self.origin = f"http://{HOST}:{self.port}"
        self.log = results.parent / f"view-{self.port}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def link(self) -> str:
        """The link that is printed at the start."""
        return f"{self.origin}/?token={TOKEN}"

    def start(self, seconds: float = 60) -> None:
        """Start it, or start it again on the same port; returns when it answers."""
        command = [sys.executable, "-m", "rag_evaluator", "view", str(self.results), "--host", HOST]
        command += ["--port", str(self.port), *self.options]
        environment = {**os.environ, "RAG_EVALUATOR_TOKEN": TOKEN}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        until = time.monotonic() + seconds
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                pytest.fail(f"the app did not start:\n{self.log.read_text('utf-8')}")
            time.sleep(0.02)

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def entered(self) -> dict[str, str]:
        """Headers of a page that was opened by the link."""
        return {"Authorization": f"Bearer {TOKEN}"}

    def _answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL: nothing is finished, nothing is flushed."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=20)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """One request by hand; `headers` may say another Host."""
        address = self.origin + path
        return httpx.request(method, address, content=body, headers=headers, timeout=20, trust_env=False)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return int(listening.getsockname()[1])
