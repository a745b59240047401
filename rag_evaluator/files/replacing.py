"""Whether a command may write its output where a file is already."""

from collections.abc import Iterable
from pathlib import Path

from rag_evaluator.errors import ResultsError

HEAD = 4096  # bytes in which the mark of a file is


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
    head = _head(path)
    is_own = mark is not None and mark in head
    for source in inputs:
        if source is not None and _is_read(path, source, is_own):
            raise ResultsError(f"{path}: is read by this command, and is not replaced. Choose another name.")
    if head and not is_own and not force:
        why = "; somebody may have filled it in" if mark is None else ", and this command did not write it"
        raise ResultsError(f"{path} exists already{why}. Choose another name, or --force.")


def _is_read(path: Path, source: Path, is_own: bool) -> bool:
    """Whether a file is an input, or was left in a folder that is one by another command."""
    if source.is_dir():
        return not is_own and source.resolve() in path.resolve().parents
    return source.exists() and path.samefile(source)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error}. Choose another name.") from error
