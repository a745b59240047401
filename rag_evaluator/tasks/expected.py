"""What a metric will ask in all rows, estimated from what it asked in some."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from rag_evaluator.metrics.dry import JudgeCall
from rag_evaluator.run.task import Record

LEVEL = 0.95  # nominal, of the ranges
LINE = 2  # numbers that a line takes from its rows

Asked = dict[JudgeCall, tuple[int, int]]
"""What was asked, each question once -> tokens of its prompt, tokens that the judge wrote."""


def asked_of(records: Sequence[tuple[int, Record]], greedy: bool) -> Asked:
    """What a row's score was made from.

    Args:
        records: numbers of repeats, with their records.
        greedy: whether equal questions get equal answers: then they are asked once.
    """
    found: Asked = {}
    for repeat, record in records:
        times: Counter[tuple[str, bool]] = Counter()
        for judgement in record.details.get("judgements", ()):
            if not judgement["prompt_digest"]:  # a note of a function
                continue
            kind = judgement["prompt_digest"], not judgement["generated_tokens"]
            draw = (0, 0) if greedy else (repeat, times[kind])
            times[kind] += 1
            written = judgement["generated_tokens"] + judgement.get("thinking_tokens", 0)
            found[JudgeCall(*kind, draw)] = (judgement["prompt_tokens"], written)
    return found


@dataclass(frozen=True)
class Expected:
    """Questions and tokens of some rows.

    Attributes:
        calls: questions that reach the judge, equal ones counted once.
        prompt_tokens, generated_tokens: of these; None: not known.
        within: how far each may be off to either side, see `Trend.margin`; None: not known.
    """

    calls: float
    prompt_tokens: float | None = None
    generated_tokens: float | None = None
    within: "Expected | None" = field(default=None, compare=False)

    def __add__(self, other: "Expected") -> "Expected":
        """Both together; their margins are added, too, as if both were off to the same side."""
        return Expected(
            self.calls + other.calls,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.generated_tokens, other.generated_tokens),
            None if self.within is None or other.within is None else self.within + other.within,
        )

    def times(self, share: float) -> "Expected":
        """A share of it."""
        prompts, answers = (
            None if part is None else part * share for part in (self.prompt_tokens, self.generated_tokens)
        )
        return Expected(self.calls * share, prompts, answers, self.within and self.within.times(share))

    def to_json(self) -> dict[str, Any]:
        """Whole numbers. Any: JSON."""
        return {**self._whole(), "within": self.within and self.within._whole()}

    def _whole(self) -> dict[str, int | None]:
        parts = {name: getattr(self, name) for name in ("calls", "prompt_tokens", "generated_tokens")}
        return {name: None if part is None else round(part) for name, part in parts.items()}


NOTHING = Expected(0, 0, 0, Expected(0, 0, 0))


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True)
class Trend:
    """A straight line: what a row of a given length takes; lengths are letters.

    Attributes:
        rows: that it was drawn through.
        mean, spread: of their lengths; the spread is the sum of squared distances from the mean.
        variance: of what rows take about the line; NaN: not known.
    """

    at_zero: float
    slope: float
    rows: int
    mean: float
    spread: float
    variance: float

    def sum_over(self, lengths: Iterable[float]) -> float:
        """For rows of these lengths together."""
        return float(sum(max(0.0, self.at_zero + self.slope * length) for length in lengths))

    def margin(self, lengths: Sequence[float]) -> float | None:
        """How far the sum over rows that were not judged may be off to either side; None: too few rows were judged.

        Half of the prediction interval of a sum, nominal 95 % (Royall 1970, Biometrika 57). It knows how rows vary from
        what was judged: of an answer as long as none of those it knows nothing.
        """
        count, free = len(lengths), self.rows - LINE
        if not count:
            return 0.0
        if free < 1:
            return None
        distance = sum(lengths) / count - self.mean
        lever = distance**2 / self.spread if self.spread and self.slope else 0.0
        variance = self.variance * (count**2 * (1 / self.rows + lever) + count)
        return float(stdtrit(free, (1 + LEVEL) / 2) * math.sqrt(variance))


def line_through(lengths: Sequence[float], values: Sequence[float]) -> Trend:
    """The line of least squares; a flat one through the mean where lengths do not differ, or longer rows take less.

    The estimate of a total by a line is the regression estimator (Cochran 1977, Sampling Techniques, chapter 7).
    """
    x, y = np.asarray(lengths, dtype=np.float64), np.asarray(values, dtype=np.float64)
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 0 else 0.0
    slope = max(slope, 0.0)
    at_zero = float(y.mean()) - slope * float(x.mean())
    errors, free = y - at_zero - slope * x, len(x) - LINE
    variance = float((errors**2).sum()) / free if free > 0 else math.nan
    return Trend(at_zero, slope, len(x), float(x.mean()), spread, variance)


@dataclass(frozen=True)
class Habit:
    """What a metric asks of a row, by the row's length, learnt from rows that were judged.

    Attributes:
        calls, prompt_tokens, generated_tokens: of a row on its own.
        once: share of the calls that is left when equal ones of different rows are asked once.
        counts_tokens: whether the judge counts any.
    """

    calls: Trend
    prompt_tokens: Trend
    generated_tokens: Trend
    once: float
    counts_tokens: bool

    @classmethod
    def of(cls, judged: Sequence[tuple[float, Asked]]) -> "Habit | None":
        """From lengths of rows and what was asked of them; None if there are none."""
        if not judged:
            return None
        lengths = [length for length, _ in judged]
        rows = [list(asked.values()) for _, asked in judged]
        each = [[float(sum(call[part] for call in row)) for row in rows] for part in (0, 1)]
        number = sum(map(len, rows))
        once = len({question for _, asked in judged for question in asked}) / number if number else 1.0
        calls = line_through(lengths, [float(len(row)) for row in rows])
        prompts, answers = (line_through(lengths, counts) for counts in each)
        return cls(calls, prompts, answers, once, any(map(any, each)) or not number)

    def in_rows(
        self, lengths: Sequence[float], calls: int | None = None, new: Sequence[float] | None = None
    ) -> Expected:
        """What is asked in rows of these lengths.

        Args:
            calls: where they are known.
            new: lengths of those that were not judged; None: all.
        """
        new = lengths if new is None else new
        alone = self.calls.sum_over(lengths)
        found = alone * self.once if calls is None else calls
        share = found / alone if alone else 1.0
        about = self.calls.margin(new) if calls is None else 0.0
        if not self.counts_tokens:
            return Expected(found, within=None if about is None else Expected(about * share))
        read, written = self.prompt_tokens, self.generated_tokens
        margins = (read.margin(new), written.margin(new))
        within = None if about is None or None in margins else Expected(about, *margins).times(share)
        return Expected(found, read.sum_over(lengths) * share, written.sum_over(lengths) * share, within)


def length_of(values: Iterable[Any]) -> float:
    """Letters of what a metric reads of a row. Any: texts, lists of texts, values of the user's own."""
    return float(sum(len(value) if isinstance(value, str) else len(str(value)) for value in values))
