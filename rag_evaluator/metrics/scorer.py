"""Asks ragas for scores, and the judge through a recorder."""

import asyncio
import copy
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from rag_evaluator.dataset.json_values import is_blank
from rag_evaluator.dataset.sample import Sample
from rag_evaluator.errors import (
    BudgetError,
    JudgeLostError,
    NotApplicableError,
    PromptTooLongError,
    RagEvaluatorError,
    UndefinedScoreError,
)
from rag_evaluator.files.atomic import short_digest
from rag_evaluator.judge.protocol import (
    Draw,
    JudgeProtocol,
    Opinion,
    PromptText,
    Shares,
    labels_of,
    shares_of,
)
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.work_checks import as_asked, check_work, texts_in
from rag_evaluator.models.hub import in_one_line
from rag_evaluator.models.ragas_library import InstructorBaseRagasLLM
from rag_evaluator.results.flags import CUT, REASONS, UNASKED
from rag_evaluator.results.judgement import Judgement
from rag_evaluator.results.questions import refer, references
from rag_evaluator.results.rows import Score
from rag_evaluator.verifiers.batches import DECIMALS

if TYPE_CHECKING:
    from rag_evaluator.models.ragas_library import BaseMetric, BaseRagasEmbedding

Answer = TypeVar("Answer", bound=BaseModel)
Reply = TypeVar("Reply")


class Recorder(InstructorBaseRagasLLM):
    """Presents a judge to one metric as a ragas LLM, while one sample is scored.

    Args:
        judge: whose answers are recorded; None for metrics that ask no judge.
        columns: what the metric reads of the sample; a question names them instead of copying them.
        repeat: number of the repeat; a judge that samples answers each one anew.

    Attributes:
        judgements: JSON of every `Judgement`, in the order of asking.
        too_long: whether a prompt did not fit the judge's window.
        failed: questions that got no answer, with the message; one that is answered when asked again is taken out.
        lost: set once the judge is lost; some metrics swallow errors, so the scorer must raise it.
        answers: prompt and answer of each question that got one, in the order of asking.
        cut: the last text of each list that reached its limit, and can be used all the same.
        parts: prompt and what is whole of the answer of each list that cannot.
        unasked: see `as_asked`.
    """

    is_async = True  # prompts of users' own ragas metrics look at it

    def __init__(self, judge: JudgeProtocol | None, columns: Mapping[str, Any], repeat: int = 0) -> None:
        self.judge = judge
        self.columns = columns
        self.repeat = repeat
        self.judgements: list[dict[str, Any]] = []
        self.too_long = False
        self.lost: JudgeLostError | None = None
        self.failed: dict[str, str] = {}
        self.answers: list[tuple[str, BaseModel]] = []
        self.cut: list[str] = []
        self.parts: list[tuple[str, BaseModel]] = []
        self.unasked: list[str] = []
        self._asked: Counter[str] = Counter()

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        opinion = await self._ask(prompt, prompt, lambda judge, draw: judge.opinion(prompt, response_model, draw))
        answer, unasked = as_asked(prompt, opinion.answer)
        self.unasked += unasked
        if answer != opinion.answer:
            opinion = replace(opinion, answer=answer, confidence=())  # whose order may be another
        self._write(prompt, opinion.answer.model_dump(mode="json"), opinion=opinion, thought=opinion)
        assert isinstance(opinion.answer, response_model)
        self.answers.append((prompt, opinion.answer))
        if "list" in opinion.cut:
            self.cut += list(texts_in(opinion.answer.model_dump(mode="json")))[-1:]
        return opinion.answer

    async def achoose(self, prompt: str, options: Sequence[str]) -> dict[str, float]:
        """The probability of each option as the answer, of 4 decimals: later ones may differ between batches.

        It is recorded as a judgement, whose `response` has the probability of each option under its short name.
        """
        question = f"{prompt}\0{sorted(options)}"
        chosen = await self._ask(question, prompt, lambda judge, draw: shares_of(judge, prompt, options, draw))
        shares = {option: round(float(chosen[option]), DECIMALS) for option in options}
        response: dict[str, object] = dict(zip(labels_of(options), shares.values(), strict=True))
        self._write(prompt, response, thought=chosen if isinstance(chosen, Shares) else None)
        return shares

    async def achoose_all(self, prompts: Sequence[str], options: Sequence[str]) -> list[dict[str, float]]:
        """`achoose` of several questions at a time, recorded in their order; of errors the first one is raised."""
        parts = [Recorder(self.judge, self.columns, self.repeat) for _ in prompts]
        asked = (part.achoose(prompt, options) for part, prompt in zip(parts, prompts, strict=True))
        replies = await asyncio.gather(*asked, return_exceptions=True)
        for part in parts:
            self.judgements += part.judgements
            self.failed |= part.failed
            self.too_long = self.too_long or part.too_long
            self.lost = self.lost or part.lost
        shares = []
        for reply in replies:
            if isinstance(reply, BaseException):
                raise reply
            shares.append(reply)
        return shares

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        raise NotImplementedError("the metrics of ragas.metrics.collections ask through agenerate")

    async def _ask(self, question: str, prompt: str, ask: Callable[[JudgeProtocol, Draw], Awaitable[Reply]]) -> Reply:
        """The judge's reply. `question` is the prompt, with the options where some are given."""
        assert self.judge is not None
        if self.lost is not None:  # the metric goes on after an error: there is no judge to ask
            raise self.lost
        occurrence = self._asked[question]  # a metric that asks the same again wants another sample, if it samples
        self._asked[question] += 1
        try:
            reply = await ask(self.judge, (self.repeat, occurrence))
        except JudgeLostError as error:
            self.lost = error
            raise
        except Exception as error:
            self.too_long = self.too_long or isinstance(error, PromptTooLongError)
            if isinstance(error, BudgetError) and isinstance(error.part, BaseModel):
                self.parts.append((prompt, error.part))
            message = str(error) if isinstance(error, RagEvaluatorError) else in_one_line(error)
            self.failed[question] = message
            if occurrence == 0:  # some metrics ask again after a failure: recorded once
                self._write(prompt, None, error=message)
            raise
        self.failed.pop(question, None)
        return reply

    def note(
        self,
        name: str,
        response: Mapping[str, object],
        confidence: Sequence[float] = (),
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Record what no question belongs to: what a function says of its own value, or a verifier of sentences.

        Args:
            values: what it is about, as the input of a question.
        """
        about = self._refer(values) if values else {}
        note = Judgement(name, input=about, response=dict(response), confidence=tuple(confidence))
        self.judgements.append(note.to_json())

    def _write(
        self,
        prompt: str,
        response: dict[str, object] | None,
        error: str | None = None,
        opinion: Opinion | None = None,
        thought: Opinion | Shares | None = None,
    ) -> None:
        values = prompt.values if isinstance(prompt, PromptText) else None
        judgement = Judgement(
            prompt=prompt.name if isinstance(prompt, PromptText) else "prompt",
            prompt_digest=short_digest(prompt),
            source_digest=prompt.source if isinstance(prompt, PromptText) else "",
            input=str(prompt) if values is None else self._refer(values),
            response=response,
            error=error,
            confidence=() if opinion is None else opinion.confidence,
            prompt_tokens=0 if opinion is None else opinion.prompt_tokens,
            generated_tokens=0 if opinion is None else opinion.generated_tokens,
            thinking=None if thought is None else thought.thinking,
            thinking_tokens=0 if thought is None else thought.thinking_tokens,
            cut=() if thought is None else tuple(sorted(thought.cut)),
        )
        self.judgements.append(judgement.to_json())

    def _refer(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values, with the names of columns and answers in place of their texts."""
        return refer(values, self._known, [judgement["response"] for judgement in self.judgements])

    @cached_property
    def _known(self) -> dict[Hashable, dict[str, Any]]:
        return references(self.columns)


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
        judge: JudgeProtocol | None,
        embeddings: "BaseRagasEmbedding | None",
    ) -> None:
        self.metrics = metrics
        self.specs = specs
        self.judge = judge
        self.embeddings = embeddings
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
                return replace(score, flags=flags)
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
