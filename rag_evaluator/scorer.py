"""One row, one ragas metric, one number with its reasons."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import Language
from rag_evaluator.dataset import Sample, is_blank
from rag_evaluator.errors import (
    JudgeLostError,
    NotApplicableError,
    PromptTooLongError,
    UndefinedScoreError,
)
from rag_evaluator.judge import JudgeProtocol
from rag_evaluator.metrics import JUDGED, Metrics, Recorder, Rewrites, check_work
from rag_evaluator.results import CUT, REASONS, REFUSES, UNASKED, Score
from rag_evaluator.verifiers import is_refusal

if TYPE_CHECKING:
    from rag_evaluator.ragas_library import BaseMetric, BaseRagasEmbedding


BATCHES = 2  # one is judged while the next is prepared
EMBEDDED_TOGETHER = 16  # rows, where no judge is asked


@dataclass
class Scorer:
    """Makes scores with ragas metrics.

    Attributes:
        metrics: name -> ragas metric, prompts set.
        specs: name -> row of `METRICS`.
        judge: asked through a recorder; None if no metric asks.
        embeddings: None if no metric compares embeddings.
        language: of the responses: it decides which are refusals.
        rewrites: makes questions stand alone; None where they are asked as they are.
    """

    metrics: Mapping[str, "BaseMetric"]
    specs: Metrics
    judge: JudgeProtocol | None
    embeddings: "BaseRagasEmbedding | None"
    language: Language
    rewrites: Rewrites | None = None

    @property
    def in_flight(self) -> int:
        """Scores to make at any time, so that batches stay full."""
        alone = 1 if self.embeddings is None else EMBEDDED_TOGETHER
        together = alone if self.judge is None else self.judge.capabilities.in_flight
        return BATCHES * len(self.metrics) * together

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
        # by the judge, when all scores of the row are there
        is_told = spec.claims == "response" and JUDGED in self.specs
        if spec.claims and not is_told and is_refusal(sample.value(spec.claims), self.language):
            reason = f"the {spec.claims} {REFUSES}, by its words: it has no claim to judge"
            return Score(math.nan, reason, lasting=True, is_applicable=False)
        columns = {column: sample.value(column) for column in spec.reads if column in present}
        question = None
        if self.rewrites is not None and sample.needs_rewrite and "user_input" in columns:
            rewrite = await self.rewrites.of(sample)
            question = rewrite.question
            if question is None:
                return rewrite
            columns["user_input"] = question
        while True:
            canonical = {column: value for column, value in columns.items() if column in sample.columns}
            recorder = Recorder(self.judge, canonical, repeat)
            score = await self._ask_ragas(metric, columns, recorder)
            if recorder.lost is not None:
                raise recorder.lost
            flags, forbidden = check_work([*recorder.answers, *recorder.parts], [sample.row, sample.columns])
            flags |= {CUT: recorder.cut} if recorder.cut else {}
            if recorder.unasked:
                flags[UNASKED] = list(dict.fromkeys(recorder.unasked))
                forbidden = forbidden or REASONS[UNASKED]
            if forbidden and (
                recorder.unasked or recorder.parts or not score.missing
            ):  # ragas fails where verdicts are too few
                score = replace(score, value=math.nan, reason=forbidden, outcome=None, lasting=True, is_applicable=True)
            shorter = columns.get("retrieved_contexts", [])[:-1]
            if not recorder.too_long or is_blank(shorter):
                return replace(score, flags=flags, question=question)
            columns["retrieved_contexts"] = shorter

    async def _ask_ragas(self, name: str, columns: Mapping[str, Any], recorder: Recorder) -> Score:
        """The number as ragas computes it, with the judge's answers on record."""
        metric = copy.copy(self.metrics[name])
        if hasattr(metric, "llm"):
            metric.llm = recorder
        contexts = columns.get("retrieved_contexts")
        reason = None
        outcome = None
        undefined = False
        is_applicable = True
        try:
            if self.embeddings is not None and self.specs[name].embedded:
                await self.embeddings.aembed_texts([columns[column] for column in self.specs[name].embedded])
            result = await metric.ascore(**columns)
            value = float(result.value) + 0.0  # turns -0.0 into 0.0
            outcome = result.reason if self.specs[name].outcomes else None
            options = self.specs[name].options
            is_own = "function" in options or ("object" in options and not recorder.judgements)
            if is_own and result.reason:  # else the judgements have it
                recorder.note(name, {"reason": result.reason, "value": value})
        except JudgeLostError:  # of a verifier that a server runs
            raise
        except Exception as error:  # whatever ragas or a model raises costs this score only, and becomes its reason
            value = math.nan
            reason = str(error) or type(error).__name__
            undefined = isinstance(error, UndefinedScoreError | PromptTooLongError)
            is_applicable = not isinstance(error, NotApplicableError)
        if recorder.failed:  # some metrics go on without the judgement that failed: half a score is none
            value = math.nan
            reason = next(iter(recorder.failed.values()))
            is_applicable = True
        if math.isnan(value):
            is_applicable = is_applicable and reason is not None  # ragas found nothing to score
            reason = reason or "ragas gave no value"
            outcome = None
        judged = None if contexts is None else tuple(range(len(contexts)))
        lasting = recorder.too_long or undefined
        return Score(value, reason, judged, recorder.judgements, lasting, outcome=outcome, is_applicable=is_applicable)
