"""The folder in which the workers of a stage meet, as it is read; its records, found by their keys.

    journal/                        of `evaluate`; other tasks have journal/<task>.<stage>/
        manifest.json               the plan and the generation in force; all workers must have the same
        g1/parts/000012.jsonl       a finished chunk, published by hard link: the first writer wins
        g1/scores/000012.<process>.jsonl    records of an unfinished chunk, one line each, the moment they exist
        g1/answers/<process>.jsonl  answers of the judge, where a cell needs many
        g1/workers/<process>.json   who works or worked; for `status` only
        g1/merged.json              the result files have been written
        g1/tmp/                     files that are being written

No file is ever changed by another process than its writer, so records need no locks. A run that starts
over, or keeps a part of what is there, fills the folder of a new generation; with its first record the manifest names
that one, and the old one is removed.
"""

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rag_evaluator.errors import FRESH, ResultsError
from rag_evaluator.files import Json, JsonDict, checked_line, read_checked, read_lines

from .plan import Plan, Record
from .workers import WorkerNote, now

FORMAT = 2
MAIN_TASK = "evaluate"
MAIN_STAGE = "scores"
PARTS = "parts"
SCORES = "scores"
ANSWERS = "answers"
WORKERS = "workers"
TMP = "tmp"
FOLDERS = (PARTS, SCORES, ANSWERS, WORKERS, TMP)
SILENT_SECONDS = 600.0  # a worker of another machine that has written nothing for so long is taken for dead


class Key(NamedTuple):
    """What tells a record from all others of its stage."""

    unit: str
    column: str
    signature: str | None
    repeat: int = 0


@dataclass(frozen=True)
class Line:
    """A record as it was read: the place of its unit when it was made, its key, and what it holds."""

    index: int
    key: Key
    record: Record


@dataclass(frozen=True)
class Manifest:
    """What `manifest.json` of a journal says.

    Attributes:
        plan: what all workers of the stage agree on.
        about: what the manifest of the results will say.
        generation: number of the folder in force.
    """

    plan: Plan
    about: Json
    generation: int

    def to_json(self) -> JsonDict:
        """JSON with the format and the plan's digest."""
        plan = self.plan
        head = {"format": FORMAT, "task": plan.task, "stage": plan.stage, "generation": self.generation}
        return {**head, "digest": plan.digest, "plan": plan.to_json(), "about": dict(self.about)}


def place_of(results: Path, task: str, stage: str) -> Path:
    """The folder of a stage's journal in a results folder."""
    journal = results / "journal"
    return journal if task == MAIN_TASK else journal / f"{task}.{stage}"


def journals_in(results: Path) -> list["Journal"]:
    """The journals of all stages that have begun in a results folder, the oldest first.

    Raises `ResultsError` if there is none, or for one that cannot be read.
    """
    folder = results / "journal"
    places = [path.parent for path in (folder / "manifest.json", *sorted(folder.glob("*.*/manifest.json")))]
    journals = [Journal(results, place) for place in places if (place / "manifest.json").is_file()]
    if not journals:
        if not results.is_dir():
            raise ResultsError(f"{results}: no such folder. Give the results folder of a run.")
        queued = " Its jobs may be waiting: squeue --me." if (results / "slurm").is_dir() else ""
        raise ResultsError(f"{results}: no run has begun here: there is no journal/manifest.json.{queued}")
    return sorted(journals, key=lambda journal: (journal.place / "manifest.json").stat().st_mtime)


class Journal:
    """The journal of a stage, opened for reading.

    Args:
        results: results folder.
        place: folder of the journal; None takes that of `evaluate`.

    Attributes:
        manifest: what `manifest.json` says, with its parts plan, about and generation.
        folder: of the generation in force.

    Raises `ResultsError` if there is no journal.
    """

    def __init__(self, results: Path, place: Path | None = None) -> None:
        self.results = results
        place = place or place_of(results, MAIN_TASK, MAIN_STAGE)
        manifest = read_manifest(place)
        if manifest is None:
            raise ResultsError(f"{results}: no run has begun here: there is no {place.name}/manifest.json.")
        self._take(manifest)

    def _take(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.digest = manifest.plan.digest
        self.plan = manifest.plan
        self.about = manifest.about
        self.generation = manifest.generation
        self.place = place_of(self.results, self.plan.task, self.plan.stage)
        self.folder = self.place / f"g{self.generation}"

    def part_path(self, chunk: int) -> Path:
        return self.folder / PARTS / f"{chunk:06d}.jsonl"

    def published(self) -> set[int]:
        """The chunks that are finished, by anybody."""
        try:
            names = [path.name for path in (self.folder / PARTS).iterdir()]
        except FileNotFoundError:
            return set()
        return {int(name[:-6]) for name in names if name[:-6].isdigit()} & set(range(self.plan.chunks))

    def notes(self) -> dict[str, WorkerNote]:
        """What processes say of themselves, by their names; without what cannot be understood."""
        notes = {path.stem: WorkerNote.read(path) for path in sorted((self.folder / WORKERS).glob("*.json"))}
        return {process: note for process, note in notes.items() if note is not None}

    def workers(self) -> list[WorkerNote]:
        """Notes of the processes that may be at work, on this machine or on another one."""
        alive = [note for note in self.notes().values() if not note.is_gone]
        return [note for note in alive if note.is_here or now() - note.at < SILENT_SECONDS]

    def missing(self) -> list[int]:
        """The chunks that are not finished."""
        return sorted(set(range(self.plan.chunks)) - self.published())

    def read_part(self, chunk: int) -> Sequence[bytes]:
        """The lines of a finished chunk.

        Raises `ResultsError`, with its name, if it is damaged or belongs to another run.
        """
        path = self.part_path(chunk)
        mend = "Remove it, and the same command makes it again."
        try:
            *lines, last = path.read_bytes().splitlines(keepends=True)
            footer = read_checked(last)
            if footer["body"] != hashlib.sha256(b"".join(lines)).hexdigest():
                raise ValueError("its checksum does not fit")
        except FileNotFoundError:
            raise ResultsError(f"{path}: this chunk is missing. The same command makes it again.") from None
        except OSError as error:
            raise ResultsError(f"{path}: cannot be read: {error}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: damaged ({error}). {mend}") from None
        if footer["plan"] != self.digest or footer["chunk"] != chunk:
            raise ResultsError(
                f"{path}: foreign: it is chunk {footer['chunk']} of the plan {footer['plan']}, expected chunk {chunk} "
                f"of {self.digest}. {mend}"
            )
        return lines

    def read_footer(self, chunk: int) -> JsonDict:
        """The footer of a finished chunk, its lines unread and unchecked; empty if it cannot be read."""
        try:
            with self.part_path(chunk).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                footer = read_checked(file.read().splitlines(keepends=True)[-1])
        except (OSError, ValueError, IndexError):  # `read_part` says so when it matters
            return {}
        return footer if "chunk" in footer else {}

    def unfinished(self, chunk: int) -> dict[Key, Record]:
        """What anybody, dead or alive, has made of an unfinished chunk and is worth keeping.

        Raises `ResultsError`, with the line, for a file that is damaged.
        """
        records: dict[Key, Record] = {}
        for path in sorted((self.folder / SCORES).glob(f"{chunk:06d}.*.jsonl")):
            with suppress(FileNotFoundError):  # its chunk has just been published
                for _, line in self.read_records(path):
                    records[line.key] = line.record
        return records

    def read_records(self, path: Path) -> Iterator[tuple[int, Line]]:
        """The records of a file that are worth keeping, each with the place where its line begins."""
        for start, line in read_lines(path, self.decode):
            if line is not None and line.key.signature is not None and not (line.record.missing and line.record.retry):
                yield start, line

    def encode(self, index: int, key: Key, record: Record) -> bytes:
        """The line of a record."""
        place = {"task": self.plan.task, "stage": self.plan.stage, "index": index, **key._asdict()}
        return checked_line({**place, **vars(record), "details": dict(record.details)})

    def decode(self, line: bytes) -> Line | None:
        """The record of a line; None for the footer of a chunk.

        Raises `ValueError`, `KeyError` or `TypeError` where the line is damaged or belongs to another stage.
        """
        data = read_checked(line)
        if "chunk" in data:
            return None
        if (data["task"], data["stage"]) != (self.plan.task, self.plan.stage):
            raise ValueError(f"it belongs to {data['task']}.{data['stage']}")
        key = Key(*(data[name] for name in Key._fields))
        record = Record(data["value"], data["reason"], bool(data["retry"]), data["details"])
        return Line(int(data["index"]), key, record)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been made yet."""
        return not any(any((self.folder / name).glob("*.jsonl")) for name in (PARTS, SCORES, ANSWERS))


def generations(place: Path) -> list[int]:
    """The generations that have a folder."""
    return sorted(int(path.name[1:]) for path in place.glob("g*") if re.fullmatch(r"g\d+", path.name))


def read_manifest(place: Path) -> Manifest | None:
    """The manifest of a journal; None if there is none.

    Raises `ResultsError` if it is damaged, of an older version, or not ours.
    """
    path = place / "manifest.json"
    try:
        data: Any = json.loads(path.read_bytes())
        if not isinstance(data, dict):
            raise ValueError("it is no JSON object")
        if type(data.get("format")) is int and data["format"] != FORMAT:
            raise ResultsError(
                f"{place.parent}: its journal has format {data['format']}, this version reads and writes {FORMAT}. "
                f"Choose another name or output_dir, or {FRESH}."
            )
        plan = Plan(**data["plan"])
        if plan.digest != data["digest"]:
            raise ValueError("it does not fit its digest")
        if not isinstance(data["about"], dict):
            raise ValueError("it does not say what it is about")
        return Manifest(plan, data["about"], int(data["generation"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path}: damaged ({error}). {FRESH[0].upper()}{FRESH[1:]}.") from None


class KnownRecords:
    """The records of a journal that are worth keeping; of a key that is there several times the last one counts.

    Args:
        journal: None has none.

    Their places are kept in a temporary database on disk, so that memory does not grow with their number. Raises
    `ResultsError` for a file that is damaged before its last line.
    """

    def __init__(self, journal: Journal | None) -> None:
        self._places = sqlite3.connect("", check_same_thread=False)
        self._places.execute("CREATE TABLE place (key TEXT PRIMARY KEY, path TEXT, start INTEGER) WITHOUT ROWID")
        if journal is not None:
            self._decode = journal.decode
            self._places.executemany("INSERT OR REPLACE INTO place VALUES (?, ?, ?)", self._read(journal))

    def find(self, key: Key) -> Record | None:
        """The record of a key."""
        row = self._places.execute("SELECT path, start FROM place WHERE key = ?", (_text(key),)).fetchone()
        if row is None:
            return None
        with Path(row[0]).open("rb") as file:
            file.seek(row[1])
            line = self._decode(file.readline())
        assert line is not None
        return line.record

    def close(self) -> None:
        """Give the temporary database back."""
        self._places.close()

    def _read(self, journal: Journal) -> Iterator[tuple[str, str, int]]:
        """Key, file and place in it of each record that is worth keeping."""
        for path in (path for name in (PARTS, SCORES) for path in sorted((journal.folder / name).glob("*.jsonl"))):
            yield from ((_text(line.key), str(path), start) for start, line in journal.read_records(path))


def _text(key: Key) -> str:
    return "\n".join(map(str, key))
