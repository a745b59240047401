"""Checks what the configuration says of scores that are there: thresholds, requirements, a certificate."""

from collections.abc import Mapping
from pathlib import Path

from rag_evaluator.config import Config
from rag_evaluator.errors import ConfigError, ResultsError, did_you_mean
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import canonical_name


def check_reported(config: Config, metrics: Mapping[str, Metric]) -> None:
    """Raises `ConfigError` for a threshold or a requirement that the chosen metrics cannot have, no certificate."""
    seen: dict[str, str] = {}  # canonical name -> as it was written
    for name, limit in config.thresholds.items():
        start = f"{config.place('thresholds', name)}: 'thresholds.{name}'"
        low, high = _chosen(name, metrics, start).range
        if not low <= limit <= high:
            raise ConfigError(f"{start} is {limit:g}, expected a number from {low:g} to {high:g}.")
        other = seen.setdefault(canonical_name(name) or name, name)
        if other != name:
            raise ConfigError(f"{start} and '{other}' are the same metric. Remove one of them.")
    if config.require:
        _check_rules(config, metrics)
    if config.certificate is not None:
        _check_certificate(config.certificate, config.place("certificate"))


def _check_certificate(path: Path, place: str) -> None:
    from rag_evaluator.results.certificate import read_certificate  # imports numpy

    try:
        read_certificate(path)
    except ResultsError as error:
        raise ConfigError(f"{place}: 'certificate': {error}") from None


def _check_rules(config: Config, metrics: Mapping[str, Metric]) -> None:
    from rag_evaluator.trust.gate import parse_rule, refuse_senseless  # imports numpy

    for position, text in enumerate(config.require):
        start = f"{config.place('require', position)}: 'require[{position}]'"
        try:
            rule = parse_rule(text)
        except ConfigError as error:
            raise ConfigError(f"{start}: {error}") from None
        metric = _chosen(rule.metric, metrics, f"{start}: '{rule.metric}'")
        try:
            refuse_senseless(rule, metric.scale)
        except ConfigError as error:
            raise ConfigError(f"{start}: {error}") from None


def _chosen(name: str, metrics: Mapping[str, Metric], start: str) -> Metric:
    """A metric of this run by any of its names; `start` is how the error begins."""
    metric = metrics.get(canonical_name(name) or name)
    if metric is None:
        raise ConfigError(f"{start} is not one of the metrics of this run.{did_you_mean(name, metrics)}")
    return metric
