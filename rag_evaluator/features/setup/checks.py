"""What `check` finds: a `Check` for each thing that it looks at, and the `CheckReport` of all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_evaluator.errors import RagEvaluatorError
from rag_evaluator.files.progress import ACTIVITY

State = Literal["ok", "warning", "failed", "skipped"]
FASTER_DTYPE = 1.2  # times, from which another dtype is worth its other numbers


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
    details: Mapping[str, Any] = field(default_factory=dict)
    error: RagEvaluatorError | None = None

    def to_json(self) -> dict[str, Any]:
        known = {"name": self.name, "state": self.state, "text": self.text}
        return {**known, "details": dict(self.details)}


Shown = Callable[[Check], object]


@dataclass(frozen=True)
class CheckReport:
    """All that was looked at, in order.

    Attributes:
        passed: whether nothing failed; there may be warnings.
    """

    checks: Sequence[Check]

    @property
    def passed(self) -> bool:
        return all(check.state != "failed" for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        return {"passed": self.passed, "checks": [check.to_json() for check in self.checks]}


class Checks:
    """Collects checks.

    Args:
        shown: called with each.
    """

    def __init__(self, shown: Shown) -> None:
        self.checks: list[Check] = []
        self.shown = shown

    def add(
        self,
        name: str,
        state: State,
        text: str,
        details: Mapping[str, Any] | None = None,
        error: RagEvaluatorError | None = None,
    ) -> None:
        self.checks.append(Check(name, state, text, details or {}, error))
        self.shown(self.checks[-1])

    def attempt(self, name: str, look: Callable[[], None]) -> bool:
        """Whether `look`, which adds its check itself, raised no error that users can cause."""
        try:
            with ACTIVITY.phase(f"checking {name}"):
                look()
        except RagEvaluatorError as error:
            self.add(name, "failed", str(error), error=error)
            return False
        return True

    def has(self, name: str, state: State) -> bool:
        return any(check.name == name and check.state == state for check in self.checks)
