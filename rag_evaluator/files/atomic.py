"""Files that are written whole or not at all."""

import json
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.json_text import json_text, wide_json_text

SCRATCH = ".writing-"


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all; its folder is made. Raises `ResultsError` if that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _own_folder(path.parent) as folder:  # workers may write the same file at the same time
            write(folder / path.name)
            (folder / path.name).replace(path)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error}. Free space or choose another folder.") from error


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A temporary folder in a folder, for files that are moved there once all are written.

    Those that killed processes of this machine have left there are removed.
    """
    for left in folder.glob(f"{SCRATCH}{_host()}-*-*"):
        pid = left.name.split("-")[2]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    with _own_folder(folder) as own:
        yield own


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    # half a surrogate pair is no UTF-8
    write_whole(path, lambda to: to.write_text(text, encoding="utf-8", errors="replace", newline="\n"))


def write_json(path: Path, value: Any) -> None:
    """One document, as `json_text` has it. Any: JSON."""
    write_text(path, json_text(value))


def write_wide_json(path: Path, value: Any) -> None:
    """One document, as `wide_json_text` has it. Any: JSON."""
    write_text(path, wide_json_text(value))


def write_wide_json_list(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    """One list of objects, written one by one, with the same text as `write_wide_json`. Any: JSON."""

    def pieces() -> Iterator[str]:
        between = "[\n"
        for value in values:
            yield between + wide_json_text([value])[len("[\n") : -len("\n]\n")]
            between = ",\n"
        yield "[]\n" if between == "[\n" else "\n]\n"

    _write_pieces(path, pieces())


def write_lines(path: Path, records: Iterable[Any]) -> None:
    """One JSON value a line."""
    _write_pieces(path, (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records))


def _write_pieces(path: Path, pieces: Iterable[str]) -> None:
    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(pieces)

    write_whole(path, write)


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder of this process; no other one, on whatever machine, writes there."""
    prefix = f"{SCRATCH}{_host()}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _host() -> str:
    return re.sub(r"\W", "_", socket.gethostname())
