"""What a judge will be asked in all rows of a run, scaled from what it was asked in some."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from rag_evaluator.results.judgement import judgements_of
from rag_evaluator.run.task import Record

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
            None if tokens is None else tokens * share for tokens in (self.prompt_tokens, self.generated_tokens)
        )
        return Expected(self.calls * share, prompts, answers, self.within and self.within.times(share))

    def to_json(self) -> dict[str, Any]:
        """Whole numbers. Any: JSON."""
        return {**self._whole(), "within": self.within and self.within._whole()}

    def _whole(self) -> dict[str, int | None]:
        parts = {name: getattr(self, name) for name in ("calls", "prompt_tokens", "generated_tokens")}
        return {name: None if part is None else round(part) for name, part in parts.items()}


NOTHING = Expected(0, 0, 0, Expected(0, 0, 0))


def _sum(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left + right


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
