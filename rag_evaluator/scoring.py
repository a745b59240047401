"""Asks ragas for scores, many at once, so that the judge's batches stay full."""

import asyncio
import copy
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_evaluator.dataset import Sample
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.metrics import Metric
from rag_evaluator.recorder import Recorder
from rag_evaluator.scores import Score
from rag_evaluator.stop import Stop

if TYPE_CHECKING:
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics.collections import BaseMetric

Progress = Callable[[int, int], None]
TICK = 0.2  # seconds


class Job(NamedTuple):
    """A score to be made: `metric` is a name of `METRICS`, `signature` what the number depends on."""

    sample: Sample
    metric: str
    signature: str


class Scorer:
    """Makes scores with ragas metrics.

    Args:
        metrics: name -> ragas metric, prompts set.
        specs: name -> row of `METRICS`.
        judge: asked through a recorder; None if no metric asks.
        embeddings: None if no metric compares embeddings.
        in_flight: scores in the making at any time.
    """

    def __init__(
        self,
        metrics: Mapping[str, "BaseMetric"],
        specs: Mapping[str, Metric],
        judge: "InstructorBaseRagasLLM | None",
        embeddings: "BaseRagasEmbedding | None",
        in_flight: int,
    ) -> None:
        self.metrics, self.specs, self.in_flight = metrics, specs, in_flight
        self.judge, self.embeddings = judge, embeddings

    async def score_all(
        self,
        jobs: Iterator[Job],
        done: Callable[[Job, Score], None],
        stop: Stop,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """Score jobs as they come out of the iterator, until it ends or the run is asked to stop.

        Args:
            done: called with each score the moment it exists.
            stop: once asked, no new job is taken, and what is in the making gets its grace time.
            tick: called some times a second while models are at work.
        """

        async def work() -> None:
            while not stop.asked and (job := next(jobs, None)) is not None:
                done(job, await self.score(job))

        tasks = [asyncio.create_task(work()) for _ in range(self.in_flight)]
        waiting = set(tasks)
        try:
            while waiting and not stop.overdue:
                ended, waiting = await asyncio.wait(waiting, timeout=TICK, return_when=asyncio.FIRST_EXCEPTION)
                for task in ended:
                    task.result()  # raises its error, a full disk for instance
                tick()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # reads the errors of all, or asyncio prints them

    async def score(self, job: Job) -> Score:
        """One score; contexts are left out from the last up until what the judge is asked fits its window."""
        needed = self.specs[job.metric].columns
        missing = [column for column in needed if column not in job.sample.columns]
        if missing:
            return Score(math.nan, f"no {' and no '.join(missing)} in this row", lasting=True)
        columns = {column: job.sample.columns[column] for column in needed}
        while True:
            recorder = Recorder(self.judge)
            score = await self._ask_ragas(job.metric, columns, recorder)
            contexts = columns.get("retrieved_contexts", ())
            if not recorder.too_long or len(contexts) <= 1:
                return score
            columns["retrieved_contexts"] = contexts[:-1]

    async def _ask_ragas(self, name: str, columns: Mapping[str, Any], recorder: Recorder) -> Score:
        """The number as ragas computes it, with the judge's answers on record."""
        metric = copy.copy(self.metrics[name])
        if hasattr(metric, "llm"):
            metric.llm = recorder
        contexts = columns.get("retrieved_contexts")
        reason, undefined = None, False
        try:
            if self.embeddings is not None and self.specs[name].embedded:
                await self.embeddings.aembed_texts([columns[column] for column in self.specs[name].embedded])
            value = float((await metric.ascore(**columns)).value) + 0.0  # turns -0.0 into 0.0
        except Exception as error:  # whatever ragas or a model raises costs this score only, and is told as its reason
            value, reason = math.nan, str(error) or type(error).__name__
            undefined = isinstance(error, UndefinedScoreError)
        if recorder.failed:  # some metrics go on without the judgement that failed: half a score is none
            value, reason = math.nan, next(iter(recorder.failed.values()))
        if math.isnan(value):
            reason = reason or "ragas gave no value"
        judged = None if contexts is None else tuple(range(len(contexts)))
        return Score(value, reason, judged, recorder.judgements, lasting=recorder.too_long or undefined)
