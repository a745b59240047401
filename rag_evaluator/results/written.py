"""Whether the files of a results folder still are as they were written: whoever reads scores asks here first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.files.digest import file_digest
from rag_evaluator.program import command
from rag_evaluator.results.panel_names import is_panel

SCORES = "scores.jsonl"
WRITTEN = "written"  # of a manifest: how many rows were written, and the SHA-256 of the files that hold scores
SEALED = (SCORES, "scores.csv")


def as_sealed(folder: Path, rows: int) -> dict[str, Any]:
    """What a manifest says of the files beside it. Raises `OSError`."""
    return {"rows": rows, "sha256": {name: file_digest(folder / name) for name in SEALED}}


def refuse_changed(folder: Path, manifest: Mapping[str, Any], name: str = SCORES, rows: int | None = None) -> bool:
    """Raises `ResultsError` if the scores in a results folder are not those that were written there.

    Args:
        manifest: of the folder. Any: JSON.
        name: the file.
        rows: how many it holds; None counts its lines.

    Returns:
        Whether the digest of the file is known. If not, as in folders of older versions, only its rows were counted.
    """
    sealed = manifest.get(WRITTEN)
    written: Mapping[str, Any] = sealed if isinstance(sealed, Mapping) else {}
    digests, expected, path = written.get("sha256"), written.get("rows", manifest.get("rows")), folder / name
    digest = digests.get(name) if isinstance(digests, Mapping) else None
    try:
        if digest is not None and file_digest(path) == digest:
            return True
        held = _lines(path) if rows is None else rows
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error}. {again(folder)}") from error
    if type(expected) is int and held != expected:
        raise changed(path, f"it holds {held} rows, {expected} were written")
    if digest is not None:
        raise changed(path, "it has been changed since")
    return False


def changed(path: Path, what: str) -> ResultsError:
    """The error for a file that is not as it was written."""
    return ResultsError(f"{path}: not as it was written: {what}. {again(path.parent)}")


def again(folder: Path) -> str:
    """What writes the files of a results folder again, as a sentence."""
    if (folder / "journal" / "manifest.json").is_file() or is_panel(folder):
        return f"'{command('merge', folder)}' writes it again."
    return (
        f"There is no journal from which '{command('merge', folder)}' could write it again: copy the folder anew from "
        "where it was made, or evaluate again."
    )


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())
