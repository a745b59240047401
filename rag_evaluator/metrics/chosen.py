"""The metrics of a configuration: the chosen rows of `METRICS` with the options that it sets."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from rag_evaluator.config import Config
from rag_evaluator.config_sections import Section
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.metrics.definitions import own_metrics
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import METRICS, canonical_name, select_metrics
from rag_evaluator.origin import Key, explain


def chosen_metrics(config: Config) -> dict[str, Metric]:
    """The metrics under their canonical names, in the order given.

    Raises `ConfigError` for an unknown metric, and for options that a metric does not have.
    """
    metrics = select_metrics(config.metrics, config.place, own_metrics(config))
    written = _given_options(config, metrics)
    return {name: _with_options(config, name, metric, written) for name, metric in metrics.items()}


def for_metrics(config: Config, names: Sequence[str]) -> Config:
    """The configuration with other metrics, and without options and definitions of those that it had besides.

    Options of what is no metric stay, to be refused. Raises `ConfigError` for an unknown metric.
    """
    custom = own_metrics(config)
    chosen = select_metrics(list(names), config.place, custom)
    unused = {*METRICS, *custom}.difference(chosen)
    options = {name: row for name, row in config.metric_options.items() if (canonical_name(name) or name) not in unused}
    return config.model_copy(
        update={
            "metrics": list(names),
            "metric_options": options,
            "custom_metrics": {name: row for name, row in config.custom_metrics.items() if name in chosen},
        }
    )


def _given_options(config: Config, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Canonical name -> the name under which `metric_options` has its options."""
    written: dict[str, str] = {}
    for name in config.metric_options:
        start = f"{config.place('metric_options', name)}: 'metric_options.{name}'"
        canonical = canonical_name(name) or name
        if canonical not in metrics and canonical_name(name) is not None:
            raise ConfigError(
                f"{start}: {canonical} is not one of the metrics of this run. Add it, or remove the line."
            )
        if canonical not in metrics:
            raise ConfigError(f"{start} is not one of the metrics of this run.{did_you_mean(name, metrics)}")
        other = written.setdefault(canonical, name)
        if other != name:
            raise ConfigError(f"{start} and '{other}' are the same metric. Remove one of them.")
        metric = metrics[canonical]
        if metric.section:
            raise ConfigError(f"{start}: the options of {canonical} are in the section '{metric.section}'.")
        if metric.settings is None:
            raise ConfigError(f"{start}: {canonical} has no options. Remove the line.")
    return written


def _with_options(config: Config, name: str, metric: Metric, written: Mapping[str, str]) -> Metric:
    if metric.section:
        return metric.with_options(getattr(config, metric.section))
    if metric.settings is None or name not in written:
        return metric
    return metric.with_options(_valid(config, written[name], metric.settings))


def _valid(config: Config, name: str, settings: type[Section]) -> Section:
    """The options of a metric. Raises `ConfigError` with the line of each wrong one."""
    place = ("metric_options", name)
    values: Any = config.metric_options[name]
    try:
        return settings.model_validate(values or {})
    except ValidationError as error:
        details = [cast(ErrorDetails, {**detail, "loc": (*place, *detail["loc"])}) for detail in error.errors()]
        known: dict[Key, bool] = {(*place, option): True for option in settings.model_fields}
        raise ConfigError("\n".join(explain(details, config.origin, known))) from None
