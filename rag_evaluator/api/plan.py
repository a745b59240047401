"""`plan`: what a run will ask its judge, how long it will take, and how many rows its intervals need."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluator.api.evaluator import RAGEvaluator
from rag_evaluator.api.planned import PlannedJudge, PlannedMetric, PlannedRun
from rag_evaluator.config import Config
from rag_evaluator.dataset import Sample
from rag_evaluator.dataset.choice import RowChoice, part_of, whole_of
from rag_evaluator.metrics.dry import DryMetrics, JudgeCall
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.models.event_loop import run
from rag_evaluator.models.memory import most_memory
from rag_evaluator.progress import ACTIVITY, Progress, silent
from rag_evaluator.run.journal import place_of, read_manifest
from rag_evaluator.run.known import KnownRecords
from rag_evaluator.run.task import Cell, Record
from rag_evaluator.run.trial import TrialCost, key_of, known_records, make_some, read_measured
from rag_evaluator.signals import Stop
from rag_evaluator.tasks.evaluation import Evaluation, to_score
from rag_evaluator.tasks.expected import NOTHING, Asked, Expected, Habit, asked_of, length_of
from rag_evaluator.tasks.panel import configs_of
from rag_evaluator.trust.width import rows_for_interval

SAMPLE = 20  # rows that are judged for the estimate
READ_FASTER = 20  # tokens of a prompt that are read in the time in which one is written, roughly
WITHIN = 0.05  # half the width of an interval, in units of the metric


def plan(
    config: Config | Mapping[str, Any] | str | Path,
    data: Any = None,
    folder: str | Path | None = None,
    judge: Any = None,
    embeddings: Any = None,
    sample: int = SAMPLE,
    workers: int = 1,
    within: float = WITHIN,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> PlannedRun:
    """What an evaluation will ask and take; the rows that are judged for that are not judged again by the run.

    Args:
        config, judge, embeddings: as `RAGEvaluator` takes them.
        data: path or rows; None takes `dataset` of the configuration.
        folder: results folder of the run; None takes that of the configuration. The scores of the judged rows are kept
            in its journal; no result file is written.
        sample: rows that are judged, drawn by `sample_seed`; with 0 no model is loaded, and only what is known without
            an answer is counted.
        workers: that will share the work.
        within: half the width that an interval should have, in units of the metric.
        progress: called with (scores made, scores to make).

    Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    evaluator = RAGEvaluator(config, judge, embeddings)
    place = evaluator.config.results_dir if folder is None else Path(folder).expanduser()
    return plan_of(evaluator, place, data, sample, workers, within, progress, stop)


def plan_of(
    evaluator: RAGEvaluator,
    folder: Path,
    data: Any = None,
    sample: int = SAMPLE,
    workers: int = 1,
    within: float = WITHIN,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> PlannedRun:
    """The same for an evaluator; the arguments are those of `plan`."""
    config = evaluator.config
    if evaluator.panel is None:
        parts: dict[str | None, tuple[RAGEvaluator, Path, Evaluation]] = {
            None: (evaluator, folder, evaluator.stage(data))
        }
    else:
        stages = evaluator.panel.stages(data)
        parts = {
            name: (evaluator.panel.evaluators[name], folder / own.output_dir.name / name, stages[name])
            for name, own in configs_of(config).items()
        }
    judges = []
    for name, (own, place, stage) in parts.items():
        judges.append(_Planning(own, stage, place, sample, within).plan(name, progress, stop))
        if evaluator.panel is not None:
            own.judge.release()
    units = next(iter(parts.values()))[2].units
    part = part_of(units)
    choice = RowChoice.from_json(part) if part else RowChoice(len(whole_of(units)))
    return PlannedRun(config.name, str(choice), len(units), workers, config.ci_level, within, judges)


@dataclass
class _Counted:
    """What is known of a metric's scores before they are made.

    Attributes:
        asked, asked_left: the questions of all rows, and of those with a score that is not made; None: they depend on
            answers.
        scores, done: numbers.
        all, left: length of each of these rows, by digest of what the metric reads: equal rows are there once.
    """

    asked: set[JudgeCall] | None
    asked_left: set[JudgeCall] | None
    scores: int = 0
    done: int = 0
    all: dict[str, float] = field(default_factory=dict)
    left: dict[str, float] = field(default_factory=dict)

    def add(self, row: str, length: float, questions: Iterable[JudgeCall], is_left: bool) -> None:
        """Take a row in that is not there yet."""
        self.all[row] = length
        if self.asked is not None:
            self.asked.update(questions)
        if is_left:
            self.left[row] = length
            if self.asked_left is not None:
                self.asked_left.update(questions)


class _Planning:
    """The plan of one judge's run.

    Args:
        sample: rows to be judged.
        within: see `plan`.
    """

    def __init__(self, evaluator: RAGEvaluator, stage: Evaluation, folder: Path, sample: int, within: float) -> None:
        self.config, self.metrics, self.stage = evaluator.config, evaluator.metrics, stage
        self.folder, self.within = folder, within
        chosen = RowChoice.make(len(stage.units), sample=max(sample, 1), seed=self.config.sample_seed)
        self.first = list(chosen.places)[:SAMPLE]  # that show whether a metric's questions depend on answers
        self.places = chosen.places if sample else ()
        known = evaluator.judge.capabilities
        self.greedy = bool(known and known.greedy)
        judged = {name: metric for name, metric in self.metrics.items() if metric.judge}
        self.dry = DryMetrics(self.config, judged, evaluator.prompts, self.greedy)
        self.records: dict[tuple[int, str, int], Record] = {}

    def plan(self, name: str | None, progress: Progress, stop: Stop | None) -> PlannedJudge:
        if self.places:
            self.records = make_some(self.stage, self.places, self.folder, run, progress, stop, most_memory)
        with closing(known_records(self.folder, self.stage.plan)) as known:
            with ACTIVITY.phase("counting the questions of all rows"):
                counted = {metric: run(self._count(metric, known)) for metric in self.metrics}
            asked = {metric: self._asked(metric) for metric in self.metrics}
            habits = {
                metric: Habit.of([(counted[metric].all[row], found) for row, found in asked[metric].items()])
                for metric in self.metrics
            }
            metrics = [self._metric(name, counted[name], habits[name], asked[name]) for name in self.metrics]
            share = _asked_once(asked.values())
            whole = _together([metric.all for metric in metrics], [each.asked for each in counted.values()], share)
            left = _together([metric.left for metric in metrics], [each.asked_left for each in counted.values()], share)
            measured = read_measured(self.folder, self.stage.plan)
            pace = self._pace(measured, known, metrics)
        return PlannedJudge(
            judge=name,
            metrics=metrics,
            all=whole,
            left=left,
            judged=len(self.places),
            load_seconds=None if measured is None else measured.load_seconds,
            seconds=_seconds(pace, left),
            seconds_within=_seconds(pace, left and left.within),
            memory=None if measured is None else measured.memory,
            gpu_memory=None if measured is None else measured.gpu_memory,
            notes=list(self._notes()),
        )

    async def _count(self, metric: str, known: KnownRecords) -> _Counted:
        """Go once through all rows."""
        units, spec = self.stage.units, self.metrics[metric]
        is_fixed = spec.judge and await self.dry.is_fixed([units[place] for place in self.first], metric)
        is_known = is_fixed or not spec.judge
        counted = _Counted(set(), set()) if is_known else _Counted(None, None)
        for unit in units:
            cells = [Cell(unit, metric, repeat) for repeat in self.stage.plan.repeats_of(metric)]
            keys = [key_of(self.stage, cell) for cell in cells]
            done = sum(known.has(key) for key in keys)
            counted.scores, counted.done = counted.scores + len(cells), counted.done + done
            if keys[0].unit in counted.all:
                continue
            questions = dict(
                [call for cell in cells for call in await self.dry.questions(unit, metric, cell.repeat)]
                if is_fixed
                else []
            )
            length = sum(questions.values()) if is_fixed else _length(unit, spec)
            counted.add(keys[0].unit, length, questions, done < len(cells))
        return counted

    def _asked(self, metric: str) -> dict[str, Asked]:
        """Digest of what the metric reads of a row that was judged -> what was asked."""
        found: dict[str, Asked] = {}
        for place in self.places:
            digest = self.stage.digest(self.stage.units[place], metric)
            repeats = self.stage.plan.repeats_of(metric)
            found[digest] = asked_of([(repeat, self.records[place, metric, repeat]) for repeat in repeats], self.greedy)
        return found

    def _metric(self, metric: str, counted: _Counted, habit: Habit | None, judged: Collection[str]) -> PlannedMetric:
        """What a metric takes; `judged`: the digests of the rows that were judged."""
        values = [self._value(place, metric) for place in self.places]
        known = [value for value in values if not math.isnan(value)]
        scale = self.metrics[metric].scale
        return PlannedMetric(
            metric=metric,
            scores=counted.scores,
            done=counted.done,
            is_exact=counted.asked is not None,
            all=_expected(self.metrics[metric], counted.all, counted.asked, habit, judged),
            left=_expected(self.metrics[metric], counted.left, counted.asked_left, habit, judged),
            mean=math.fsum(known) / len(known) if known else None,
            rows_needed=rows_for_interval(values, scale, self.within, self.config.ci_level),
        )

    def _value(self, place: int, metric: str) -> float:
        repeats = self.stage.plan.repeats_of(metric)
        return to_score([self.records[place, metric, repeat] for repeat in repeats]).value

    def _pace(
        self, measured: TrialCost | None, known: KnownRecords, metrics: Sequence[PlannedMetric]
    ) -> Callable[[Expected], float] | None:
        """Seconds of what is left, at the pace of the rows that were judged; None: not known."""
        missing = sum(metric.scores - metric.done for metric in metrics)
        if not missing:
            return lambda left: 0.0
        if measured is None or not measured.cells:
            return None
        lines = [(key, known.find(key)) for key in measured.keys(self.stage.plan)]
        asked: Asked = {}
        for key, line in lines:
            if line is not None:
                asked |= asked_of([(key.repeat, line.record)], self.greedy)
        tokens = [float(sum(call[part] for call in asked.values())) for part in (0, 1)]
        work = _work(Expected(len(asked), *(tokens if any(tokens) else (None, None))))
        if not work:  # no judge is asked
            return lambda left: measured.seconds * missing / len(lines)
        return lambda left: measured.seconds * _work(left) / work

    def _notes(self) -> Iterator[str]:
        plan = self.stage.plan
        manifest = read_manifest(place_of(self.folder, plan.task, plan.stage))
        if manifest is not None and (changes := plan.changes(manifest.plan)):
            yield f"{self.folder} holds another run, so that this one needs --update: {'; '.join(changes)}"
        elif manifest is not None and not plan.holds_rows_of(manifest.plan):
            yield f"{self.folder} holds the results of {manifest.plan.rows}; this run takes {plan.rows}"
        if self.config.judge.engine != "transformers" and any(metric.judge for metric in self.metrics.values()):
            yield f"the memory of the {self.config.judge.engine} engine is not in these figures"
        if self.config.cluster:
            yield f"rows needed: as if rows with the same '{self.config.cluster}' did not depend on each other"


def _length(unit: Sample, metric: Metric) -> float:
    return length_of(value for column in metric.reads if (value := unit.value(column)) is not None)


def _expected(
    metric: Metric,
    lengths: Mapping[str, float],
    asked: set[JudgeCall] | None,
    habit: Habit | None,
    judged: Collection[str],
) -> Expected | None:
    if not metric.judge:
        return NOTHING
    calls = None if asked is None else len(asked)
    if habit is None:
        return None if calls is None else Expected(calls, within=Expected(0))
    new = [length for row, length in lengths.items() if row not in judged]
    return habit.in_rows(list(lengths.values()), calls, new)


def _asked_once(asked: Iterable[Mapping[str, Asked]]) -> float:
    """The share of questions that is left when those that several metrics ask count once."""
    each = [{question for found in rows.values() for question in found} for rows in asked]
    number = sum(map(len, each))
    return len(set().union(*each)) / number if number else 1.0


def _together(
    metrics: Sequence[Expected | None], asked: Sequence[set[JudgeCall] | None], share: float
) -> Expected | None:
    """All metrics; counted where each is, else with the share of questions that were asked once."""
    total = NOTHING
    for metric in metrics:
        if metric is None:
            return None
        total += metric
    known = [questions for questions in asked if questions is not None]
    if len(known) == len(asked) and total.calls:
        share = len(set().union(*known)) / total.calls
    return total.times(share)


def _seconds(pace: Callable[[Expected], float] | None, part: Expected | None) -> float | None:
    return None if pace is None or part is None else pace(part)


def _work(part: Expected) -> float:
    """What takes time, in tokens that are written; in calls where the judge counts no tokens."""
    if part.generated_tokens is None or part.prompt_tokens is None:
        return part.calls
    return part.generated_tokens + part.prompt_tokens / READ_FASTER
