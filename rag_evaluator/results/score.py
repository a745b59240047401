"""One metric of one sample."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag_evaluator.results.thoughts import count_thoughts
from rag_evaluator.trust.reruns import row_means


@dataclass(frozen=True)
class Score:
    """A number with its reason.

    Attributes:
        value: as ragas gives it; NaN means that it could not be made.
        reason: why it is NaN; None otherwise.
        contexts: positions of the retrieved contexts that were judged, None if the metric takes none. Contexts are left
            out from the last one up when they do not fit into the judge's window.
        judgements: what the judge was asked and answered, in order, as JSON of `Judgement`.
        lasting: the row itself is why it is NaN (a column is missing, a prompt does not fit): no use in trying again.
        repeated: the scores whose mean it is, in order; empty where it was made once.
        outcome: what the value stands for, of a metric that names that; None: nothing, or not the same in all repeats.
        counted: `thoughts` of judgements that were taken out.
    """

    value: float
    reason: str | None = None
    contexts: Sequence[int] | None = None
    judgements: Sequence[Mapping[str, Any]] = ()
    lasting: bool = field(default=False, compare=False)
    repeated: Sequence["Score"] = ()
    outcome: str | None = None
    counted: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def thoughts(self) -> tuple[int, int]:
        """How many judgements followed a thought, and how many one that was cut; repeats included."""
        if self.counted is not None:
            return self.counted
        parts = [count_thoughts(self.judgements), *(score.thoughts for score in self.repeated)]
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    @property
    def missing(self) -> bool:
        return math.isnan(self.value)

    def without_judgements(self) -> "Score":
        """The same score, light enough to keep thousands of."""
        repeated = tuple(score.without_judgements() for score in self.repeated)
        return replace(self, judgements=(), repeated=repeated, counted=self.thoughts)

    @property
    def repeats(self) -> tuple[float, ...]:
        """The values whose mean it is, NaN for a missing one; empty where it was made once."""
        return tuple(score.value for score in self.repeated)

    @classmethod
    def mean_of(cls, scores: Sequence["Score"]) -> "Score":
        """The score of a row whose scores were made several times: the mean of those that are not missing.

        It is missing if all are, for the reason of the first. Its contexts are the fewest that any of them was given;
        judgements are those of its repeats.
        """
        [value] = row_means([[score.value for score in scores]])
        contexts = min((score.contexts for score in scores if score.contexts is not None), key=len, default=None)
        reason = scores[0].reason if math.isnan(value) else None
        outcomes = {score.outcome for score in scores if not score.missing}
        outcome = outcomes.pop() if len(outcomes) == 1 else None
        lasting = all(score.lasting for score in scores)
        return cls(value, reason, contexts, lasting=lasting, repeated=tuple(scores), outcome=outcome)

    def to_json(self) -> dict[str, Any]:
        """JSON object without `lasting` and `repeated`; a missing value is null, `outcome` only there if it is one."""
        return {
            "value": None if self.missing else self.value,
            "reason": self.reason,
            **({} if self.outcome is None else {"outcome": self.outcome}),
            "contexts": self.contexts,
            "judgements": self.judgements,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Score":
        """The inverse of `to_json`; keys of other things are left alone."""
        value = math.nan if data["value"] is None else float(data["value"])
        return cls(value, data["reason"], data["contexts"], data["judgements"], outcome=data.get("outcome"))
