"""Asks ragas for scores, and the judge through a recorder."""

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_evaluator.dataset import Sample, is_blank
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.tracing import Recorder
from rag_evaluator.results.rows import Score

if TYPE_CHECKING:
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.metrics.collections import BaseMetric

    from rag_evaluator.judge.protocol import JudgeProtocol, JudgeSource
    from rag_evaluator.models.embeddings import EmbeddingsSource
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key

BATCHES = 2  # one is judged while the next is prepared
EMBEDDED_TOGETHER = 16  # rows, where no judge is asked


class Scorer:
    """Makes scores with ragas metrics.

    Args:
        metrics: name -> ragas metric, prompts set.
        specs: name -> row of `METRICS`.
        judge: asked through a recorder; None if no metric asks.
        embeddings: None if no metric compares embeddings.

    Attributes:
        in_flight: scores to make at any time, so that batches stay full.
    """

    def __init__(
        self,
        metrics: Mapping[str, "BaseMetric"],
        specs: Mapping[str, Metric],
        judge: "JudgeProtocol | None",
        embeddings: "BaseRagasEmbedding | None",
    ) -> None:
        self.metrics, self.specs = metrics, specs
        self.judge, self.embeddings = judge, embeddings
        alone = 1 if embeddings is None else EMBEDDED_TOGETHER
        self.in_flight = BATCHES * len(metrics) * (alone if judge is None else judge.capabilities.in_flight)

    async def score(self, sample: Sample, metric: str, repeat: int = 0) -> Score:
        """One score; contexts are left out from the last up until what the judge is asked fits its window.

        Raises `JudgeLostError` where the judge is lost, whatever the metric makes of that.
        """
        spec = self.specs[metric]
        present = {column for column in spec.reads if sample.has(column)}
        present |= {column for column in spec.may_be_empty if sample.columns.get(column) == []}
        missing = sample.missing([column for column in spec.needs(present.__contains__) if column not in present])
        if missing:
            return Score(math.nan, missing, lasting=True)
        columns = {column: sample.value(column) for column in spec.reads if column in present}
        while True:
            canonical = {column: value for column, value in columns.items() if column in sample.columns}
            recorder = Recorder(self.judge, canonical, repeat)
            score = await self._ask_ragas(metric, columns, recorder)
            if recorder.lost is not None:
                raise recorder.lost
            shorter = columns.get("retrieved_contexts", [])[:-1]
            if not recorder.too_long or is_blank(shorter):
                return score
            columns["retrieved_contexts"] = shorter

    async def _ask_ragas(self, name: str, columns: Mapping[str, Any], recorder: Recorder) -> Score:
        """The number as ragas computes it, with the judge's answers on record."""
        metric = copy.copy(self.metrics[name])
        if hasattr(metric, "llm"):
            metric.llm = recorder
        contexts = columns.get("retrieved_contexts")
        reason, outcome, undefined = None, None, False
        try:
            if self.embeddings is not None and self.specs[name].embedded:
                await self.embeddings.aembed_texts([columns[column] for column in self.specs[name].embedded])
            result = await metric.ascore(**columns)
            value = float(result.value) + 0.0  # turns -0.0 into 0.0
            outcome = result.reason if self.specs[name].outcomes else None
            if "function" in self.specs[name].options and result.reason:
                recorder.note(name, value, result.reason)
        except Exception as error:  # whatever ragas or a model raises costs this score only, and becomes its reason
            value, reason = math.nan, str(error) or type(error).__name__
            undefined = isinstance(error, UndefinedScoreError)
        if recorder.failed:  # some metrics go on without the judgement that failed: half a score is none
            value, reason = math.nan, next(iter(recorder.failed.values()))
        if math.isnan(value):
            reason, outcome = reason or "ragas gave no value", None
        judged = None if contexts is None else tuple(range(len(contexts)))
        lasting = recorder.too_long or undefined
        return Score(value, reason, judged, recorder.judgements, lasting, outcome=outcome)


async def load_scorer(
    specs: Mapping[str, Metric],
    language: str,
    prompts: "Mapping[Key, TracedPrompt]",
    judge: "JudgeSource",
    embeddings: "EmbeddingsSource",
) -> Scorer:
    """Load the models that metrics need, and make these with the prompts of the language. Raises `ModelError`."""
    loaded = await judge.load() if any(spec.judge for spec in specs.values()) else None
    vectors = embeddings.load() if any(spec.embeddings for spec in specs.values()) else None
    greedy = loaded is not None and bool(loaded.capabilities.greedy)
    llm, spoken = Recorder(loaded, {}), find_language(language)
    metrics = {name: spec.create(llm, vectors, spoken, greedy) for name, spec in specs.items()}
    for name, spec in specs.items():
        for attribute in spec.prompts:
            setattr(metrics[name], attribute, prompts[name, attribute])
    return Scorer(metrics, specs, loaded, vectors)
