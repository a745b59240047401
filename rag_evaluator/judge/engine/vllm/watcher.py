"""Ends a server, and all that it has started, when its owner ends: a program that needs the standard library only.

    python -I watcher.py OWNER LAYERS GRACE FOLDER COMMAND...

Its standard input is a pipe from its owner: the end of file says that the owner is gone, or wants the server to end.
The first layer does not start the command but a watcher of the next layer, whose owner it is. Each layer is the new
parent of processes whose own has died, so if one layer is killed, the other finds all that is left. The first layer
removes the folder. GRACE is the time in seconds from SIGTERM to SIGKILL.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # of prctl
CHECK = 0.2  # seconds between two looks
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGXCPU)
"""Ctrl-C, and what Slurm sends to all processes of a job: meant for the owner, blocked here and in the server."""


def main(arguments: list[str]) -> int:
    """The server's exit code, 0 if it was ended because of its owner."""
    owner, layers, grace, folder, *command = arguments
    signal.pthread_sigmask(signal.SIG_BLOCK, [*SIGNALS, signal.SIGTERM])
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.stderr.write(f"prctl: {os.strerror(ctypes.get_errno())}\n")
        return 1
    is_first = int(layers) > 1
    if is_first:
        command = [sys.executable, "-I", __file__, str(os.getpid()), str(int(layers) - 1), grace, folder, *command]
    code = 0
    if not is_gone(int(owner), 0.0):
        child = start(command, has_pipe=is_first)
        status = watch(int(owner), child.pid)
        code = 0 if status is None else os.waitstatus_to_exitcode(status)
        end(child, is_first, float(grace))
        if is_first and status is None:
            shutil.rmtree(folder, ignore_errors=True)
    return code if code >= 0 else 128 - code


def start(command: list[str], has_pipe: bool) -> "subprocess.Popen[bytes]":
    """The command in a process group of its own; only SIGTERM reaches a server."""
    if has_pipe:
        return subprocess.Popen(command, stdin=subprocess.PIPE)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM]),
    )


def watch(owner: int, child: int) -> int | None:
    """The status with which the child has ended; None if the owner has ended before."""
    while not is_gone(owner, CHECK):
        if (ended := reap()).get(child) is not None:
            return ended[child]
    return None


def is_gone(owner: int, seconds: float) -> bool:
    """Whether the owner has closed its end of the pipe, or has died while somebody has a copy of that end."""
    readable, _, _ = select.select([0], [], [], seconds)
    return bool(readable and not os.read(0, 4096)) or os.getppid() != owner


def end(child: "subprocess.Popen[bytes]", is_watcher: bool, grace: float) -> None:
    """End the child and all that came of it; another watcher ends what it has started by itself.

    Args:
        grace: seconds from SIGTERM to SIGKILL.
    """
    if child.stdin is not None:
        child.stdin.close()
    else:
        send(-child.pid, signal.SIGTERM)
    until = time.monotonic() + (2 * grace if is_watcher else grace)
    while time.monotonic() < until and (is_alive(child.pid) if is_watcher else descendants(os.getpid())):
        reap()
        time.sleep(0.05)
    while left := descendants(os.getpid()):
        for process in left:
            send(process, signal.SIGKILL)
        reap()
        time.sleep(0.05)


def reap() -> dict[int, int]:
    """Processes that have ended since, own children and adopted ones, with their status."""
    ended = {}
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    except ChildProcessError:
        pass
    return ended


def send(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def is_alive(process: int) -> bool:
    return parents().get(process) is not None


def descendants(process: int) -> set[int]:
    """All processes below one that have not ended."""
    above = parents()
    found = {process}
    while more := {one for one, parent in above.items() if parent in found} - found:
        found |= more
    return found - {process}


def parents() -> dict[int, int]:
    """Process -> its parent, of all that have not ended."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = path.read_text(errors="replace").rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            found[int(path.parent.name)] = int(parent)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
