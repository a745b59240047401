"""A server that is hard to end: children that ignore SIGTERM, or have left its group and session, or have no parent.

FAKE_VLLM says how far it comes: `loading` never answers, `broken` ends with an error, all else becomes ready and then
leaves every question open.
"""

import mmap
import os
import signal
import socket
import sys
import time
from pathlib import Path

made = []  # memory in use


def stubborn() -> None:
    """A process that ends by SIGKILL only."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def sharing() -> None:
    """A process with memory that it never removes."""
    name = os.environ.get("FAKE_VLLM_SHARES")
    if name:
        with Path(f"/dev/shm/{name}").open("wb+") as file:
            file.write(bytes(mmap.PAGESIZE))
            file.flush()
            made.append(mmap.mmap(file.fileno(), 0))
    stubborn()


def fork_and(call) -> None:
    if os.fork() == 0:
        call()
        os._exit(0)


def daemon() -> None:
    """A child of a child that has ended, in a session of its own."""
    os.setsid()
    fork_and(stubborn)


def main() -> None:
    how = os.environ.get("FAKE_VLLM", "")
    print("loading weights", flush=True)
    if how == "broken":
        sys.exit("RuntimeError: no such weights")
    fork_and(sharing)
    fork_and(daemon)
    if how == "loading":
        time.sleep(3600)
    if how != "polite":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[sys.argv.index("--uds") + 1])
    listener.listen()
    kept = []
    while True:
        connection, _ = listener.accept()
        if b"/health" in connection.recv(4096):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            connection.close()
        else:
            kept.append(connection)


main()
