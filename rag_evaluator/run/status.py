"""How far a run is: what its workers have written, and whether its result files are there and as they were written."""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rag_evaluator.files import file_digest, write_json
from rag_evaluator.results import Times, partial_rows

from .journal import MAIN_TASK, SCORES, SILENT_SECONDS, Journal, journals_in
from .workers import WorkerNote


@dataclass(frozen=True)
class Finished:
    """What `merged.json` says.

    Attributes:
        plan: digest of the plan.
        again: chunks in which another try may make a missing record.
        run: what the workers of the start that merged share; None for processes started by hand.
        ended: seconds since the epoch.
        files: name of each result file -> size in bytes, time of change in nanoseconds, SHA-256.
        seal: what it was made of, see `rag_evaluator.tasks.manifest`; None where nobody has noted it.
    """

    plan: str
    again: Sequence[int]
    run: str | None
    ended: float
    files: Mapping[str, list[Any]]
    seal: str | None = None


def read_finished(journal: Journal) -> Finished | None:
    """The note of a journal; None if there is none, it is for another plan, or it cannot be understood."""
    try:
        note = TypeAdapter(Finished).validate_json((journal.folder / "merged.json").read_bytes(), strict=True)
    except (OSError, ValidationError):
        return None
    return note if note.plan == journal.digest else None


def times_of(journal: Journal) -> Times:
    """When its last chunk was finished, in how many seconds of work, those of several workers at a time counted once,
    and with how many tokens."""
    footers = [journal.read_footer(chunk) for chunk in sorted(journal.published())]
    spans = sorted((footer["began"], footer["ended"]) for footer in footers if "began" in footer)
    seconds = 0.0
    until = 0.0
    for began, ended in spans:
        seconds += max(0.0, ended - max(began, until))
        until = max(until, ended)
    tokens = sum(footer.get("tokens", 0) for footer in footers)
    return Times(until, round(seconds, 3), tokens) if spans else Times()


def describe_files(folder: Path, names: Iterable[str]) -> dict[str, list[Any]]:
    """Size, time of change and SHA-256 of files."""
    return {name: [*_stamp(folder / name), file_digest(folder / name)] for name in names}


def note_finished(journal: Journal, note: Finished) -> None:
    """The result files are written: what is left of dead workers' records is of no use any more."""
    write_json(journal.folder / "merged.json", asdict(note))
    for path in (journal.folder / SCORES).glob("*.jsonl"):
        path.unlink(missing_ok=True)


def note_rewritten(folder: Path, names: Iterable[str]) -> None:
    """This program has written result files of a finished evaluation anew: they are still as it wrote them."""
    for journal in journals_in(folder) if (folder / "journal").is_dir() else ():
        note = read_finished(journal) if journal.plan.task == MAIN_TASK else None
        if note is not None:
            files = {**note.files, **describe_files(folder, names)}
            write_json(journal.folder / "merged.json", asdict(replace(note, files=files)))


def is_complete(journal: Journal) -> bool:
    """Whether all chunks are there, the result files have been written, and each of them is there."""
    note = read_finished(journal)
    return note is not None and all((journal.results / name).is_file() for name in note.files) and not journal.missing()


def differing_files(folder: Path, files: Mapping[str, Sequence[Any]]) -> list[str]:
    """Those that are not as `describe_files` has described them."""
    return [name for name, seen in files.items() if _differs(folder / name, seen)]


def outcome(journal: Journal, began: float) -> tuple[bool, list[str]]:
    """Whether the result files were written since a moment; if not, those that are not as they were written."""
    note = read_finished(journal)
    wrote = note is not None and note.ended >= began
    return wrote, [] if wrote or note is None else differing_files(journal.results, note.files)


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


@dataclass
class WorkerStatus:
    """One process.

    Attributes:
        process: worker, host, job, restart and process id.
        note: what it said of itself.
        seen: when it last wrote something, seconds since the epoch.
        chunks: chunks it has published.
        made: cells it has made, those of unfinished chunks included.
    """

    process: str
    note: WorkerNote
    seen: float
    chunks: int = 0
    made: int = 0

    @property
    def rate(self) -> float:
        """Cells a second."""
        return self.made / max(self.seen - self.note.began, 0.001) if self.made else 0.0

    def works(self, now: float) -> bool:
        """Whether it is at work, as far as can be known: another machine's process may have died without a word."""
        return not self.note.is_gone and now - self.seen < SILENT_SECONDS

    def state(self, now: float) -> str:
        """How it ended, that it works, or that nothing was heard of it."""
        if self.note.ended is not None:
            return self.note.ended
        if self.note.is_gone:
            return "gone without a word (killed?)"
        silence = now - self.seen
        return "works" if silence < SILENT_SECONDS else f"silent for {silence / 60:.0f} min"

    def to_json(self, now: float) -> dict[str, Any]:
        about = {"worker": self.note.worker, "engine": dict(self.note.engine), "state": self.state(now)}
        numbers = {"chunks": self.chunks, "made": self.made, "rate": self.rate, "seen": self.seen}
        return {"process": self.process, **about, **numbers}


@dataclass
class Status:
    """The state of one stage.

    Attributes:
        task, stage: which one; `noun` what its cells are: scores, questions.
        chunks, cells: (done, of all).
        missing: unfinished chunks.
        merged: whether the result files are written.
        part: which rows of the dataset it takes; None: all.
        workers: in the order of their beginning; without those whose note cannot be read.
    """

    task: str
    stage: str
    noun: str
    chunks: tuple[int, int]
    cells: tuple[int, int]
    missing: list[int]
    merged: bool
    at: float
    part: str | None = None
    workers: list[WorkerStatus] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Cells a second of those who work."""
        return sum(worker.rate for worker in self.workers if worker.works(self.at))

    @property
    def seconds_left(self) -> float | None:
        """None if nobody works."""
        left = self.cells[1] - self.cells[0]
        return left / self.rate if self.rate else None

    def to_json(self) -> dict[str, Any]:
        """All of it, and what follows from it; times in seconds."""
        fields = {name: value for name, value in vars(self).items() if name not in ("chunks", "cells", "workers")}
        counts = {name: dict(zip(("done", "total"), getattr(self, name), strict=True)) for name in ("chunks", "cells")}
        workers = [worker.to_json(self.at) for worker in self.workers]
        return {**fields, **counts, "rate": self.rate, "seconds_left": self.seconds_left, "workers": workers}


def read_status(results: Path) -> list[Status]:
    """The state of each stage in a results folder. Raises `ResultsError` if no run has begun there."""
    return [_status(journal) for journal in journals_in(results)]


def _status(journal: Journal) -> Status:
    plan = journal.plan
    published = journal.published()
    workers = {process: WorkerStatus(process, note, note.at) for process, note in journal.notes().items()}
    for chunk in published:
        footer = journal.read_footer(chunk)
        if worker := workers.get(footer.get("process", "")):
            worker.chunks += 1
            worker.made += footer["made"]
            worker.seen = max(worker.seen, footer["ended"])
    unfinished: dict[int, int] = {}
    for path in sorted((journal.folder / SCORES).glob("*.jsonl")):
        number, _, process = path.stem.partition(".")
        if not number.isdigit() or int(number) in published:
            continue
        with suppress(FileNotFoundError):  # its chunk has just been published
            lines = path.read_bytes().count(b"\n")
            written = path.stat().st_mtime
            unfinished[int(number)] = min(unfinished.get(int(number), 0) + lines, plan.cells_of(int(number)))
            if process in workers:
                workers[process].made += lines
                workers[process].seen = max(workers[process].seen, written)
    done = sum(map(plan.cells_of, published)) + sum(unfinished.values())
    return Status(
        task=plan.task,
        stage=plan.stage,
        noun=plan.cell_noun,
        chunks=(len(published), plan.chunks),
        cells=(done, plan.cells),
        missing=sorted(set(range(plan.chunks)) - published),
        merged=is_complete(journal),
        at=time.time(),
        part=partial_rows(journal.about),
        workers=sorted(workers.values(), key=lambda worker: worker.note.began),
    )
