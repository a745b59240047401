"""What `check` finds: a `Check` for each thing that it looks at, and the `CheckReport` of all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.files import ACTIVITY, Json, JsonDict

State = Literal["ok", "warning", "failed", "skipped"]
MANY_TIMES = 10  # above which a number would say more than one layer tells of a model
QUICK = 5e-5  # seconds of a pass of which the call itself takes a large part
FASTER_DTYPE = 1.2  # times, from which another dtype is worth its other numbers
SMALL = 3_000_000_000  # parameters, below which a judge is not proposed for faithfulness
BY_SENTENCE = ("groundedness", "context_coverage", "reference_agreement")  # proposed first for such a judge
OF_LISTS = "faithfulness"  # left out for it: its verdicts are a list, on statements that the judge has written
T = TypeVar("T")


def about_size(parameters: int) -> str:
    """What people should know of metrics with a judge of this size; empty where it is large, or its size is not known.

    Measured on RAGTruth with a judge of 1.5 billion parameters: benchmarks/worth.md.
    """
    if not 0 < parameters < SMALL:
        return ""
    return (
        f"{parameters / 1e9:.2g} billion parameters, below 3: of a judge with 1.5 the verdicts in faithfulness agreed "
        "with people hardly better than chance (AUC 0.53), and better where it is asked about one sentence at a time, "
        f"as in {', '.join(BY_SENTENCE)}"
    )


def faster_dtype(seconds: Mapping[str, float], dtype: str) -> tuple[str, str] | None:
    """The dtype in which this CPU computes faster than in another one, and how many times.

    None where they are about equal, and where a layer is too quick to be measured.
    """
    fastest = min(seconds, key=lambda name: seconds[name])
    ratio = seconds.get(dtype, 0.0) / seconds[fastest]
    times = f"more than {MANY_TIMES}" if ratio > MANY_TIMES else f"{ratio:.1f}"
    return (fastest, times) if ratio > FASTER_DTYPE and seconds[fastest] > QUICK else None


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: `rows`, `prompts`, `model`, ...
        text: what was found, for people.
        details: the same as JSON.
        error: why it failed; None where the finding itself is the failure.
    """

    name: str
    state: State
    text: str
    details: Json = field(default_factory=dict)
    error: RagEvaluatorError | None = None

    def to_json(self) -> JsonDict:
        """Return name, state, text and details, as `check --json` prints them."""
        known = {"name": self.name, "state": self.state, "text": self.text}
        return {**known, "details": dict(self.details)}


Shown = Callable[[Check], object]


class CheckReport:
    """All that was looked at, in order.

    Args:
        shown: called with each check as soon as it is made.

    Attributes:
        passed: whether nothing failed; there may be warnings.
    """

    def __init__(self, shown: Shown = lambda check: None) -> None:
        self.checks: list[Check] = []
        self.shown = shown

    @property
    def passed(self) -> bool:
        """Say whether no check failed; skipped ones do not count."""
        return all(check.state != "failed" for check in self.checks)

    def add(
        self,
        name: str,
        state: State,
        text: str,
        details: Json | None = None,
        error: RagEvaluatorError | None = None,
    ) -> None:
        """Keep a check and show it; `details` must be JSON."""
        self.checks.append(Check(name, state, text, details or {}, error))
        self.shown(self.checks[-1])

    def attempt(self, name: str, look: Callable[[], T]) -> T | None:
        """Call `look`, which adds its check itself; after an error of the user add a failed check, and return None."""
        try:
            with ACTIVITY.phase(f"checking {name}"):
                return look()
        except RagEvaluatorError as error:
            self.add(name, "failed", str(error), error=error)
            return None

    def to_json(self) -> JsonDict:
        """Return `passed` and all checks, as `check --json` prints them."""
        return {"passed": self.passed, "checks": [check.to_json() for check in self.checks]}
