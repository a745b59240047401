"""Files that other processes read: written beside their place, brought to disk, and only then given their name."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.jsonl import json_text

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns errors of the file system into a `ResultsError` that names the place."""
    try:
        yield
    except OSError as error:
        place = error.filename or path
        reason = error.strerror or str(error)
        raise ResultsError(
            f"{place}: cannot be written: {reason}. Free space or choose another output_dir; what was scored is kept."
        ) from error


def publish(temporary: Path, data: bytes, target: Path) -> bool:
    """Give data the name `target`, unless there is such a file: the first writer wins; whether this was the first."""
    _write(temporary, data)
    try:
        won = _link(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)
    return won


def replace_json(temporary: Path, value: Mapping[str, Any], target: Path) -> None:
    """Put a JSON document in the place of what is there. Raises `ResultsError`."""
    replace_bytes(temporary, json_bytes(value), target)


def replace_bytes(temporary: Path, data: bytes, target: Path) -> None:
    """Put data in the place of what is there. Raises `ResultsError`."""
    with writing(target):
        _write(temporary, data)
        temporary.replace(target)
        sync_folder(target.parent)


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """A JSON document as it is on disk."""
    return json_text(value).encode("utf-8")


def sync_file(path: Path) -> None:
    """Bring a file that was written to disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """A new name is safe from a power cut once its folder is on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _link(source: Path, target: Path) -> bool:
    """Give a finished file its name, unless there is one."""
    try:
        os.link(source, target)
    except FileExistsError:
        return source.stat().st_nlink == 2  # NFS may say so after it has linked
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
        if target.exists():
            return False
        source.rename(target)  # two at the same moment: the later one wins, both are whole
    return True
