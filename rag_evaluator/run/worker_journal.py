"""The journal as one worker sees it, who may write, and what a new generation takes over."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, get_args

from rag_evaluator.errors import ConfigError, ResultsError
from rag_evaluator.files import (
    Appender,
    Records,
    checked_line,
    json_text,
    publish,
    replace_bytes,
    sync,
    writing,
)

from .journal import (
    ANSWERS,
    FOLDERS,
    SCORES,
    TMP,
    WORKERS,
    Journal,
    KnownRecords,
    Manifest,
    generations,
    read_manifest,
)
from .plan import Plan, refuse_changes, refuse_fewer_rows
from .stage import Stage
from .status import read_finished
from .workers import WorkerNote, now

Start = Literal["continue", "fresh", "update"]
ANSWER_KEYS = ("signature", "prompt")  # of the judge, digest of the whole prompt


def carry_over(old: Journal, stage: Stage, folder: Path, process: str) -> None:
    """Write the records of an older generation that the stage can use into the chunks where they belong now.

    Args:
        folder: of the new generation.
    """
    with closing(KnownRecords(old)) as known:
        for chunk in range(stage.plan.chunks):
            cells = [(cell.unit.index, key, known.find(key)) for cell, key in stage.cells(stage.plan, chunk)]
            lines = [old.encode(index, key, record) for index, key, record in cells if record is not None]
            if lines:
                kept = folder / SCORES / f"{chunk:06d}.kept.{process}.jsonl"
                kept.write_bytes(b"".join(lines))
                sync(kept)
    for path in (old.folder / ANSWERS).glob("*.jsonl"):
        temporary = folder / TMP / f"{path.stem}.{process}"
        shutil.copy(path, temporary)
        temporary.replace(folder / ANSWERS / path.name)  # whole: another worker may read it already


class WorkerJournal(Journal):
    """The journal of a stage, opened for work.

    Args:
        results: results folder; made if it is not there.
        stage: what this worker is going to do.
        process: file name of this process, see `workers.process_name`.
        start: `continue` refuses a journal of another plan, `fresh` forgets what is there, `update` keeps the records
            that still hold. What is forgotten is removed when the first new record is on disk, not before.

    A journal without any record never refuses: nothing would be lost. A plan that takes more rows of the same data
    continues; one that leaves rows out is refused. Records of columns without a signature are never used again.

    Raises `ResultsError` if the folder cannot be written, or if it holds another plan: the message names what changed.
    """

    def __init__(self, results: Path, stage: Stage, process: str, start: Start = "continue") -> None:
        if start not in get_args(Start):
            raise ConfigError(f"start is {start!r}: expected one of {', '.join(get_args(Start))}.")
        self.results = results
        self.process = process
        self._take(Manifest(stage.plan, stage.about, 0))
        self._appenders: dict[int, Appender] = {}
        self._note = WorkerNote("", now(), now())
        self._fresh = start == "fresh"
        self.pending = False  # whether the manifest does not yet name this generation
        self._known: tuple[str, int] | None = None  # plan and generation that it names, as far as this process knows
        with writing(self.place):
            try:
                self._take(read_manifest(self.place) or self._found())
                self._known = self.digest, self.generation
            except ResultsError:  # it cannot be read
                if start != "fresh":
                    raise
                is_ours = bool(generations(self.place))
                with suppress(OSError, ValueError):
                    is_ours = is_ours or "format" in json.loads((self.place / "manifest.json").read_bytes())
                if not is_ours:
                    raise ResultsError(
                        f"{self.place} holds a manifest.json that this program did not write. Choose another name or "
                        "output_dir."
                    ) from None
            if start == "fresh" or stage.plan.changes(self.plan) or stage.plan.part != self.plan.part:
                self._take_over(stage, start)
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

    def answers(self) -> Records:
        """The answers that cells of this generation may use; an update has those of the one before, too.

        Those of other processes are the ones that were there when this was called.
        """
        path = self.folder / ANSWERS / f"{self.process}.jsonl"
        return Records(
            path,
            ANSWER_KEYS,
            other_files=sorted(set(path.parent.glob("*.jsonl")) - {path}),
            first=lambda: None if self._fresh else self._commit(),
        )

    def sync(self, seconds: float = 0.0) -> None:
        """Force records to disk, unless that was done within the last `seconds`."""
        for appender in self._appenders.values():
            appender.sync(seconds)

    def publish(self, chunk: int, lines: Sequence[bytes], note: Mapping[str, Any]) -> bool:
        """Publish a finished chunk; False if somebody else was first. Raises `ResultsError` (a full disk)."""
        with writing(self.folder):
            self._check_ours()
            body = b"".join(lines)
            units = self.plan.units_of(chunk)
            footer = {
                "chunk": chunk,
                "plan": self.digest,
                "units": [units.start, units.stop],
                "records": len(lines),
                "body": hashlib.sha256(body).hexdigest(),
                **note,
            }
            path = self.part_path(chunk)
            won = publish(self._temporary(path), body + checked_line(footer), path)
            self._commit()
            return won

    def clear(self, chunk: int) -> None:
        """Remove the records of a chunk that is published."""
        if chunk in self._appenders:
            self._appenders.pop(chunk).close()
        for path in (self.folder / SCORES).glob(f"{chunk:06d}.*.jsonl"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Put everything on disk; a generation that never came into force is removed."""
        for appender in self._appenders.values():
            appender.sync()
            appender.close()
        self._appenders.clear()
        if self.pending:
            self._discard()

    def note_worker(self, **changes: Any) -> None:
        """Say of this process what has changed: fields of `WorkerNote`."""
        self._note = replace(self._note, at=now(), **changes)
        self._replace(self.folder / WORKERS / f"{self.process}.json", asdict(self._note))

    def try_again(self, run: str | None) -> bool:
        """Withdraw chunks in which another try may make a missing record; whether there are any.

        Workers of the run that merged them do not: their other workers have just tried.
        """
        note = read_finished(self)
        if note is None or not note.again or (run is not None and note.run == run):
            return False
        for chunk in note.again:  # unfinished again; what was made in them is kept
            target = self.folder / SCORES / f"{chunk:06d}.withdrawn.{self.process}.jsonl"
            with writing(self.folder), suppress(FileNotFoundError):  # somebody else was first
                self.part_path(chunk).rename(target)
        return True

    def _found(self) -> Manifest:
        """Begin a journal where there is none; the manifest of whoever was first."""
        self._take(replace(self.manifest, generation=1))
        self._make_folders()
        path = self.place / "manifest.json"
        publish(self._temporary(path), json_text(self.manifest.to_json()).encode(), path)
        return read_manifest(self.place) or self.manifest

    def _take_over(self, stage: Stage, start: str) -> None:
        """Begin a new generation, with what still holds of the one in force.

        One that only has more rows is in force at once, as nothing is lost. Several workers may begin it at the same
        time: each brings the same records, and writes the same manifest.
        """
        old = copy(self)
        grows = self._grows(stage.plan, start)
        generation = self.generation if grows else max([self.generation, *generations(self.place)])
        self._take(Manifest(stage.plan, stage.about, generation + 1))
        self.pending = not grows
        try:
            self._make_folders()
            if start != "fresh":
                carry_over(old, stage, self.folder, self.process)
        except FileNotFoundError:  # a chunk was published, or the generation removed
            if not grows:  # else another worker was faster: what it brought is there
                self._discard()
                raise ResultsError(
                    f"{old.folder}: another process is at work here. Wait for its end, or stop it, and start again."
                ) from None
        except BaseException:
            if not grows:
                self._discard()
            raise
        if grows:
            manifest = read_manifest(self.place)
            if manifest is None or manifest.plan.digest != self.digest:
                self._check_ours()
            self._bring_into_force()

    def _grows(self, plan: Plan, start: str) -> bool:
        """Whether a plan only has more rows than the one in force.

        Raises `ResultsError` if records, or somebody's work, would be lost that `start` keeps.
        """
        only_rows = not plan.changes(self.plan, unnamed=False)
        has_more_rows = plan.part != self.plan.part and plan.holds_rows_of(self.plan)
        grows = start == "continue" and only_rows and has_more_rows
        if grows and self.workers():
            raise ResultsError(
                f"{self.results}: another process is at work here on {self.plan.rows}. Wait for its end, or stop it, "
                "and start again."
            )
        if not grows and start != "fresh" and not (self.is_empty and not self.workers()):
            if start == "continue" and not only_rows:
                refuse_changes(self.results, plan.changes(self.plan))
            if start == "continue" or not any((self.folder / ANSWERS).glob("*.jsonl")):  # they make the records again
                refuse_fewer_rows(self.results, plan, self.plan)
        return grows

    def _commit(self) -> None:
        """Bring this generation into force, and remove what was there before."""
        if self.pending:
            self._check_ours()
            self.sync()  # what replaces the old generation is on disk before that is removed
            self._bring_into_force()

    def _bring_into_force(self) -> None:
        sync(self.folder / SCORES)
        self._replace(self.place / "manifest.json", self.manifest.to_json())
        self.pending = False
        self._known = (self.digest, self.generation)
        for generation in generations(self.place):
            if generation != self.generation:
                shutil.rmtree(self.place / f"g{generation}", ignore_errors=True)  # somebody may write still

    def _discard(self) -> None:
        """Remove a generation that never came into force; a run with more rows may have taken its number meanwhile."""
        manifest = read_manifest(self.place)
        if manifest is None or manifest.generation != self.generation:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _check_ours(self) -> None:
        """Raises `ResultsError` if another run has taken the journal over meanwhile."""
        manifest = read_manifest(self.place) if self._known else None
        if self._known and (manifest is None or (manifest.plan.digest, manifest.generation) != self._known):
            raise ResultsError(
                f"{self.place}: another run that started over or updated took this folder over. "
                "To go on here, wait for its end, and start again."
            )

    def _make_folders(self) -> None:
        for name in FOLDERS:
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def _temporary(self, path: Path) -> Path:
        """Where a file is written before it gets its name."""
        return self.folder / TMP / f"{path.name.removesuffix('.jsonl')}.{self.process}"

    def _replace(self, path: Path, value: Mapping[str, Any]) -> None:
        replace_bytes(self._temporary(path), json_text(value).encode(), path)
