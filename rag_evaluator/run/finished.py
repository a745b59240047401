"""The note that the result files of a stage have been written, and whether they still are as they were written."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from rag_evaluator.files.atomic import write_json
from rag_evaluator.files.digest import file_digest
from rag_evaluator.run.journal import MAIN_TASK, Journal, journals_in


@dataclass(frozen=True)
class Finished:
    """What `merged.json` says.

    Attributes:
        plan: digest of the plan.
        again: chunks in which another try may make a missing record.
        run: what the workers of the start that merged share; None for processes started by hand.
        seal: run digest, see `rag_evaluator.tasks.manifest`; None where it is not known.
        ended: seconds since the epoch.
        files: name of each result file -> size in bytes, time of change in nanoseconds, SHA-256.
    """

    plan: str
    again: Sequence[int]
    run: str | None
    seal: str | None
    ended: float
    files: Mapping[str, Sequence[Any]]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_finished(journal: Journal) -> Finished | None:
    """The note of a journal; None if there is none, it is for another plan, or it cannot be understood."""
    try:
        data = json.loads((journal.folder / "merged.json").read_bytes())
        note = Finished(**{part.name: data[part.name] for part in fields(Finished)})
        understood = (
            isinstance(note.files, dict)
            and all(isinstance(seen, list) for seen in note.files.values())
            and all(type(chunk) is int for chunk in note.again)
            and isinstance(note.ended, int | float)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return note if understood and note.plan == journal.digest else None


def describe_files(folder: Path, names: Iterable[str]) -> dict[str, list[Any]]:
    """Size, time of change and SHA-256 of files."""
    return {name: [*_stamp(folder / name), file_digest(folder / name)] for name in names}


def note_rewritten(folder: Path, names: Iterable[str]) -> None:
    """This program has written result files of a finished evaluation anew: they are still as it wrote them."""
    for journal in journals_in(folder) if (folder / "journal").is_dir() else ():
        note = read_finished(journal) if journal.plan.task == MAIN_TASK else None
        if note is not None:
            files = {**note.files, **describe_files(folder, names)}
            write_json(journal.folder / "merged.json", replace(note, files=files).to_json())


def is_complete(journal: Journal) -> bool:
    """Whether all chunks are there, the result files have been written, and each of them is there."""
    note = read_finished(journal)
    return note is not None and all((journal.results / name).is_file() for name in note.files) and not journal.missing()


def changed_files(journal: Journal) -> list[str]:
    """Result files that are not as they were written."""
    note = read_finished(journal)
    return [] if note is None else differing_files(journal.results, note.files)


def differing_files(folder: Path, files: Mapping[str, Sequence[Any]]) -> list[str]:
    """Those that are not as `describe_files` has described them."""
    return [name for name, seen in files.items() if _differs(folder / name, seen)]


def outcome(journal: Journal, began: float) -> tuple[bool, list[str]]:
    """Whether the result files were written since a moment; if not, those that are not as they were written."""
    note = read_finished(journal)
    wrote = note is not None and note.ended >= began
    return wrote, [] if wrote else changed_files(journal)


def _differs(path: Path, seen: Sequence[Any]) -> bool:
    """Whether a file is another than it was; read only if size or time differ, as a copied folder has other times."""
    try:
        stamp = _stamp(path)
        return stamp != list(seen[:2]) and (stamp[0] != seen[0] or file_digest(path) != seen[2])
    except (OSError, IndexError):
        return True


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]
