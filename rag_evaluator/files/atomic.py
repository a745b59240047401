"""JSON documents that people open: whole or not at all, with short lists of numbers on one line and safe names."""

import json
import os
import re
import shutil
import socket
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import short_digest

NUMBER = r"(?:-?\d[\d.eE+-]*|null)"
NUMBERS = re.compile(rf"\[\n\s+({NUMBER}(?:,\n\s+{NUMBER})*)\n\s*\]")  # no string of JSON holds a line break
SCRATCH = ".writing-"
NAME_BYTES = 160  # file systems allow 255 for the whole name
UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')


def to_json(value: Any) -> str:
    """Valid JSON, indented by 4, lists of numbers on one line. Any: JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=4, allow_nan=False)
    return NUMBERS.sub(_on_one_line, text) + "\n"


def _on_one_line(found: re.Match[str]) -> str:
    return f"[{', '.join(found[1].replace(',', ' ').split())}]"


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file whole or not at all; its folder is made. Raises `ResultsError` if that cannot be done."""
    name = short_digest(path.name)
    temporary = path.with_name(f".{name}.{os.getpid()}.tmp")  # workers may write the same file at the same time
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be written: {error}. Free space or choose another folder.") from error


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A temporary folder in a folder, for files that are moved there once all are written.

    Those that killed processes of this machine have left there are removed.
    """
    host = re.sub(r"\W", "_", socket.gethostname())
    for left in folder.glob(f"{SCRATCH}{host}-*-*"):
        pid = left.name.split("-")[2]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}{host}-{os.getpid()}-", dir=folder) as name:
        yield Path(name)


def write_json(path: Path, value: Any) -> None:
    """One document. Any: JSON."""
    write_whole(path, lambda to: _write(to, to_json(value)))


def write_json_list(path: Path, values: Iterable[Any]) -> None:
    """One list, written value by value, with the same text as `write_json`. Any: JSON."""

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            between = "[\n"
            for value in values:
                file.write(between + to_json([value])[len("[\n") : -len("\n]\n")])
                between = ",\n"
            file.write("[]\n" if between == "[\n" else "\n]\n")

    write_whole(path, write)


def write_lines(path: Path, records: Iterable[Any]) -> None:
    """One JSON value a line."""

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)

    write_whole(path, write)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")  # half a surrogate pair is no UTF-8


def safe_names(texts: Sequence[str]) -> list[str]:
    """A file name for each text, all different, also where upper and lower case are one.

    A text is its own name as far as every file system allows it. Names that had to be shortened or changed before their
    end carry a digest; equal ones are numbered: `_2`, `_3`.
    """
    taken: set[str] = set()
    names = []
    for text in texts:
        base, number = _safe(text), 1
        name = base
        while name.casefold() in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _safe(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).strip().rstrip("?!. ")
    name = UNSAFE.sub("_", plain).encode("utf-8", "ignore")
    short = name[:NAME_BYTES].decode("utf-8", "ignore").strip()
    if short == plain and short:
        return short
    return f"{short}_{short_digest(text)[:8]}"
