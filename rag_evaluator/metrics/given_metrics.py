"""Metrics given from Python: names, rows of `METRICS`, ragas' classes and objects, users' own; and models they hold."""

from collections.abc import Iterable, Mapping, Sequence
from inspect import isfunction
from typing import Any

from ragas.metrics.base import SimpleBaseMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.config import Config
from rag_evaluator.errors import ConfigError
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.own_metrics import CustomMetric, FunctionMetric
from rag_evaluator.metrics.table import METRICS, canonical_name

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
        if not isinstance(metric, OWN):
            continue
        if definitions.setdefault(metric.name, metric.definition()) != metric.definition():
            raise ConfigError(f"metrics[{position}] is another metric of the name '{metric.name}'. Rename one.")
    return definitions


def with_metrics(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration in which metrics that were given as objects have names, and definitions if they are users' own.

    Raises `ConfigError`. What is no mapping stays, for the configuration to refuse.
    """
    metrics, there = as_list(config["metrics"]), config.get("custom_metrics") or {}
    all_own = _joined(there, own_definitions(metrics)) if isinstance(there, Mapping) else there
    return {**config, "metrics": metric_names(metrics), **({"custom_metrics": all_own} if all_own else {})}


def with_own(config: Config, metrics: Sequence[Any]) -> Config:
    """The configuration with the definitions of metrics that are users' own. Raises `ConfigError`."""
    return config.model_copy(update={"custom_metrics": _joined(config.custom_metrics, own_definitions(metrics))})


def _joined(there: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    for name in own:
        if name in there and there[name] != own[name]:
            raise ConfigError(f"custom_metrics.{name}: metrics has another one of this name. Rename one.")
    return {**there, **own}


def model_of(metrics: Sequence[Any], attribute: str, given: Any) -> Any:
    """The model that was given, else the one that metrics given as objects hold; None if there is neither.

    Args:
        metrics: a list of them.
        attribute: `llm` or `embeddings`.

    Raises `ConfigError` if there are several.
    """
    held = [getattr(m, attribute) for m in metrics if isinstance(m, BaseMetric) and hasattr(m, attribute)]
    models = [*([] if given is None else [given]), *held]
    if any(model is not models[0] for model in models):
        raise ConfigError(
            f"metrics: the objects hold several models as {attribute}, or another than was given. One run has one."
        )
    return models[0] if models else None


def _name(given: Any, place: str) -> Any:
    if isinstance(given, Metric):
        name = next((name for name, row in METRICS.items() if row == given), None)
        if name is None:
            raise ConfigError(f"{place} is a Metric that METRICS does not have. Give one of its rows.")
        return name
    if isinstance(given, OWN):
        return given.name
    if isfunction(given):
        raise ConfigError(
            f"{place} is the function {given.__name__}. Make a metric of it with @metric(columns=[...], range=(0, 1))."
        )
    kind = given if isinstance(given, type) else type(given)
    if not issubclass(kind, BaseMetric):
        if issubclass(kind, SimpleBaseMetric):
            raise ConfigError(
                f"{place} is a {kind.__name__} of ragas, a metric of your own with your own prompt. Make a "
                "CustomMetric or a function with @metric of it: docs/custom-metrics.md."
            )
        if kind.__module__.startswith("ragas.metrics."):
            known = canonical_name(kind.__name__)
            advice = (
                f"Give its name, '{known}', or the class of ragas.metrics.collections."
                if known
                else f"It is not a metric here. Known: {', '.join(METRICS)}."
            )
            raise ConfigError(f"{place} is {kind.__name__} of ragas' older metrics. {advice}")
        return given
    name = canonical_name(kind.__name__) if kind.__module__.startswith("ragas.metrics.collections.") else None
    if name is None:
        raise ConfigError(f"{place} is {kind.__name__}, which is not a metric here. Known: {', '.join(METRICS)}.")
    if isinstance(given, BaseMetric):
        _refuse_settings(given, name, place)
    return name


def _refuse_settings(given: BaseMetric, name: str, place: str) -> None:
    """ConfigError if the object is not as its class makes it: prompts, strictness, mode and the like."""
    metric = METRICS[name]
    models = {model: getattr(given, model) for model in MODELS if hasattr(given, model)}
    usual = vars(type(given)(**models, **metric.options))
    changed = [key for key, value in vars(given).items() if _comparable(value) != _comparable(usual.get(key))]
    if not changed:
        return
    offered = [key for key in changed if metric.settings is not None and key in metric.settings.model_fields]
    options = ", ".join(f"{key!r}: {getattr(given, key)!r}" for key in offered)
    advice = f" metric_options={{'{name}': {{{options}}}}} sets {' and '.join(offered)}." if offered else ""
    raise ConfigError(
        f"{place}: this {type(given).__name__} has its own {', '.join(changed)}, and would be scored without. Give "
        f"'{name}' for the usual settings; other prompts are packs in prompts_dir.{advice}"
    )


def _comparable(value: Any) -> Any:
    """A prompt by what it holds, a bound method by its function, a model as it is."""
    if isinstance(value, BasePrompt):
        return type(value), {key: repr(part) for key, part in vars(value).items()}
    return getattr(value, "__func__", value)
