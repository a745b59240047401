"""Metrics given from Python: names, rows of `METRICS`, ragas' classes and objects, users' own; and models they hold."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import update_wrapper
from inspect import isfunction
from typing import Any, Literal

from rag_evaluator.config.schema import Config
from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.own.ragas_object import definition_of, facts_of, is_ragas_object
from rag_evaluator.metrics.table import METRICS, canonical_name
from rag_evaluator.models.embeddings import unwrapped
from rag_evaluator.models.ragas_library import BaseMetric, BasePrompt

# Any in this module: examples and values of rows.


@dataclass(frozen=True)
class CustomMetric:
    """A metric that asks the judge a question about each row; see docs/custom-metrics.md.

    Args:
        name: of the metric.
        question: what is asked.
        columns: what the judge is shown of a row; `reference:optional` where the row has it.
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


MODELS = ("llm", "embeddings")
OWN = (CustomMetric, FunctionMetric)


def as_list(metrics: Any) -> list[Any]:
    """The metrics of whatever holds some: one, a list, an iterator. Any: users may give anything."""
    several = isinstance(metrics, Iterable) and not isinstance(metrics, str | Mapping)
    return list(metrics) if several else [metrics]


def metric_names(metrics: Sequence[Any]) -> list[Any]:
    """The names that metrics stand for; what is neither row nor ragas metric stays, for the configuration to refuse.

    Raises `ConfigError` for an object with settings of its own: the scores would not be made with them.
    """
    return [_name(metric, f"metrics[{position}]") for position, metric in enumerate(metrics)]


def own_definitions(metrics: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """What `custom_metrics` says of metrics that are users' own, by name. Raises `ConfigError` for two of one name."""
    definitions: dict[str, dict[str, Any]] = {}
    for position, metric in enumerate(metrics):
        if not (isinstance(metric, OWN) or is_ragas_object(metric)):
            continue
        definition = metric.definition() if isinstance(metric, OWN) else definition_of(metric)
        if definitions.setdefault(metric.name, definition) != definition:
            raise ConfigError(f"metrics[{position}] is another metric of the name '{metric.name}'. Rename one.")
    return definitions


def with_metrics(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in which metrics that were given as objects have names, and definitions if they are users' own.

    Raises `ConfigError`. What is no mapping stays, for the configuration to refuse.
    """
    metrics, names = as_list(config["metrics"]), metric_names(as_list(config["metrics"]))
    of_objects = {"custom_metrics": own_definitions(metrics), "metric_options": _options(metrics)}
    joined = {}
    for section, rows in of_objects.items():
        written = config.get(section) or {}
        joined[section] = _joined(section, written, rows) if isinstance(written, Mapping) else written
    return {**config, "metrics": names, **{section: rows for section, rows in joined.items() if rows}}


def with_own(config: Config, metrics: Sequence[Any]) -> Config:
    """The configuration with what objects say: definitions of users' own metrics, options. Raises `ConfigError`."""
    custom = _joined("custom_metrics", config.custom_metrics, own_definitions(metrics))
    options = _joined("metric_options", config.metric_options, _options(metrics))
    return config.model_copy(update={"custom_metrics": custom, "metric_options": options})


def _options(metrics: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """What `metric_options` says of metrics that hold options. Raises `ConfigError` for two kinds of one metric."""
    options: dict[str, dict[str, Any]] = {}
    for position, metric in enumerate(metrics):
        if not isinstance(metric, NamedMetric):
            continue
        name = canonical_name(metric.name) or metric.name
        if options.setdefault(name, dict(metric.options)) != metric.options:
            raise ConfigError(
                f"metrics[{position}] is {name} with other options than another of the metrics. A run scores a metric "
                "once: make a run for each, or call rag_evaluator.ragas.evaluate, which does."
            )
    return {name: row for name, row in options.items() if row}


def _joined(section: str, written: Mapping[str, Any], of_objects: Mapping[str, Any]) -> dict[str, Any]:
    for name in of_objects:
        if name in written and written[name] != of_objects[name]:
            raise ConfigError(f"{section}.{name}: metrics has another one of this name. Rename or remove one.")
    return {**written, **of_objects}


def model_of(metrics: Sequence[Any], attribute: str, user_model: Any) -> Any:
    """The model that was given, else the one that metrics given as objects hold; None if there is neither.

    Args:
        metrics: a list of them.
        attribute: `llm` or `embeddings`.

    Raises `ConfigError` if there are several.
    """
    holders = [m for m in metrics if isinstance(m, BaseMetric | NamedMetric | CustomMetric) or is_ragas_object(m)]
    held = [getattr(metric, attribute, None) for metric in holders]
    models = [model for model in map(unwrapped, (user_model, *held)) if model is not None]
    if any(model is not models[0] for model in models):
        raise ConfigError(
            f"metrics: the objects hold several models as {attribute}, or another than was given. One run has one."
        )
    return models[0] if models else None


def _name(metric: Any, place: str) -> Any:
    if isinstance(metric, Metric):
        name = next((name for name, row in METRICS.items() if row == metric), None)
        if name is None:
            raise ConfigError(f"{place} is a Metric that METRICS does not have. Give one of its rows.")
        return name
    if isinstance(metric, (*OWN, NamedMetric)):
        return metric.name
    if is_ragas_object(metric):
        try:
            facts_of(metric)
        except ConfigError as error:
            raise ConfigError(f"{place} is {error}") from None
        return metric.name
    if isfunction(metric):
        raise ConfigError(
            f"{place} is the function {metric.__name__}. Make a metric of it with @metric(columns=[...], range=(0, 1))."
        )
    kind = metric if isinstance(metric, type) else type(metric)
    if issubclass(kind, NamedMetric):
        raise ConfigError(f"{place} is the class {kind.__name__}. Give an object: {kind.__name__}().")
    if not issubclass(kind, BaseMetric):
        if kind.__module__.startswith("ragas.metrics."):
            known = canonical_name(kind.__name__)
            advice = (
                f"Give its name, '{known}', or import it from rag_evaluator.ragas.metrics."
                if known
                else "Import it from rag_evaluator.ragas.metrics, which has it or says what to use."
            )
            raise ConfigError(f"{place} is {kind.__name__} of ragas' older metrics. {advice}")
        return metric
    name = canonical_name(kind.__name__) if kind.__module__.startswith("ragas.metrics.collections.") else None
    if name is None:
        raise ConfigError(f"{place} is {kind.__name__}, which is not a metric here. Known: {', '.join(METRICS)}.")
    if isinstance(metric, BaseMetric):
        _refuse_settings(metric, name, place)
    return name


def _refuse_settings(metric: BaseMetric, name: str, place: str) -> None:
    """ConfigError if the object is not as its class makes it: prompts, strictness, mode and the like."""
    row = METRICS[name]
    models = {model: getattr(metric, model) for model in MODELS if hasattr(metric, model)}
    usual = vars(type(metric)(**models, **row.options))
    changed = [key for key, value in vars(metric).items() if _comparable(value) != _comparable(usual.get(key))]
    if not changed:
        return
    offered = [key for key in changed if row.settings is not None and key in row.settings.model_fields]
    options = ", ".join(f"{key!r}: {getattr(metric, key)!r}" for key in offered)
    advice = f" metric_options={{'{name}': {{{options}}}}} sets {' and '.join(offered)}." if offered else ""
    raise ConfigError(
        f"{place}: this {type(metric).__name__} has its own {', '.join(changed)}, and would be scored without. Give "
        f"'{name}' for the usual settings; other prompts are packs in prompts_dir.{advice}"
    )


def _comparable(value: Any) -> Any:
    """A prompt by what it holds, a bound method by its function, a model as it is."""
    if isinstance(value, BasePrompt):
        return type(value), {key: repr(part) for key, part in vars(value).items()}
    return getattr(value, "__func__", value)
