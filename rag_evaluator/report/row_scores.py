"""The scores of a row as a page shows them: each metric with what every judge said, every time it was asked."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rag_evaluator.errors import ResultsError
from rag_evaluator.report.row_judgements import JudgementView, judgement_views
from rag_evaluator.report.row_questions import PromptView, prompt_views
from rag_evaluator.report.row_verdicts import SOURCE, ScoredMetric
from rag_evaluator.report.run_files import RunFiles
from rag_evaluator.report.shown_text import ShownText, short, shown
from rag_evaluator.results.panel_names import BETWEEN, judges_of

Json = Mapping[str, Any]  # Any in this module: JSON


@dataclass(frozen=True)
class Attempt:
    """A score as it was made once.

    Attributes:
        repeat: number of the repeat, from 1; None where it was made once.
        reason: why it is missing, else None.
        outcome: what the value stands for, of a metric that names that.
        prompts_missing: why there are no more prompts.
    """

    repeat: int | None
    value: float | None
    reason: ShownText | None
    outcome: str | None
    judgements: tuple[JudgementView, ...]
    prompts: tuple[PromptView, ...]
    prompts_missing: str


@dataclass(frozen=True)
class ScoreView:
    """What one judge, or the only one, says of a metric; `judge`: its name in a panel, else empty."""

    judge: str
    value: float | None
    attempts: tuple[Attempt, ...]

    @property
    def missing(self) -> ShownText | None:
        """Why there is no score."""
        reasons = (attempt.reason for attempt in self.attempts if attempt.reason)
        return next(reasons, None) if self.value is None else None

    @property
    def told(self) -> bool:
        """Whether there is more to show than the value."""
        return any(made.judgements or made.reason or made.outcome or made.repeat for made in self.attempts)


@dataclass(frozen=True)
class MetricView:
    """A metric of the row.

    Attributes:
        section: by which links find it in the row; a name may have signs that no id has.
        stage: `retrieval` or `generation`; empty where nobody knows.
        share: where the score is on the metric's range, or above 0 where that begins below, from 0 to 1; None where
            nobody knows the range.
        judges: one for each judge of a panel.
    """

    name: str
    section: str
    stage: str
    share: float | None
    better: str
    own: ScoreView
    judges: tuple[ScoreView, ...]

    @property
    def told(self) -> bool:
        return self.own.told or any(judge.told for judge in self.judges)


def metric_views(run: RunFiles, row: int, values: Json, columns: Json, questions: bool) -> tuple[MetricView, ...]:
    """The metrics in the order of the run; those of a panel's judges within the metric that they judge."""
    lines: dict[str, list[Json]] = {}
    for line in run.details(row):
        lines.setdefault(str(line["metric"]), []).append(line)
    prompts: Json = {}
    with suppress(ResultsError):
        prompts = run.prompts if questions else {}
    judges = judges_of(run.manifest)

    def score(name: str, metric: str, judge: str = "") -> ScoreView:
        about = _about(run, metric)
        made = tuple(_attempt(line, metric, about, columns, prompts, questions) for line in lines.get(name, ()))
        return ScoreView(judge, _number(values.get(name)), made)

    names = run.metrics
    own = [name for name in names if name.partition(BETWEEN)[2] not in judges or BETWEEN not in name]
    return tuple(
        MetricView(
            name,
            f"m{place}",
            str(_about(run, name).get("stage") or ""),
            _share(_number(values.get(name)), _about(run, name).get("range")),
            str(_about(run, name).get("better") or ""),
            score(name, name),
            tuple(score(full, name, judge) for judge in judges if (full := f"{name}{BETWEEN}{judge}") in names),
        )
        for place, name in enumerate(own)
    )


def _about(run: RunFiles, metric: str) -> Json:
    about = run.manifest.get("metrics", {}).get(metric)
    return about if isinstance(about, Mapping) else {}


def _attempt(line: Json, metric: str, about: Json, columns: Json, prompts: Json, questions: bool) -> Attempt:
    judgements = line.get("judgements") or ()
    views = judgement_views(ScoredMetric(metric, about, columns, judgements))
    sent, missing = prompt_views(line, columns, prompts) if questions else ((), "")
    reason, repeat = line.get("reason"), line.get("repeat")
    views = [replace(view, error=None) if reason and _says(view, str(reason)) else view for view in views]
    return Attempt(
        None if repeat is None else repeat + 1,
        _number(line.get("value")),
        shown(str(reason), SOURCE) if reason else None,
        short(line["outcome"]) if line.get("outcome") else None,
        tuple(views),
        sent,
        missing,
    )


def _says(view: JudgementView, reason: str) -> bool:
    """Whether the error of a judgement is the reason why the score is missing, which is shown already."""
    return view.error is not None and view.error == shown(reason, SOURCE)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None


def _share(value: float | None, ends: Any) -> float | None:
    if value is None or not isinstance(ends, Sequence) or len(ends) != 2 or not ends[0] < ends[1]:
        return None
    low, high = max(ends[0], 0.0), ends[1]
    return min(max((value - low) / (high - low), 0.0), 1.0) if low < high else None
