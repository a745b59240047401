"""How far a run is: read from what its workers have written, without asking them."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluator.journal import Journal
from rag_evaluator.merge import is_finished

SILENT_SECONDS = 600.0  # a worker that has written nothing for so long is not counted into the rate


@dataclass
class WorkerStatus:
    """One process.

    Attributes:
        worker: its number, `3/16`.
        process: host, job, restart and process id.
        chunks: chunks it has published.
        made: scores it has made, those of unfinished chunks included.
        began: when it began, seconds since the epoch.
        seen: when it last wrote something.
        ended: how it ended, None if it has not said so.
        judge: how it runs the judge, see `Judge.about`; empty if it has not said so.
    """

    worker: str
    process: str
    began: float
    seen: float
    ended: str | None = None
    chunks: int = 0
    made: int = 0
    judge: Mapping[str, str] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Scores a second."""
        return self.made / max(self.seen - self.began, 0.001) if self.made else 0.0

    def state(self, now: float) -> str:
        silence = now - self.seen
        return self.ended or ("works" if silence < SILENT_SECONDS else f"silent for {silence / 60:.0f} min")


@dataclass
class Status:
    """Attributes: `chunks` and `scores` as (done, of all); `missing` unfinished chunks; `merged` whether the result
    files are written; `workers` in the order of their beginning."""

    chunks: tuple[int, int]
    scores: tuple[int, int]
    missing: list[int]
    merged: bool
    at: float
    workers: list[WorkerStatus] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Scores a second of those who work."""
        return sum(worker.rate for worker in self.workers if worker.state(self.at) == "works")

    @property
    def seconds_left(self) -> float | None:
        """None if nobody works."""
        left = self.scores[1] - self.scores[0]
        return left / self.rate if self.rate else None


def read_status(folder: Path) -> Status:
    """The state of a results folder. Raises `ResultsError` if no run has begun there."""
    journal = Journal(folder)
    plan, published = journal.plan, journal.published()
    width = len(plan.signatures)
    workers = {path.stem: _begun(path) for path in (journal.folder / "workers").glob("*.json")}
    for chunk in published:
        footer = journal.read_footer(chunk)
        if "process" in footer:
            worker = workers.setdefault(footer["process"], _unknown(footer))
            worker.chunks += 1
            worker.made += footer["made"]
            worker.seen = max(worker.seen, footer["ended"])
    unfinished: dict[int, int] = {}
    for path, chunk, process in _score_files(journal):
        if chunk not in published:
            lines = path.read_bytes().count(b"\n")
            unfinished[chunk] = min(unfinished.get(chunk, 0) + lines, len(plan.rows_of(chunk)) * width)
            if process in workers:
                workers[process].made += lines
                workers[process].seen = max(workers[process].seen, path.stat().st_mtime)
    done = sum(len(plan.rows_of(chunk)) for chunk in published) * width + sum(unfinished.values())
    return Status(
        chunks=(len(published), plan.chunks),
        scores=(done, plan.rows * width),
        missing=sorted(set(range(plan.chunks)) - published),
        merged=is_finished(journal),
        at=time.time(),
        workers=sorted(workers.values(), key=lambda worker: worker.began),
    )


def _score_files(journal: Journal) -> Iterator[tuple[Path, int, str]]:
    """Files of unfinished chunks, with chunk and process."""
    for path in sorted((journal.folder / "scores").glob("*.jsonl")):
        chunk, _, process = path.stem.partition(".")
        if chunk.isdigit() and path.exists():
            yield path, int(chunk), process


def _begun(path: Path) -> WorkerStatus:
    note: Mapping[str, Any] = json.loads(path.read_bytes())
    seen = note.get("at", note["began"])
    return WorkerStatus(note["worker"], path.stem, note["began"], seen, note.get("ended"), judge=note.get("judge", {}))


def _unknown(footer: Mapping[str, Any]) -> WorkerStatus:
    return WorkerStatus(footer["worker"], footer["process"], footer["began"], footer["ended"])
