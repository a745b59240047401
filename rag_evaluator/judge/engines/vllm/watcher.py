"""Ends a server, and all that it has started, when its owner ends: a program that needs the standard library only.

    python -I watcher.py OWNER LAYERS GRACE FOLDER COMMAND...

Its standard input is a pipe from its owner: the end of file says that the owner is gone, or wants the server to end.
The first layer does not start the command but a watcher of the next layer, whose owner it is. Each layer is the new
parent of processes whose own has died, so if one layer is killed, the other finds all that is left. The first layer
removes the folder. GRACE is the time in seconds from SIGTERM to SIGKILL.

What else a killed server leaves is shared memory, hundreds of megabytes of it: the folder lists what the server uses,
and has a lock that is held as long as somebody watches. If all are killed at once, the next start sweeps.
"""

import ctypes
import fcntl
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # of prctl
CHECK = 0.2  # seconds between two looks
NOTE = 3.0  # seconds between two looks at the memory that a server shares
PREFIX = "rag-evaluator-"  # of folders
LOCK, SHARED = "lock", "shared"  # files in a folder
MEMORY = Path("/dev/shm")
NAMES = re.compile(r"(psm_|sem\.mp-|torch_|nccl-|vllm_)[^/]*")  # of Python, torch, NCCL and vLLM: no file of a user
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGXCPU)
"""Ctrl-C, and what Slurm sends to all processes of a job: meant for the owner, blocked here and in the server."""


def main(arguments: list[str]) -> int:
    """The server's exit code, 0 if it was ended because of its owner."""
    owner, layers, grace, folder, *command = arguments
    signal.pthread_sigmask(signal.SIG_BLOCK, [*SIGNALS, signal.SIGTERM])
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.stderr.write(f"prctl: {os.strerror(ctypes.get_errno())}\n")
        return 1
    lock(Path(folder))
    is_first = int(layers) > 1
    if is_first:
        command = [sys.executable, "-I", __file__, str(os.getpid()), str(int(layers) - 1), grace, folder, *command]
    code = 0
    if not is_gone(int(owner), 0.0):
        child = start(command, has_pipe=is_first)
        status = watch(int(owner), child.pid, None if is_first else Path(folder))
        code = 0 if status is None else os.waitstatus_to_exitcode(status)
        note_shared(Path(folder))
        end(child, is_first, float(grace))
        remove_shared(Path(folder))
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


def watch(owner: int, child: int, folder: Path | None) -> int | None:
    """The status with which the child has ended; None if the owner has ended before.

    Args:
        folder: where to list the memory that the server shares, meanwhile; None: another watcher does.
    """
    noted = time.monotonic()
    while not is_gone(owner, CHECK):
        if folder is not None and time.monotonic() - noted > NOTE:
            note_shared(folder)
            noted = time.monotonic()
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


def lock(folder: Path) -> int:
    """Say that the server of a folder may live, until this process ends or closes the descriptor."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    with suppress(OSError):  # a file system without locks: what is empty is never swept
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        os.write(descriptor, b"locked\n")
    return descriptor


def sweep(place: Path) -> None:
    """Remove what servers have left that were killed together with all that watched them."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if is_dead(folder):
                remove_shared(folder)
                shutil.rmtree(folder, ignore_errors=True)


def is_dead(folder: Path) -> bool:
    """Whether a folder is this user's and nobody holds its lock."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return False
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_size == 0:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def note_shared(folder: Path) -> None:
    """List the shared memory that the processes below this one use; a file differs from later ones in its number."""
    noted = shared_in(folder)
    for name in used(descendants(os.getpid())):
        with suppress(OSError):
            status = (MEMORY / name).stat()
            if status.st_uid == os.geteuid() and (name, status.st_ino) not in noted:
                with (folder / SHARED).open("a") as file:
                    file.write(f"{name} {status.st_ino}\n")


def remove_shared(folder: Path) -> None:
    """Remove the memory that a dead server has left: what it had noted, and nobody uses now."""
    noted = shared_in(folder)
    in_use = used(parents()) if noted else set()
    for name, number in noted:
        with suppress(OSError):
            if name not in in_use and (MEMORY / name).stat().st_ino == number:
                (MEMORY / name).unlink()


def shared_in(folder: Path) -> set[tuple[str, int]]:
    """What is listed: names, and numbers of files."""
    try:
        lines = (folder / SHARED).read_text().splitlines()
    except OSError:
        return set()
    words = [line.split() for line in lines]
    return {(word[0], int(word[1])) for word in words if len(word) == 2 and NAMES.fullmatch(word[0])}


def used(processes: Iterable[int]) -> set[str]:
    """Names of shared memory that processes have mapped.

    Who makes a semaphore has mapped it under a passing name: the number of the file tells which it is.
    """
    names, numbers = set(), set()
    for process in processes:
        with suppress(OSError):
            for line in Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines():
                mapping, _, name = line.partition(f" {MEMORY}/")
                if name:
                    names.add(name)
                    numbers.add(int(mapping.split()[4]))
    with suppress(OSError):
        names |= {entry.name for entry in os.scandir(MEMORY) if entry.inode() in numbers}
    return {name for name in names if NAMES.fullmatch(name)}


def reap() -> dict[int, int]:
    """Processes that have ended since, own children and adopted ones, with their status."""
    ended = {}
    try:
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            ended[child[0]] = child[1]
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
    family = {process}
    while more := {child for child, parent in above.items() if parent in family} - family:
        family |= more
    return family - {process}


def parents() -> dict[int, int]:
    """Process -> its parent, of all that have not ended."""
    above = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = path.read_text(errors="replace").rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            above[int(path.parent.name)] = int(parent)
    return above


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
