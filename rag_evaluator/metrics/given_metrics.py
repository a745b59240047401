"""Metrics given from Python: names, users' own, also those made with ragas; and models they hold."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import update_wrapper
from typing import Any, Literal

from rag_evaluator.config import Config
from rag_evaluator.errors import ConfigError
from rag_evaluator.hub import unwrapped
from rag_evaluator.ragas_library import BaseMetric

from .own.function import Function, FunctionName
from .own.ragas_object import is_ragas_object
from .table import canonical_name

# Any in this module: examples and values of rows.


@dataclass(frozen=True)
class CustomMetric:
    """A metric that asks the judge a question about each row; see docs/custom-metrics.md.

    Args:
        name: of the metric.
        question: what is asked, in the language of the run.
        columns: what the judge is shown of a row; `reference:optional` where the row has it.
        scale: the labels with their meaning: `{0: "rude", 1: "polite"}`, `["fail", "pass"]`, `"0..10"`.
        better: which end of the scale is the better one.
        stage: the part of the system that it measures.
        examples: dicts with the columns, `reason` and `label`.
    """

    name: str
    question: str
    columns: Sequence[str]
    scale: Any
    better: Literal["higher", "lower"] = "higher"
    stage: Literal["retrieval", "generation"] = "generation"
    examples: Sequence[Mapping[str, Any]] = ()

    def definition(self) -> dict[str, Any]:
        """Return what `custom_metrics` says of it."""
        fields = {name: value for name, value in asdict(self).items() if name != "name"}
        return {**fields, "columns": as_list(self.columns), "examples": list(self.examples)}


class FunctionMetric:
    """A function as a metric; it can be called as before.

    Attributes:
        name: of the metric.
        function: the function itself.
    """

    def __init__(self, function: Function, name: str, definition: Mapping[str, Any]) -> None:
        self.function = function
        self.name = name
        self._definition = definition
        update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def definition(self) -> dict[str, Any]:
        """Return what `custom_metrics` says of it."""
        return {"function": FunctionName(self.function), **self._definition}


def metric(
    function: Function | None = None,
    *,
    columns: Sequence[str] | None = None,
    range: tuple[float, float] = (0.0, 1.0),
    name: str | None = None,
    kind: Literal["judged", "continuous"] = "judged",
    better: Literal["higher", "lower"] = "higher",
    stage: Literal["retrieval", "generation"] = "generation",
) -> Any:
    """Make a metric of a function of the row, which asks no judge.

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

    def made(function: Function) -> FunctionMetric:
        taken = list(inspect.signature(function).parameters) if columns is None else as_list(columns)
        about = {"columns": taken, "range": list(range), "kind": kind, "better": better, "stage": stage}
        return FunctionMetric(function, name or str(getattr(function, "__name__", type(function).__name__)), about)

    return made if function is None else made(function)


@dataclass
class NamedMetric:
    """A row of `METRICS` as ragas' scripts have it: under a name of ragas, with options and models in the object.

    Attributes:
        name: a name of the row.
        options: those of `metric_options`.
        llm, embeddings: models that the object holds; None: those of the run.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    llm: Any = None
    embeddings: Any = None


OWN = (CustomMetric, FunctionMetric)


def as_list(metrics: Any) -> list[Any]:
    """The metrics, or columns, of whatever holds some: one, a list, an iterator. Any: users may give anything."""
    several = isinstance(metrics, Iterable) and not isinstance(metrics, str | Mapping)
    return list(metrics) if several else [metrics]


def metric_names(metrics: Sequence[Any]) -> list[Any]:
    """The names that metrics stand for; what is no metric stays, for the configuration to refuse.

    Raises `ConfigError` for ragas' own metrics: the scores would not be made with their settings.
    """
    return [_name(metric, f"metrics[{position}]") for position, metric in enumerate(metrics)]


def with_metrics(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in which metrics that were given as objects have names, and definitions if they are users' own.

    Raises `ConfigError`. What is no mapping stays, for the configuration to refuse.
    """
    metrics = as_list(config["metrics"])
    return {**config, "metrics": metric_names(metrics), **_sections(metrics, config)}


def with_own(config: Config, metrics: Sequence[Any]) -> Config:
    """The configuration with what objects say: definitions of users' own metrics, options. Raises `ConfigError`."""
    written = {"custom_metrics": config.custom_metrics, "metric_options": config.metric_options}
    return config.model_copy(update=_sections(metrics, written))


def _sections(metrics: Sequence[Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a configuration that say something of metrics, with what objects among these say."""
    sections: dict[str, dict[str, Any]] = {"custom_metrics": {}, "metric_options": {}}
    for position, metric in enumerate(metrics):
        if isinstance(metric, NamedMetric):
            rows = sections["metric_options"]
            name = canonical_name(metric.name) or metric.name
            row = metric.options
        elif isinstance(metric, OWN) or is_ragas_object(metric):
            row = metric.definition() if isinstance(metric, OWN) else {"metric": FunctionName(metric)}
            rows = sections["custom_metrics"]
            name = metric.name
        else:
            continue
        if rows.setdefault(name, dict(row)) != row:
            raise ConfigError(
                f"metrics[{position}] is another metric of the name '{name}', or has other options. A run scores a "
                "metric once: rename one, or make a run for each (rag_evaluator.ragas.evaluate does)."
            )
    for section, rows in sections.items():
        written = config.get(section) or {}
        if not isinstance(written, Mapping):
            sections[section] = written
            continue
        given = {name: row for name, row in rows.items() if row}
        for name in given:
            if name in written and written[name] != given[name]:
                raise ConfigError(f"{section}.{name}: metrics has another one of this name. Rename or remove one.")
        sections[section] = {**written, **given}
    return {section: rows for section, rows in sections.items() if rows}


def model_of(metrics: Sequence[Any], attribute: str, user_model: Any) -> Any:
    """The model that was given, else the one that metrics given as objects hold; None if there is neither.

    Args:
        metrics: a list of them.
        attribute: `llm` or `embeddings`.

    Raises `ConfigError` if there are several.
    """
    holders = [each for each in metrics if isinstance(each, NamedMetric | CustomMetric) or is_ragas_object(each)]
    held = [getattr(metric, attribute, None) for metric in holders]
    models = [model for model in map(unwrapped, (user_model, *held)) if model is not None]
    if any(model is not models[0] for model in models):
        raise ConfigError(
            f"metrics: the objects hold several models as {attribute}, or another than was given. One run has one."
        )
    return models[0] if models else None


def _name(metric: Any, place: str) -> Any:
    if isinstance(metric, (*OWN, NamedMetric)) or is_ragas_object(metric):
        return metric.name
    if inspect.isfunction(metric):
        raise ConfigError(
            f"{place} is the function {metric.__name__}. Make a metric of it with @metric(columns=[...], range=(0, 1))."
        )
    kind = metric if isinstance(metric, type) else type(metric)
    if issubclass(kind, NamedMetric):
        raise ConfigError(f"{place} is the class {kind.__name__}. Give an object: {kind.__name__}().")
    if kind.__module__.startswith("ragas.metrics.") or issubclass(kind, BaseMetric):
        known = canonical_name(kind.__name__)
        raise ConfigError(
            f"{place} is {kind.__name__} of ragas, whose models and settings are not read. "
            + (f"Give its name, '{known}'" if known else "See what takes its place")
            + ", or import it from rag_evaluator.ragas.metrics."
        )
    return metric
