"""Files that are written whole or not at all, JSON as they hold it, and names of files that are made of texts."""

import errno
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import psutil

from rag_evaluator.errors import ResultsError

SHORT = 16  # hexadecimal digits
HEAD = 4096  # bytes in which the mark of a file is
SCRATCH = ".writing-"
NAME_BYTES = 160  # file systems allow 255 for the whole name
UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
NUMBER = r"(?:-?\d[\d.eE+-]*|null)"
NUMBERS = re.compile(rf"\[\n\s+({NUMBER}(?:,\n\s+{NUMBER})*)\n\s*\]")  # no string of JSON holds a line break


def short_digest(content: str | bytes | Iterable[bytes]) -> str:
    """16 hexadecimal digits of a text, of bytes, or of parts of bytes in order. Half a surrogate pair has one, too."""
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    sha = hashlib.sha256()
    for part in [content] if isinstance(content, bytes) else content:
        sha.update(part)
    return sha.hexdigest()[:SHORT]


def file_digest(path: Path) -> str:
    """64 hexadecimal digits of a file's content. Raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_replaceable(path: Path, mark: bytes | None, force: bool = False, inputs: Iterable[Path | None] = ()) -> None:
    """Raises `ResultsError` if a file is there that this command must not replace.

    A file that the same command wrote is replaced without a word, as CI writes its reports to the same place at each
    run. It is known by its mark: the beginning that all files of its kind have, and no file of another program, a JUnit
    file of pytest for instance, has. So a file that a user wrote or filled in needs `--force`, and what the command
    reads is never replaced: a table of labels, a table of scores, what a run left in its results folder.

    Args:
        path: where the output goes.
        mark: bytes near the beginning of what the command writes; None: whatever is there may be somebody's work.
        force: replace a file of another kind.
        inputs: files and folders that the command reads; None is none.
    """
    if not path.exists() or path.is_dir():  # that a folder is there is said when it is written
        return
    if not path.is_file():
        raise ResultsError(f"{path}: is no ordinary file. Choose another name.")
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error}. Choose another name.") from error
    is_own = mark is not None and mark in head
    for source in filter(None, inputs):
        in_input = source.is_dir() and not is_own and source.resolve() in path.resolve().parents
        if in_input or (source.is_file() and path.samefile(source)):
            raise ResultsError(f"{path}: is read by this command, and is not replaced. Choose another name.")
    if head and not is_own and not force:
        why = "; somebody may have filled it in" if mark is None else ", and this command did not write it"
        raise ResultsError(f"{path} exists already{why}. Choose another name, or --force.")


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
    with _own_folder(folder) as path:
        yield path


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


def write_lines(path: Path, records: Iterable[Any]) -> None:
    """One JSON value a line."""

    def write(to: Path) -> None:
        with to.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)

    write_whole(path, write)


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder of this process; no other one, on whatever machine, writes there."""
    prefix = f"{SCRATCH}{_host()}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True) as name:
        yield Path(name)


def _host() -> str:
    return re.sub(r"\W", "_", socket.gethostname())


def safe_names(texts: Sequence[str]) -> list[str]:
    """A file name for each text, all different, also where upper and lower case are one.

    A text is its own name as far as every file system allows it. Names that had to be shortened or changed before their
    end carry a digest; equal ones are numbered: `_2`, `_3`.
    """
    taken: set[str] = set()
    names = []
    for text in texts:
        base = _safe(text)
        number = 1
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


def folder_names(paths: Sequence[str]) -> dict[str, str]:
    """What files or folders are called: of their paths so many last parts as tell them apart."""
    parts = {path: PurePath(path).parts or (path,) for path in paths}

    def shortest(path: str) -> str:
        own = parts[path]
        tails = (own[-length:] for length in range(1, len(own)))
        unique = (tail for tail in tails if sum(other[-len(tail) :] == tail for other in parts.values()) == 1)
        return "/".join(next(unique, [str(PurePath(*own))]))

    return {path: shortest(path) for path in paths}


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
    sync(target.parent)
    return won


def replace_bytes(temporary: Path, data: bytes, target: Path) -> None:
    """Put data in the place of what is there. Raises `ResultsError`."""
    with writing(target):
        _write(temporary, data)
        temporary.replace(target)
        sync(target.parent)


def sync(path: Path) -> None:
    """Bring a file that was written to disk, or the names in a folder: only then is a new one safe from a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    sync(path)


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


def json_text(value: Any) -> str:
    """Indented by 2: results, journals, prompt packs, which ragas saves so. Any: JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def wide_json_text(value: Any) -> str:
    """Indented by 4, lists of numbers on one line: what `sort` and `generate` write, whose ranks are read by eye."""
    text = json.dumps(value, ensure_ascii=False, indent=4, allow_nan=False)
    return NUMBERS.sub(lambda numbers: f"[{', '.join(numbers[1].replace(',', ' ').split())}]", text) + "\n"
