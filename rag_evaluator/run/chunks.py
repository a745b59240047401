"""One worker's work: which chunks it takes, the scores of each, and what is in the making."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rag_evaluator.dataset import Sample
from rag_evaluator.files.jsonl import SYNC_SECONDS, Appender
from rag_evaluator.run.journal import WorkerJournal, now
from rag_evaluator.run.plan import Plan
from rag_evaluator.scores import Score
from rag_evaluator.scoring import Job
from rag_evaluator.tables import details_line
from rag_evaluator.workers import Worker

LOOK_SECONDS = 1.0  # how often a worker looks whether a chunk in its hands was finished by another


class Chunk:
    """A chunk in the making: its scores, by row and metric, of which those that are known need not be made."""

    def __init__(self, number: int, jobs: Sequence[Job], known: Mapping[tuple[str, str, str], Mapping[str, Any]]):
        self.number, self.jobs = number, jobs
        self.lines: list[bytes | None] = []
        self.dropped = False
        for job in jobs:
            record = known.get((job.sample.digest, job.metric, job.signature))
            self.lines.append(None if record is None else self._line(job, record))
        self.places = {(job.sample.index, job.metric): place for place, job in enumerate(jobs)}
        self.gaps = self.lines.count(None)
        self.made, self.again = 0, 0
        self.began, self.looked = now(), time.monotonic()
        self.appender: Appender | None = None
        self.given_up = False

    def add(self, job: Job, score: Score) -> bytes:
        """Take a score in; returns its line."""
        line = self._line(job, score.to_json())
        self.lines[self.places[job.sample.index, job.metric]] = line
        self.gaps -= 1
        self.made += 1
        self.again += score.missing and not score.lasting
        return line

    def _line(self, job: Job, record: Mapping[str, Any]) -> bytes:
        contexts = record["contexts"]
        given = len(job.sample.columns.get("retrieved_contexts", ()))
        self.dropped = self.dropped or (contexts is not None and len(contexts) < given)
        return details_line(job.sample, job.metric, record, job.signature)


class Work:
    """The jobs of one worker, chunk after chunk, and what becomes of their scores.

    Args:
        journal: where chunks are published.
        samples: the rows, in order.
        worker: its own chunks come first, then it helps with the others in random order.
        progress: called with (scores made by anybody, scores to make).
    """

    def __init__(
        self,
        journal: WorkerJournal,
        samples: Sequence[Sample],
        worker: Worker,
        progress: Callable[[int, int], None],
    ) -> None:
        self.journal, self.samples, self.worker, self.progress = journal, samples, worker, progress
        self._open: dict[int, Chunk] = {}  # first row -> chunk
        self._plan: Plan = journal.plan
        self._total = self._plan.rows * len(self._plan.signatures)
        self._done = 0

    def jobs(self) -> Iterator[Job]:
        """The jobs to do, as late as possible: a chunk is opened when the jobs of the one before have been taken."""
        for number in self._order():
            chunk = self._begin(number)
            if not chunk.gaps:
                self._finish(chunk)
            for job, line in zip(chunk.jobs, list(chunk.lines), strict=True):
                if line is None and not self._is_given_up(chunk):
                    yield job

    def done(self, job: Job, score: Score) -> None:
        """Journal a score; publish its chunk if it was the last one missing."""
        chunk = self._open.get(job.sample.index // self._plan.chunk_size)
        if chunk is None or chunk.given_up:  # another worker has finished it
            return
        line = chunk.add(job, score)
        if not score.missing:  # a missing score is tried again by whoever continues
            if chunk.appender is None:
                chunk.appender = self.journal.begin(chunk.number)
            chunk.appender.append(line)
        self._done += 1
        self.progress(self._done, self._total)
        if not chunk.gaps:
            self._finish(chunk)

    def tick(self) -> None:
        """On disk within a second, also while nothing new comes."""
        for chunk in self._open.values():
            if chunk.appender is not None:
                chunk.appender.sync(SYNC_SECONDS)

    def close(self) -> None:
        """Put what was journalled on disk."""
        for chunk in self._open.values():
            if chunk.appender is not None:
                chunk.appender.sync()
                chunk.appender.close()
        self._open.clear()

    def _order(self) -> Iterator[int]:
        """Own chunks in order, then the others at random, each unless it is published by then."""
        helps_only = self.worker.number >= self.worker.count
        own = [] if helps_only else list(range(self.worker.number, self._plan.chunks, self.worker.count))
        others = sorted(set(range(self._plan.chunks)) - set(own))
        random.Random().shuffle(others)
        for number in (*own, *others):
            if not self.journal.part_path(number).exists():
                yield number

    def _begin(self, number: int) -> Chunk:
        rows = self._plan.rows_of(number)
        jobs = [
            Job(sample, metric, signature)
            for sample in self.samples[rows.start : rows.stop]
            for metric, signature in self._plan.signatures.items()
        ]
        chunk = Chunk(number, jobs, self.journal.scores_of(number))
        self._open[number] = chunk
        published = [len(self._plan.rows_of(other)) for other in self.journal.published()]
        in_hand = sum(len(chunk.lines) - chunk.gaps for chunk in self._open.values())
        self._done = sum(published) * len(self._plan.signatures) + in_hand
        self.progress(self._done, self._total)
        return chunk

    def _finish(self, chunk: Chunk) -> None:
        assert all(line is not None for line in chunk.lines)
        note = {
            "again": chunk.again,
            "dropped": chunk.dropped,
            "worker": str(self.worker),
            "process": self.journal.process,
            "made": chunk.made,
            "began": chunk.began,
            "ended": now(),
        }
        self.journal.publish(chunk.number, [line for line in chunk.lines if line is not None], note)
        self._drop(chunk)

    def _is_given_up(self, chunk: Chunk) -> bool:
        """Whether another worker has finished the chunk meanwhile; looked up once a second."""
        if not chunk.given_up and time.monotonic() - chunk.looked > LOOK_SECONDS:
            chunk.looked = time.monotonic()
            if self.journal.part_path(chunk.number).exists():
                chunk.given_up = True
                self._drop(chunk)
        return chunk.given_up

    def _drop(self, chunk: Chunk) -> None:
        if chunk.appender is not None:
            chunk.appender.close()
        self._open.pop(chunk.number, None)
        self.journal.clear(chunk.number)
