"""Metrics that users made with ragas: `DiscreteMetric`, `NumericMetric`, decorators, subclasses of `MetricWithLLM`."""

import copy
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics.row import Metric
from rag_evaluator.ragas_library import (
    MetricResult,
    MetricWithEmbeddings,
    MetricWithLLM,
    SimpleBaseMetric,
    SimpleLLMMetric,
    SingleTurnMetric,
    SingleTurnSample,
    base,
)
from rag_evaluator.statistics import Scale

from .function import as_result, digest_of_source, find_object

# Any in this module: objects and values of users' own classes.

OldMetric = base.Metric
NAMED = (("fail", "pass"), ("no", "yes"), ("false", "true"))
"""Pairs of values of which everybody knows the better one, the worse one first."""


def is_ragas_object(metric: Any) -> bool:
    """Whether it is an object of one of ragas' classes for metrics of one's own, or of a subclass that a user wrote."""
    if isinstance(metric, type) or not isinstance(metric, SimpleBaseMetric | OldMetric):
        return False
    is_builtin = type(metric).__module__.startswith("ragas.metrics.") and isinstance(metric, OldMetric)
    return not is_builtin and not type(metric).__module__.startswith("ragas.metrics.collections")


def row_of_object(name: str, canonical: Callable[[str], str]) -> Metric:
    """The row of an object by its name. Raises `ConfigError`, which says how the metric can be made another way.

    Args:
        canonical: the column that is meant by the object's own name of one.
    """
    metric = find_object(name)
    if not is_ragas_object(metric):
        raise ConfigError(
            f"'{name}', which is no metric made with ragas: expected an object of DiscreteMetric, NumericMetric or a "
            "subclass of MetricWithLLM."
        )
    if isinstance(metric, OldMetric):
        names, optional, ends = _of_subclass(metric)
        values: dict[str, float] = {}
        asks = isinstance(metric, MetricWithLLM)
    else:
        parameters = _parameters(metric)
        optional = []
        names = [name for name in parameters if name != "llm"]
        values, ends = _scale(metric)
        asks = isinstance(metric, SimpleLLMMetric) or "llm" in parameters or hasattr(metric, "llm")
    if not names:
        raise ConfigError(
            f"'{metric.name}' reads no column. Name them in its prompt as {{user_input}} or {{response}}, as "
            "parameters of the function, or in _required_columns={MetricType.SINGLE_TURN: {'user_input', 'response'}}."
        )
    columns = {name: canonical(name) for name in names}
    return Metric(
        f"{__name__}:ObjectScore",
        list(dict.fromkeys(columns.values())),
        optional=optional,
        judge=asks,
        options={"object": name, "columns": columns, "values": values, "range": list(ends)},
        scale=Scale(*ends),
    )


def _parameters(metric: SimpleBaseMetric) -> list[str]:
    if isinstance(metric, SimpleLLMMetric):
        return list(dict.fromkeys(metric.get_variables()))
    function = getattr(metric, "_func", None) or metric.ascore  # `_func`: what ragas' decorators keep
    return list(inspect.signature(function).parameters)


def _scale(metric: SimpleBaseMetric) -> tuple[dict[str, float], tuple[float, float]]:
    """The number of each value, and the range."""
    allowed = metric.allowed_values
    if isinstance(allowed, tuple | range) and len(allowed) >= 2:
        return {}, (float(min(allowed)), float(max(allowed)))
    words = [str(value).strip().lower() for value in allowed] if isinstance(allowed, list) else []
    for pair in NAMED:
        if sorted(words) == sorted(pair):
            return dict(zip(pair, (0.0, 1.0), strict=True)), (0.0, 1.0)
    with suppress(ValueError):
        numbers = {word: float(word) for word in words}
        if len(numbers) > 1 and all(map(math.isfinite, numbers.values())):
            return numbers, (min(numbers.values()), max(numbers.values()))
    raise ConfigError(
        f"'{metric.name}' has allowed_values={allowed!r}, and nothing says which is better. Make a CustomMetric of it, "
        f"with the values from the worst to the best: CustomMetric({metric.name!r}, question=..., columns=[...], "
        "scale=[worst, ..., best])."
    )


def _of_subclass(metric: Any) -> tuple[list[str], list[str], tuple[float, float]]:
    """The columns that it needs, those that it also takes, and its range."""
    if not isinstance(metric, SingleTurnMetric) or isinstance(metric, MetricWithEmbeddings):
        raise ConfigError(
            f"'{metric.name}' ({type(metric).__name__}) scores chats of several turns, or compares embeddings. Make a "
            "function with @metric of it: docs/custom-metrics.md."
        )
    with_optional = metric.get_required_columns(with_optional=True).get("SINGLE_TURN", set())
    required = metric.required_columns.get("SINGLE_TURN", set())
    ends = getattr(metric, "allowed_values", None) or (0.0, 1.0)
    return sorted(required), sorted(with_optional - required), (float(min(ends)), float(max(ends)))


def object_digest(name: str) -> str:
    """Digest of what the scores of an object depend on: its fields, and the text of its class or function."""
    metric = find_object(name)
    if isinstance(metric, SimpleLLMMetric):
        prompt = metric.prompt
        parts = [getattr(prompt, "instruction", prompt), getattr(prompt, "examples", ()), metric.allowed_values]
        return digest_of_source(type(metric), parts)
    if isinstance(metric, SimpleBaseMetric):
        return digest_of_source(getattr(metric, "_func", None) or type(metric), [metric.allowed_values])
    prompts = metric.get_prompts() if isinstance(metric, MetricWithLLM) else {}
    return digest_of_source(type(metric), [str(prompts[key]) for key in sorted(prompts)])


class ObjectScore:
    """The value of an object of ragas, which asks the judge of the run whatever model it holds itself.

    Args:
        object: `module:name` of the object.
        columns: its own name of a column -> the column.
        values: value in lower case -> number; empty: it gives numbers.
        range: the lowest and the highest number.
        llm: a judge as ragas sees one; None if it asks none.
    """

    def __init__(
        self,
        object: str,
        columns: Mapping[str, str],
        values: Mapping[str, float],
        range: Sequence[float],
        llm: Any = None,
    ) -> None:
        self.object = find_object(object)
        self.columns = columns
        self.values = values
        self.range = range
        self.llm = llm

    async def ascore(self, **row: Any) -> MetricResult:
        """Raises `UndefinedScoreError` where the value is none of the scale, and what the object raises."""
        metric: Any = copy.copy(self.object)
        if hasattr(metric, "llm"):
            metric.llm = self.llm  # the judge of this row
        if isinstance(metric, SingleTurnMetric):
            return as_result(await metric._single_turn_ascore(SingleTurnSample(**row), []), None, self.range)
        arguments = {name: row[column] for name, column in self.columns.items()}
        if isinstance(metric, SimpleLLMMetric) or "llm" in _parameters(metric):
            arguments["llm"] = self.llm
        result = await metric.ascore(**arguments)
        value = result.value
        reason = result.reason
        if self.values:
            value = self.values.get(str(value).strip().lower())
            reason = reason or f"it gave {result.value!r:.40}" if value is None else reason
        return as_result(value, reason, self.range)
