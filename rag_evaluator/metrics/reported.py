"""Checks what the configuration says of scores that are there: thresholds and requirements."""

from collections.abc import Mapping

from rag_evaluator.config import Config
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.metrics.table import Metric, canonical_name


def check_reported(config: Config, metrics: Mapping[str, Metric]) -> None:
    """Raises `ConfigError` for a threshold or a requirement that the chosen metrics cannot have."""
    for name, limit in config.thresholds.items():
        place, what = config.place("thresholds", name), f"thresholds: '{name}'"
        low, high = _chosen(name, metrics, place, what).range
        if not low <= limit <= high:
            raise ConfigError(f"{place}: {what} is {limit:g}, expected a number from {low:g} to {high:g}.")
    if config.require:
        _check_rules(config, metrics)


def _check_rules(config: Config, metrics: Mapping[str, Metric]) -> None:
    from rag_evaluator.trust.gate import parse_rule, refuse_senseless  # imports numpy

    for position, text in enumerate(config.require):
        place = config.place("require", position)
        try:
            rule = parse_rule(text)
            refuse_senseless(rule, _chosen(rule.metric, metrics, place, f"require[{position}]").scale)
        except ConfigError as error:
            raise ConfigError(str(error) if str(error).startswith(place) else f"{place}: {error}") from None


def _chosen(name: str, metrics: Mapping[str, Metric], place: str, what: str) -> Metric:
    metric = metrics.get(canonical_name(name) or "")
    if metric is None:
        raise ConfigError(f"{place}: {what} is not one of the metrics of this run.{did_you_mean(name, metrics)}")
    return metric
