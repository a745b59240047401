"""What the folder of a generation holds, and how it is removed without touching files of others."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rag_evaluator.run.journal import ANSWERS, FOLDERS, PARTS, SCORES, TMP, WORKERS, Journal, generations
from rag_evaluator.run.notes import WorkerNote, now

FORMER = (PARTS, SCORES, WORKERS, TMP)  # folders of format 1, which had no generations
PROCESS = r"w\d+of\d+\..+"
NAMES = {  # folder -> names of the files that this program writes there
    PARTS: re.compile(r"\d{6,}\.jsonl"),
    SCORES: re.compile(r"\d{6,}\..+\.jsonl"),
    ANSWERS: re.compile(rf"{PROCESS}\.jsonl"),
    WORKERS: re.compile(rf"{PROCESS}\.json"),
    TMP: re.compile(rf"merging|.+\.{PROCESS}"),
}
SILENT_SECONDS = 600.0  # a worker of another machine that has written nothing for so long is taken for dead


def files_of(folder: Path, name: str) -> list[Path]:
    """The files of this program in a folder of a generation."""
    return [path for path in (folder / name).glob("*") if path.is_file() and NAMES[name].fullmatch(path.name)]


def remove(folder: Path, names: Sequence[str] = FOLDERS) -> None:
    """Remove what a generation holds; files of others, and folders that hold some, stay."""
    ours = [path for name in names for path in files_of(folder, name)]
    with suppress(OSError):  # a worker of the old generation may be writing still; what is left does no harm
        for path in (*ours, folder / "merged.json"):
            path.unlink(missing_ok=True)
        for name in names:
            if (folder / name).is_dir():
                (folder / name).rmdir()
        if generations(folder.parent) and folder.name.startswith("g"):
            folder.rmdir()


def workers_of(journal: Journal) -> list[WorkerNote]:
    """Notes of the processes that may be at work, on this machine or on another one."""
    notes = [WorkerNote.read(path) for path in (journal.folder / WORKERS).glob("*.json")]
    alive = [note for note in notes if note is not None and not note.is_gone]
    return [note for note in alive if note.is_here or now() - note.at < SILENT_SECONDS]
