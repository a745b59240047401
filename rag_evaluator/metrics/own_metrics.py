"""Users' own metrics from Python: `CustomMetric` asks the judge, `@metric` makes one of a function."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import update_wrapper
from typing import Any, Literal

# Any in this module: examples and values of rows.


@dataclass(frozen=True)
class CustomMetric:
    """A metric that asks the judge a question about each row; see docs/custom-metrics.md.

    Args:
        name: of the metric.
        question: what is asked.
        columns: what the judge is shown of a row.
        scale: the labels with their meaning: `{0: "rude", 1: "polite"}`, `["fail", "pass"]`, `"pass/fail"`, `"0..10"`.
        better: which end of the scale is the better one.
        stage: the part of the system that it measures.
        examples: dicts with the columns, `reason` and `label`.
        language: in which question, scale and examples are written; None: that of the run.
    """

    name: str
    question: str
    columns: Sequence[str]
    scale: Any
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"
    examples: Sequence[Mapping[str, Any]] = ()
    language: str | None = None

    def definition(self) -> dict[str, Any]:
        """What `custom_metrics` says of it."""
        fields = {name: value for name, value in asdict(self).items() if name != "name"}
        return {**fields, "columns": _listed(self.columns), "examples": list(self.examples)}


class FunctionMetric:
    """A function as a metric; it can be called as before.

    Attributes:
        name: of the metric.
        function: the function itself.
    """

    def __init__(self, function: Callable[..., Any], name: str, definition: Mapping[str, Any]) -> None:
        self.function, self.name, self._definition = function, name, definition
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def definition(self) -> dict[str, Any]:
        """What `custom_metrics` says of it."""
        from rag_evaluator.metrics.own.function import FunctionName

        return {"function": FunctionName(self.function), **self._definition}


def metric(
    function: Callable[..., Any] | None = None,
    *,
    columns: Sequence[str] | None = None,
    range: tuple[float, float] = (0.0, 1.0),
    name: str | None = None,
    kind: Literal["judged", "continuous"] = "judged",
    better: Literal["higher", "lower"] = "higher",
    stage: Literal["retrieval", "generation"] = "generation",
) -> Any:
    """Makes a metric of a function of the row, which asks no judge.

    The function gives a number, true or false, or None where there is no score, or one of these with a reason, as a
    pair. It may be asynchronous. An error that it raises is the reason of a missing score.

    Args:
        columns: the columns that are its arguments; None takes the names of its parameters.
        range: the lowest and the highest value.
        name: of the metric; None takes the function's.
        kind: `continuous` for a number on a fine scale, `judged` for one of few values, such as true and false.
        better: which end of the range is the better one.
        stage: the part of the system that it measures.

    Examples:
        >>> @metric(columns=["response"])
        ... def short(response):
        ...     return len(response) < 200
        >>> RAGEvaluator({"metrics": ["faithfulness", short], "dataset": "data.jsonl"})
    """

    def made(function: Callable[..., Any]) -> FunctionMetric:
        taken = list(inspect.signature(function).parameters) if columns is None else _listed(columns)
        about = {"columns": taken, "range": list(range), "kind": kind, "better": better, "stage": stage}
        return FunctionMetric(function, name or str(getattr(function, "__name__", type(function).__name__)), about)

    return made if function is None else made(function)


def _listed(columns: Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)
