"""The journal as one worker sees it, who may write."""

import errno
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rag_evaluator.errors import ResultsError, way
from rag_evaluator.files.jsonl import Appender, checked_line
from rag_evaluator.run.answers import Answers
from rag_evaluator.run.carry import carry_over
from rag_evaluator.run.finished import Finished, read_finished
from rag_evaluator.run.journal import (
    ANSWERS,
    FOLDERS,
    PARTS,
    SCORES,
    TMP,
    WORKERS,
    Journal,
    Manifest,
    generation_folder,
    generations,
    place_of,
    read_manifest,
)
from rag_evaluator.run.notes import WorkerNote
from rag_evaluator.run.task import Stage

NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
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
Start = Literal["continue", "fresh", "update"]
MERGE: Literal["merge"] = "merge"  # take what is there as it is


class WorkerJournal(Journal):
    """The journal of a stage, opened for work.

    Args:
        results: results folder; made if it is not there.
        stage: what this worker is going to do.
        process: file name of this process, see `workers.process_name`.
        start: `continue` refuses a journal of another plan, `fresh` forgets what is there, `update` keeps the records
            that still hold. What is forgotten is removed when the first new record is on disk, not before.

    A journal without any record never refuses: nothing would be lost. Records of columns without a signature are
    never used again.

    Raises `ResultsError` if the folder cannot be written, or if it holds another plan: the message names what changed.
    """

    def __init__(
        self, results: Path, stage: Stage[Any], process: str, start: "Start | Literal['merge']" = "continue"
    ) -> None:
        plan = stage.plan
        self.results, self.place, self.process = results, place_of(results, plan.task, plan.stage), process
        self._appenders: dict[int, Appender] = {}
        self._note = WorkerNote("", now(), now())
        self._fresh = start == "fresh"
        self.pending = False  # whether the manifest does not yet name this generation
        self._known: tuple[str, int] | None = None  # plan and generation that it names, as far as this process knows
        with writing(self.place):
            old = self._read_old(start)
            if old is None and not (start == "fresh" and self._is_used()):
                old = self._found(Manifest(plan, stage.about, 1))
            self._take(old or Manifest(plan, stage.about, 0))
            self._known = (self.digest, self.generation) if old else None
            changes = plan.changes(self.plan)
            if start == "fresh" or (changes and start != MERGE):
                self._take_over(stage, start, changes)
            self._make_folders()

    def record(self, chunk: int, line: bytes) -> None:
        """Keep the line of a record of an unfinished chunk; on disk within a second.

        Raises `ResultsError` if it cannot be written (a full disk), or another run has taken the folder over.
        """
        if chunk not in self._appenders:
            path = self.folder / SCORES / f"{chunk:06d}.{self.process}.jsonl"
            with writing(path):
                try:
                    self._appenders[chunk] = Appender(path)
                except FileNotFoundError:
                    self._check_ours()
                    raise
        self._appenders[chunk].append(line)
        self._commit()

    def answers(self) -> Answers:
        """The answers that cells of this generation may use; an update has those of the one before, too."""
        return Answers(self.folder / ANSWERS, self.process, lambda: None if self._fresh else self._commit())

    def sync(self, seconds: float = 0.0) -> None:
        """Force records to disk, unless that was done within the last `seconds`."""
        for appender in self._appenders.values():
            appender.sync(seconds)

    def publish(self, chunk: int, lines: Sequence[bytes], note: Mapping[str, Any]) -> bool:
        """Publish a finished chunk; False if somebody else was first. Raises `ResultsError` (a full disk)."""
        with writing(self.folder):
            self._check_ours()
            body, units = b"".join(lines), self.plan.units_of(chunk)
            footer = {
                "chunk": chunk,
                "plan": self.digest,
                "units": [units.start, units.stop],
                "records": len(lines),
                "body": hashlib.sha256(body).hexdigest(),
                **note,
            }
            won = self._publish(f"{chunk:06d}", body + checked_line(footer), self.part_path(chunk))
            self._commit()
            return won

    def clear(self, chunk: int) -> None:
        """Remove the records of a chunk that is published."""
        if chunk in self._appenders:
            self._appenders.pop(chunk).close()
        for path in (self.folder / SCORES).glob(f"{chunk:06d}.*.jsonl"):
            path.unlink(missing_ok=True)

    def withdraw(self, chunk: int) -> None:
        """Make a finished chunk unfinished; what was made in it is kept."""
        target = self.folder / SCORES / f"{chunk:06d}.withdrawn.{self.process}.jsonl"
        with writing(self.folder), suppress(FileNotFoundError):  # somebody else was first
            self.part_path(chunk).rename(target)

    def close(self) -> None:
        """Put everything on disk; a generation that never came into force is removed."""
        for appender in self._appenders.values():
            appender.sync()
            appender.close()
        self._appenders.clear()
        if self.pending:
            _remove(self.folder)

    def note_finished(self, note: Finished) -> None:
        """The result files are written: what is left of dead workers' records is of no use any more."""
        self._replace(self.folder / "merged.json", note.to_json())
        for path in _ours(self.folder, SCORES):
            path.unlink(missing_ok=True)

    def note_worker(self, **changes: Any) -> None:
        """Say of this process what has changed: fields of `WorkerNote`."""
        self._note = replace(self._note, at=now(), **changes)
        self._replace(self.folder / WORKERS / f"{self.process}.json", self._note.to_json())

    def try_again(self, run: str | None) -> bool:
        """Withdraw chunks in which another try may make a missing record; whether there are any.

        Workers of the run that merged them do not: their other workers have just tried.
        """
        note = read_finished(self)
        if note is None or not note.again or (run is not None and note.run == run):
            return False
        for chunk in note.again:
            self.withdraw(chunk)
        return True

    def forget_finished(self) -> None:
        """The result files are to be written again."""
        with writing(self.folder):
            (self.folder / "merged.json").unlink(missing_ok=True)

    def _read_old(self, start: str) -> Manifest | None:
        """The manifest in force. One that cannot be used is none for a run that starts over, if it is ours."""
        try:
            return read_manifest(self.place)
        except ResultsError:
            if start == "fresh" and self._is_used():
                return None
            raise

    def _is_used(self) -> bool:
        """Whether a run of ours has been here. Raises `ResultsError` if the folder is somebody else's."""
        if not (self.place / "manifest.json").is_file():
            return False
        if generations(self.place) or (self.place / PARTS).is_dir():
            return True
        with suppress(OSError, ValueError):
            if "format" in json.loads((self.place / "manifest.json").read_bytes()):
                return True
        raise ResultsError(
            f"{self.place} holds a manifest.json that this program did not write. Choose another name or output_dir."
        )

    def _found(self, manifest: Manifest) -> Manifest:
        """Begin a journal where there is none; the manifest of whoever was first."""
        self._take(manifest)
        self._make_folders()
        self._publish("manifest.json", _json(manifest.to_json()), self.place / "manifest.json")
        return read_manifest(self.place) or manifest

    def _take_over(self, stage: Stage[Any], start: str, changes: Sequence[str]) -> None:
        """Begin a new generation, with what still holds of the one in force."""
        old = Journal.__new__(Journal)
        old.results, old.place = self.results, self.place
        old._take(Manifest(self.plan, self.about, self.generation))
        only_unnamed = not stage.plan.changes(old.plan, unnamed=False)
        if start == "continue" and not only_unnamed and not (old.is_empty and not _works(old)):
            raise ResultsError(
                f"{self.results} holds scores of another run. Changed: {'; '.join(changes)}. Choose another name or "
                f"output_dir, {way('update')}, or {way('fresh')}."
            )
        self._take(Manifest(stage.plan, stage.about, max([old.generation, *generations(self.place)]) + 1))
        self.pending = True
        try:
            self._make_folders()
            if start != "fresh":
                carry_over(old, stage, self.folder, self.process)
        except BaseException as error:
            _remove(self.folder)
            if isinstance(error, FileNotFoundError):  # a chunk was published, or the generation removed
                raise ResultsError(
                    f"{old.folder}: another process is at work here. Wait for its end, or stop it, and start again."
                ) from None
            raise

    def _commit(self) -> None:
        """Bring this generation into force, and remove what was there before."""
        if self.pending:
            self._check_ours()
            self.sync()  # what replaces the old generation is on disk before that is removed
            _sync_folder(self.folder / SCORES)
            self._replace(self.place / "manifest.json", Manifest(self.plan, self.about, self.generation).to_json())
            self.pending, self._known = False, (self.digest, self.generation)
            for generation in generations(self.place):
                if generation != self.generation:
                    _remove(generation_folder(self.place, generation))
            _remove(self.place, FORMER)

    def _check_ours(self) -> None:
        """Raises `ResultsError` if another run has taken the journal over meanwhile."""
        found = read_manifest(self.place) if self._known else None
        if self._known and (found is None or (found.plan.digest, found.generation) != self._known):
            raise ResultsError(
                f"{self.place}: another run that started over or updated took this folder over. "
                "To go on here, wait for its end, and start again."
            )

    def _make_folders(self) -> None:
        for name in FOLDERS:
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def _publish(self, name: str, data: bytes, target: Path) -> bool:
        """Write a file whole and link it to its place, unless there is one: the first writer wins."""
        temporary = self.folder / TMP / f"{name}.{self.process}"
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            won = _link(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return won

    def _replace(self, path: Path, value: Mapping[str, Any]) -> None:
        with writing(path):
            temporary = self.folder / TMP / f"{path.name}.{self.process}"
            with temporary.open("wb") as file:
                file.write(_json(value))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)


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


def now() -> float:
    """Seconds since the epoch, to the millisecond."""
    return round(time.time(), 3)


def _works(journal: Journal) -> bool:
    """Whether somebody may be at work, on this machine or on another one."""
    notes = [WorkerNote.read(path) for path in (journal.folder / WORKERS).glob("*.json")]
    here = [note for note in notes if note is not None and not note.is_gone]
    return any(note.is_here or now() - note.at < SILENT_SECONDS for note in here)


def _ours(folder: Path, name: str) -> list[Path]:
    """The files of this program in a folder of a generation."""
    return [path for path in (folder / name).glob("*") if path.is_file() and NAMES[name].fullmatch(path.name)]


def _remove(folder: Path, names: Sequence[str] = FOLDERS) -> None:
    """Remove what a generation holds; files of others, and folders that hold some, stay."""
    ours = [path for name in names for path in _ours(folder, name)]
    with suppress(OSError):  # a worker of the old generation may be writing still; what is left does no harm
        for path in (*ours, folder / "merged.json"):
            path.unlink(missing_ok=True)
        for name in names:
            if (folder / name).is_dir():
                (folder / name).rmdir()
        if generations(folder.parent) and folder.name.startswith("g"):
            folder.rmdir()


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


def _sync_folder(folder: Path) -> None:
    """A new name is safe from a power cut once its folder is on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode("utf-8")
