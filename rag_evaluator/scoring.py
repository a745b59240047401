"""Asks ragas for each score that is not yet known, many at once, so that the judge's batches stay full."""

import asyncio
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_evaluator.dataset import Sample
from rag_evaluator.journal import Journal
from rag_evaluator.metrics import Metric
from rag_evaluator.recorder import Recorder
from rag_evaluator.scores import Score

if TYPE_CHECKING:
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics.collections import BaseMetric

Progress = Callable[[int, int], None]


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

    async def fill(
        self, jobs: Sequence[Job], scores: list[Score | None], journal: Journal | None, progress: Progress
    ) -> None:
        """Fill the gaps (None) in `scores`, which stands in the order of `jobs`."""
        gaps = [position for position, score in enumerate(scores) if score is None]
        done = len(jobs) - len(gaps)
        waiting = iter(gaps)

        async def work() -> None:
            nonlocal done
            for position in waiting:
                job = jobs[position]
                score = await self.score(job)
                if journal is not None and journal.append(*job, score):
                    score = score.without_judgements()  # they are on disk
                scores[position] = score
                done += 1
                progress(done, len(jobs))

        progress(done, len(jobs))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(len(gaps), self.in_flight)):
                    group.create_task(work())
        except ExceptionGroup as errors:  # a full disk, for instance: one error, not a tree of them
            raise errors.exceptions[0] from None

    async def score(self, job: Job) -> Score:
        """One score; contexts are left out from the last up until what the judge is asked fits its window."""
        needed = self.specs[job.metric].columns
        missing = [column for column in needed if column not in job.sample.columns]
        if missing:
            return Score(math.nan, f"no {' and no '.join(missing)} in this row")
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
        reason = None
        try:
            if self.embeddings is not None and self.specs[name].embedded:
                await self.embeddings.aembed_texts([columns[column] for column in self.specs[name].embedded])
            value = float((await metric.ascore(**columns)).value) + 0.0  # turns -0.0 into 0.0
        except Exception as error:  # whatever ragas or a model raises costs this score only, and is told as its reason
            value, reason = math.nan, str(error) or type(error).__name__
        if recorder.failed:  # some metrics go on without the judgement that failed: half a score is none
            value, reason = math.nan, next(iter(recorder.failed.values()))
        if math.isnan(value):
            reason = reason or "ragas gave no value"
        return Score(value, reason, None if contexts is None else tuple(range(len(contexts))), recorder.judgements)
