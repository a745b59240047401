"""What `plan` gives: numbers of questions, tokens, seconds and rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_evaluator.tasks.expected import Expected


@dataclass(frozen=True)
class PlannedMetric:
    """What a metric takes.

    Attributes:
        metric: its name.
        scores, done: to be made, and those of them that are made already.
        is_exact: whether `calls` are counted; else they are estimated.
        all, left: questions and tokens of all scores, and of those that are not made yet; None: not known.
        mean: of the rows that were judged for the plan; None: there are none.
        rows_needed: with which the interval of the mean would be as narrow as was asked for; None: not known.
    """

    metric: str
    scores: int
    done: int
    is_exact: bool
    all: Expected | None
    left: Expected | None
    mean: float | None
    rows_needed: int | None


@dataclass(frozen=True)
class PlannedJudge:
    """What one judge has to do.

    Attributes:
        judge: its name in a panel; None: it is the only one.
        metrics: in the order of the configuration.
        all, left: of all metrics; a question that several metrics ask counts once. None: not known.
        judged: rows that were judged for the plan.
        load_seconds, seconds: of loading the models, and of making what is left, in one process; None: not known.
        memory, gpu_memory: bytes of a process; None: not known.
        seconds_within: how far `seconds` may be off to either side, as the questions left are not known exactly; what
            else the machine does is not in it. None: not known.
        notes: what must be known before the run, such as a folder that holds another run.
    """

    judge: str | None
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
        judges: one, or those of a panel, which work one after the other.
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
    metrics = [{**asdict(metric), "all": _whole(metric.all), "left": _whole(metric.left)} for metric in judge.metrics]
    return {**asdict(judge), "metrics": metrics, "all": _whole(judge.all), "left": _whole(judge.left)}


def _whole(part: Expected | None) -> dict[str, Any] | None:
    return None if part is None else part.to_json()
