"""Texts that name neither the person nor the machine."""

import getpass
import os
import re
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

SHORTEST = 3  # letters of a name that is looked for in texts


def harmless(value: Any) -> Any:  # Any: JSON
    """The value with `~` for the home folder, `<user>` and `<host>` for their names, in all texts."""
    if isinstance(value, dict):
        return {name: harmless(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(part) for part in value]
    return _harmless_text(value) if isinstance(value, str) else value


def _harmless_text(text: str) -> str:
    for home in _homes():
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    for names, shown in ((_users(), "<user>"), (_hosts(), "<host>")):
        for name in sorted(names, key=len, reverse=True):
            if len(name) >= SHORTEST:
                text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", shown, text, flags=re.IGNORECASE)
    return text


def _homes() -> list[str]:
    homes = {str(Path.home()), os.path.realpath(Path.home()), os.environ.get("HOME", "")}
    return sorted((home.rstrip("/") for home in homes if len(home) > 1), key=len, reverse=True)


def _users() -> set[str]:
    names = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SLURM_JOB_USER", "SUDO_USER")}
    with suppress(OSError, KeyError):  # a number without a name, in a container
        names.add(getpass.getuser())
    return {name for name in names if name not in ("root", "user", "nobody")}


def _hosts() -> set[str]:
    whole = {socket.gethostname(), os.environ.get("HOSTNAME", ""), os.environ.get("SLURMD_NODENAME", "")}
    return {name for host in whole for name in (host, host.partition(".")[0]) if name != "localhost"}
