"""What a run will take, in sentences: questions to the judge, time, and rows for a narrow interval."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_evaluator.results.conclusion import Conclusion, about, next_command
from rag_evaluator.results.overview import counted

if TYPE_CHECKING:
    from rag_evaluator.features.setup.plan import PlannedRun

SAMPLE = 20  # rows to judge where none was judged
MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds
RULES = (
    "questions and time: those of the judged rows, scaled to what is not scored yet (ratio estimator); ± and [ ] are "
    "their 95 % interval, if other rows vary as the judged ones do.",
    "rows: with so many the interval of the mean is as narrow as was asked for, if all scores vary as those of the "
    "judged rows; without judged rows as far as the range of the metric allows.",
)


def plan_conclusion(planned: "PlannedRun", words: Sequence[object]) -> Conclusion:
    """The sentences of a plan, and the next command.

    Args:
        words: the configuration and the keys of the command.
    """
    sentences = [_cost(planned), *_rows(planned)]
    if any(judge.left is None for judge in planned.judges):
        following = next_command(("plan", *words, "--sample", SAMPLE))
    elif planned.workers > 1 and planned.seconds != 0:
        following = next_command(("submit", *words, "--workers", planned.workers))
    else:
        following = next_command(("evaluate", *words))
    return Conclusion(sentences, following, RULES)


def _cost(planned: "PlannedRun") -> str:
    """Questions and time of what is left."""
    metrics = [metric for judge in planned.judges for metric in judge.metrics]
    made, scores = sum(metric.done for metric in metrics), sum(metric.scores for metric in metrics)
    rows = counted(planned.count, "row")
    known = f" ({made:,} of {scores:,} scores {'is' if made == 1 else 'are'} made)" if made else ""
    if made == scores:
        return f"Nothing is left to be scored for {rows}{known}."
    judged = max(judge.judged for judge in planned.judges)
    questions = _questions(planned)
    if questions is None:
        return f"Not known how many questions to the judge and how long: none of {rows} was judged."
    of_rows = f"for {rows}{known}"
    basis = f", estimated from {judged} of them" if judged else ""
    time = _time(planned)
    if time is None:
        return f"{questions}, {of_rows}{basis}; the time is not known."
    machine = "on this machine" if planned.workers == 1 else "on machines like this one"
    return f"{questions} and {time} with {counted(planned.workers, 'worker')} {machine}, {of_rows}{basis}."


def _questions(planned: "PlannedRun") -> str | None:
    """`About 1,200 (±12 %) questions to the judge`; None: not known."""
    left = [judge.left for judge in planned.judges if judge.left is not None]
    if len(left) < len(planned.judges):
        return None
    calls = math.fsum(part.calls for part in left)
    margins = [part.within.calls for part in left if part.within is not None]
    if not calls:
        return "No question to the judge"
    share = f" (±{math.ceil(100 * sum(margins) / calls)} %)" if len(margins) == len(left) and any(margins) else ""
    judge = "judge" if len(planned.judges) == 1 else "judges"
    return f"{about(round(calls)).capitalize()}{share} questions to the {judge}"


def _time(planned: "PlannedRun") -> str | None:
    """`2 h 10 min [1 h 50 min, 2 h 30 min]`; None: not known."""
    seconds = planned.seconds
    if seconds is None:
        return None
    margins = [judge.seconds_within for judge in planned.judges if judge.seconds_within is not None]
    if len(margins) < len(planned.judges) or not any(margins):
        return spoken(seconds)
    within = sum(margins) / planned.workers
    return f"{spoken(seconds)} [{spoken(max(0.0, seconds - within))}, {spoken(seconds + within)}]"


def spoken(seconds: float) -> str:
    """`40 s`, `12 min`, `2 h 10 min`, `3 d 4 h`: rounded up to the smaller unit."""
    if seconds <= 100:
        return f"{math.ceil(seconds)} s"
    if seconds <= HOUR:
        return f"{math.ceil(seconds / MINUTE)} min"
    large, small, names = (HOUR, MINUTE, ("h", "min")) if seconds <= DAY else (DAY, HOUR, ("d", "h"))
    number, rest = divmod(math.ceil(seconds / small), large // small)
    return f"{number} {names[0]}" + (f" {rest} {names[1]}" if rest else "")


def _rows(planned: "PlannedRun") -> list[str]:
    """Whether there are rows enough for the interval that was asked for; nothing where that is not known."""
    needed = {
        metric.metric: metric.rows_needed
        for judge in planned.judges
        for metric in judge.metrics
        if metric.rows_needed is not None
    }
    if not needed:
        return []
    interval = f"an interval of ±{planned.within:g}"
    metric = max(needed, key=lambda name: needed[name])
    where = f"in {metric}" + (f", the most of {len(needed)} metrics" if len(needed) > 1 else "")
    judged = max(judge.judged for judge in planned.judges)
    if not judged:
        return [f"At most {needed[metric]:,} rows are needed for {interval} {where}."]
    if needed[metric] > planned.count:
        return [f"For {interval} {about(needed[metric])} rows are needed {where}."]
    every = "" if len(needed) == 1 else f" in all {len(needed)} metrics"
    return [f"{counted(planned.count, 'row')} are enough for {interval}{every}, as far as {judged} rows show."]
