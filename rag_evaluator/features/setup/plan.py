"""`plan`: what a run will ask its judge, how long it will take, and how many rows its intervals need."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from rag_evaluator.config.schema import Config
from rag_evaluator.dataset.sample import RowChoice
from rag_evaluator.embeddings.event_loop import run
from rag_evaluator.embeddings.hub import most_memory
from rag_evaluator.evaluator import RAGEvaluator
from rag_evaluator.features.setup.trial import TrialCost, key_of, known_records, make_some, read_measured
from rag_evaluator.files.progress import ACTIVITY, Progress, silent
from rag_evaluator.files.signals import Stop
from rag_evaluator.results.judgement import judgements_of
from rag_evaluator.run.journal import KnownRecords, place_of, read_manifest
from rag_evaluator.run.task import Cell, Record
from rag_evaluator.statistics.paired import rows_for_interval
from rag_evaluator.tasks.evaluation import Evaluation, to_score

LEVEL = 0.95  # nominal, of the ranges


class JudgeCall(NamedTuple):
    """A question to the judge: equal ones are asked once.

    Attributes:
        digest: of the prompt, as `Judgement.prompt_digest`.
        is_choice: whether options were given.
        draw: tells equal questions apart where answers are sampled; (0, 0) of a greedy judge.
    """

    digest: str
    is_choice: bool
    draw: tuple[int, int]


Calls = dict[JudgeCall, tuple[int, int]]
"""What was asked, each question once -> tokens of its prompt, tokens that the judge wrote."""


def calls_of(records: Sequence[tuple[int, Record]], greedy: bool) -> Calls:
    """What a row's score was made from.

    Args:
        records: numbers of repeats, with their records.
        greedy: whether equal questions get equal answers: then they are asked once.
    """
    calls: Calls = {}
    for repeat, record in records:
        times: Counter[tuple[str, bool]] = Counter()
        for judgement in judgements_of(record.details):
            if not judgement.prompt_digest:  # a note of a function
                continue
            kind = judgement.prompt_digest, not judgement.generated_tokens
            draw = (0, 0) if greedy else (repeat, times[kind])
            times[kind] += 1
            written = judgement.generated_tokens + judgement.thinking_tokens
            calls[JudgeCall(*kind, draw)] = (judgement.prompt_tokens, written)
    return calls


@dataclass(frozen=True)
class Expected:
    """Questions and tokens of some rows.

    Attributes:
        calls: questions that reach the judge, equal ones counted once.
        prompt_tokens, generated_tokens: of these; None: not known.
        within: how far each may be off to either side, see `scaled`; None: not known.
    """

    calls: float
    prompt_tokens: float | None = None
    generated_tokens: float | None = None
    within: "Expected | None" = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Whole numbers. Any: JSON."""
        return {**self._whole(), "within": self.within and self.within._whole()}

    def _whole(self) -> dict[str, int | None]:
        parts = {name: getattr(self, name) for name in ("calls", "prompt_tokens", "generated_tokens")}
        return {name: None if part is None else round(part) for name, part in parts.items()}


NOTHING = Expected(0, 0, 0, Expected(0, 0, 0))


def expected_of(asked: Mapping[str, Calls], letters: Mapping[str, float], rows: Collection[str]) -> Expected | None:
    """What is asked in some rows: calls scaled by the number of rows, tokens by letters.

    Args:
        asked: judged row -> what was asked of it.
        letters: row -> letters that are read of it; of all rows.
        rows: to be estimated.

    Returns:
        None where no row was judged.
    """
    if not asked:
        return None
    new = sum(row not in asked for row in rows)
    sizes, size = [letters[row] for row in asked], math.fsum(letters[row] for row in rows)

    def tokens(part: int) -> tuple[float, float | None]:
        return scaled([sum(call[part] for call in calls.values()) for calls in asked.values()], sizes, size, new)

    number, within = scaled([len(calls) for calls in asked.values()], [1] * len(asked), len(rows), new)
    counts = [call for calls in asked.values() for call in calls.values()]
    if counts and not any(map(any, counts)):  # the judge counts no tokens
        return Expected(number, within=None if within is None else Expected(within))
    (prompts, prompts_within), (answers, answers_within) = tokens(0), tokens(1)
    margins = None if within is None else Expected(within, prompts_within, answers_within)
    return Expected(number, prompts, answers, margins)


def scaled(values: Sequence[float], sizes: Sequence[float], size: float, new: int) -> tuple[float, float | None]:
    """The total of a value over rows, by the ratio estimator, and how far it may be off to either side.

    Args:
        values, sizes: of the judged rows.
        size: of the rows together.
        new: how many of them were not judged.

    The margin is half of the interval of the ratio estimator of a total, nominal 95 % (Cochran 1977, Sampling
    Techniques, chapter 6, with Student's t); None where one row is too few for it. It says how rows vary as far as the
    judged ones do: of an answer as long as none of theirs it knows nothing.
    """
    y, x, count = np.asarray(values, dtype=np.float64), np.asarray(sizes, dtype=np.float64), len(values)
    ratio = float(y.sum() / x.sum()) if x.any() else 0.0
    if not new:
        return ratio * size, 0.0
    if count < 2:
        return ratio * size, None
    variance = float(((y - ratio * x) ** 2).sum()) / (count - 1) * new * (count + new) / count
    return ratio * size, float(stdtrit(count - 1, (1 + LEVEL) / 2)) * math.sqrt(variance)


def letters_of(values: Iterable[Any]) -> int:
    """Letters of what a metric reads of a row. Any: texts, lists of texts, values of the user's own."""
    return sum(len(value) if isinstance(value, str) else len(str(value)) for value in values)


SAMPLE = 20  # rows that are judged for the estimate
READ_FASTER = 20  # tokens of a prompt that are read in the time in which one is written, roughly
WITHIN = 0.05  # half the width of an interval, in units of the metric


@dataclass(frozen=True)
class PlannedMetric:
    """What a metric takes.

    Attributes:
        metric: its name.
        scores, done: to be made, and those of them that are made already.
        all, left: questions and tokens of all scores, and of those that are not made yet; None: not known.
        mean: of the rows that were judged for the plan; None: there are none.
        rows_needed: with which the interval of the mean would be as narrow as was asked for; where no row was judged,
            if scores are as far apart as the metric's range allows, so at most as many. None: not known.
    """

    metric: str
    scores: int
    done: int
    all: Expected | None
    left: Expected | None
    mean: float | None
    rows_needed: int | None


@dataclass(frozen=True)
class PlannedJudge:
    """What one judge has to do.

    Attributes:
        metrics: in the order of the configuration.
        all, left: of all metrics; a question that several metrics ask counts once. None: not known.
        judged: rows that were judged for the plan.
        load_seconds, seconds: of loading the models, and of making what is left, in one process; None: not known.
        memory, gpu_memory: bytes of a process; None: not known.
        seconds_within: how far `seconds` may be off to either side, as the questions left are not known exactly; what
            else the machine does is not in it. None: not known.
        notes: what must be known before the run, such as a folder that holds another run.
    """

    metrics: Sequence[PlannedMetric]
    all: Expected | None
    left: Expected | None
    judged: int
    load_seconds: float | None
    seconds: float | None
    memory: int | None
    gpu_memory: int | None
    notes: Sequence[str] = ()
    seconds_within: float | None = None

    def seconds_with(self, workers: int) -> float | None:
        """Until all is made by several workers, each on a device of its own."""
        if self.seconds == 0:
            return 0.0
        if self.seconds is None or self.load_seconds is None:
            return None
        return self.load_seconds + self.seconds / workers


@dataclass(frozen=True)
class PlannedRun:
    """What a run takes.

    Attributes:
        name: of the run.
        rows: which ones, `20 of 1,000 rows (limit)`; `count` how many.
        workers: that share the work.
        level, within: of the intervals: nominal coverage, half the width.
        judges: what the judge has to do.
    """

    name: str
    rows: str
    count: int
    workers: int
    level: float
    within: float
    judges: Sequence[PlannedJudge]

    @property
    def seconds(self) -> float | None:
        """Until all is made; None: not known."""
        each = [judge.seconds_with(self.workers) for judge in self.judges]
        return None if None in each else float(sum(part or 0.0 for part in each))

    def to_json(self) -> dict[str, Any]:
        """JSON; None where something is not known. Any: JSON."""
        return {**asdict(self), "seconds": self.seconds, "judges": [_json(judge) for judge in self.judges]}


def _json(judge: PlannedJudge) -> dict[str, Any]:
    """Numbers whole, where they count something."""
    metrics = [{**asdict(metric), **_whole(metric)} for metric in judge.metrics]
    return {**asdict(judge), "metrics": metrics, **_whole(judge)}


def _whole(part: PlannedMetric | PlannedJudge) -> dict[str, Any]:
    return {"all": part.all and part.all.to_json(), "left": part.left and part.left.to_json()}


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
        sample: rows that are judged, drawn by `sample_seed`; with 0 no model is loaded, and only the rows needed are
            known.
        workers: that will share the work.
        within: half the width that an interval should have, in units of the metric.
        progress: called with (scores made, scores to make).

    Raises `RagEvaluatorError` for bad input before a model is loaded.
    """
    evaluator = RAGEvaluator(config, judge, embeddings)
    config = evaluator.config
    folder = config.results_dir if folder is None else Path(folder).expanduser()
    stage = evaluator.stage(data)
    planned = _Planning(evaluator, stage, folder, sample, within).plan(progress, stop)
    units = stage.units
    return PlannedRun(config.name, str(units.choice), len(units), workers, config.ci_level, within, [planned])


@dataclass
class _MetricRows:
    """The rows of a metric.

    Attributes:
        scores, done: numbers.
        all, left: letters that are read for each row, those of the prompts included, and for those with a score that is
            not made, by digest of what the metric reads of the row: equal rows are there once.
    """

    scores: int = 0
    done: int = 0
    all: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)


class _Planning:
    """The plan of one judge's run.

    Args:
        sample: rows to be judged.
        within: see `plan`.
    """

    def __init__(self, evaluator: RAGEvaluator, stage: Evaluation, folder: Path, sample: int, within: float) -> None:
        self.config, self.metrics, self.prompts = evaluator.config, evaluator.metrics, evaluator.prompts
        self.stage, self.folder, self.within = stage, folder, within
        drawn = RowChoice.make(len(stage.units), sample=sample, seed=self.config.sample_seed).places if sample else ()
        self.places: Sequence[int] = drawn
        capabilities = evaluator.judge.capabilities
        self.greedy = bool(capabilities and capabilities.greedy)
        self.records: dict[tuple[int, str, int], Record] = {}

    def plan(self, progress: Progress, stop: Stop | None) -> PlannedJudge:
        if self.places:
            self.records = make_some(self.stage, self.places, self.folder, run, progress, stop, most_memory)
        with ACTIVITY.phase("reading all rows"), closing(known_records(self.folder, self.stage.plan)) as known:
            rows = {metric: self._rows(metric, known) for metric in self.metrics}
        asked = {metric: self._calls(metric) for metric in self.metrics}
        metrics = [self._metric(metric, rows[metric], asked[metric]) for metric in self.metrics]
        share = _asked_once(asked.values())
        left = _together([metric.left for metric in metrics], share)
        cost = read_measured(self.folder, self.stage.plan)
        seconds = _seconds(cost, rows)
        return PlannedJudge(
            metrics=metrics,
            all=_together([metric.all for metric in metrics], share),
            left=left,
            judged=len(self.places),
            load_seconds=None if cost is None else cost.load_seconds,
            seconds=seconds,
            seconds_within=_seconds_within(seconds, left),
            memory=None if cost is None else cost.memory,
            gpu_memory=None if cost is None else cost.gpu_memory,
            notes=list(self._notes()),
        )

    def _rows(self, metric: str, known: KnownRecords) -> _MetricRows:
        """Go once through all rows."""
        rows, reads = _MetricRows(), self.metrics[metric].reads
        packs = [prompt.pack for (owner, _), prompt in self.prompts.items() if owner == metric]
        around = sum(letters_of([pack.instruction, *pack.examples]) for pack in packs)
        for unit in self.stage.units:
            keys = [key_of(self.stage, Cell(unit, metric, repeat)) for repeat in self.stage.plan.repeats_of(metric)]
            done = sum(map(known.has, keys))
            rows.scores, rows.done = rows.scores + len(keys), rows.done + done
            row = keys[0].unit
            if row not in rows.all:
                values = map(unit.value, reads)
                rows.all[row] = around + letters_of(value for value in values if value is not None)
            if done < len(keys):
                rows.left[row] = rows.all[row]
        return rows

    def _calls(self, metric: str) -> dict[str, Calls]:
        """Digest of what the metric reads of a row that was judged -> what was asked."""
        repeats = self.stage.plan.repeats_of(metric)
        return {
            self.stage.digest(self.stage.units[place], metric): calls_of(
                [(repeat, self.records[place, metric, repeat]) for repeat in repeats], self.greedy
            )
            for place in self.places
        }

    def _metric(self, metric: str, rows: _MetricRows, asked: Mapping[str, Calls]) -> PlannedMetric:
        values = [self._value(place, metric) for place in self.places]
        known = [value for value in values if not math.isnan(value)]
        spec = self.metrics[metric]
        return PlannedMetric(
            metric=metric,
            scores=rows.scores,
            done=rows.done,
            all=expected_of(asked, rows.all, rows.all) if spec.judge else NOTHING,
            left=expected_of(asked, rows.all, rows.left) if spec.judge else NOTHING,
            mean=math.fsum(known) / len(known) if known else None,
            rows_needed=rows_for_interval(values or spec.range, spec.scale, self.within, self.config.ci_level),
        )

    def _value(self, place: int, metric: str) -> float:
        repeats = self.stage.plan.repeats_of(metric)
        return to_score([self.records[place, metric, repeat] for repeat in repeats]).value

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


def _asked_once(asked: Iterable[Mapping[str, Calls]]) -> float:
    """The share of questions that is left when those that several metrics ask count once."""
    each = [calls for rows in asked for calls in rows.values()]
    number = sum(map(len, each))
    return len(set().union(*each)) / number if number else 1.0


def _together(metrics: Sequence[Expected | None], share: float) -> Expected | None:
    """All metrics, with the share of questions that is asked once; the margins are added, as if all were off alike."""
    known = [metric for metric in metrics if metric is not None]
    margins = [metric.within for metric in known if metric.within is not None]
    if len(known) < len(metrics):
        return None
    within = Expected(*_totals(margins, share)) if len(margins) == len(known) else None
    return Expected(*_totals(known, share), within)


def _totals(parts: Sequence[Expected], share: float) -> tuple[float, float | None, float | None]:
    """Shares of calls, prompt tokens and generated tokens."""
    prompts, answers = (
        None if None in tokens else share * sum(number or 0 for number in tokens)
        for tokens in ([part.prompt_tokens for part in parts], [part.generated_tokens for part in parts])
    )
    return share * sum(part.calls for part in parts), prompts, answers


def _seconds(cost: TrialCost | None, rows: Mapping[str, _MetricRows]) -> float | None:
    """Seconds of what is left: those of the rows that were timed, scaled by letters; None: not known."""
    left = {metric: part.left for metric, part in rows.items() if part.left}
    if not left:
        return 0.0
    timed = {(metric, row) for row, metric, _ in cost.cells} if cost else set()
    letters = sum(rows[metric].all.get(row, 0) for metric, row in timed)
    if cost is None or not letters or not left.keys() <= {metric for metric, _ in timed}:
        return None
    return cost.seconds * sum(sum(part.values()) for part in left.values()) / letters


def _seconds_within(seconds: float | None, left: Expected | None) -> float | None:
    if seconds is None or left is None or left.within is None:
        return None
    work = _work(left)
    return seconds * _work(left.within) / work if work else 0.0


def _work(part: Expected) -> float:
    """What takes time, in tokens that are written; in calls where the judge counts no tokens."""
    if part.generated_tokens is None or part.prompt_tokens is None:
        return part.calls
    return part.generated_tokens + part.prompt_tokens / READ_FASTER
