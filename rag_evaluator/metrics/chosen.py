"""The metrics of a configuration: the chosen rows of `METRICS` with their options."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from rag_evaluator.config import BY_JUDGE, BY_WORDS, Config
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.verifiers import Calibration

from .definitions import own_metrics, validated
from .row import Metric, Metrics
from .table import METRICS, canonical_name, select_metrics


def chosen_metrics(config: Config) -> dict[str, Metric]:
    """The metrics under their canonical names, in the order given.

    Raises `ConfigError` for an unknown metric, and for options that a metric does not have.
    """
    metrics = select_metrics(config.metrics, config.place, own_metrics(config))
    written = option_names(config, metrics)
    return _calibrated(config, {name: _with_options(config, name, row, written) for name, row in metrics.items()})


def for_metrics(config: Config, names: Sequence[str]) -> Config:
    """The configuration with other metrics, and without options and definitions of those that it had besides.

    Options of what is no metric stay, to be refused. Raises `ConfigError` for an unknown metric.
    """
    chosen = select_metrics(names, config.place, own_metrics(config))
    unused = {*METRICS, *config.custom_metrics}.difference(chosen)
    options = {name: row for name, row in config.metric_options.items() if (canonical_name(name) or name) not in unused}
    custom = {name: row for name, row in config.custom_metrics.items() if name in chosen}
    return config.model_copy(update={"metrics": list(names), "metric_options": options, "custom_metrics": custom})


def option_names(config: Config, metrics: Metrics) -> dict[str, str]:
    """Canonical name -> the name under which `metric_options` has its options.

    Raises `ConfigError` for options of a metric that is not chosen, or has none there.
    """
    written = names_in(config, "metric_options", metrics)
    for canonical, name in written.items():
        start = f"{config.place('metric_options', name)}: 'metric_options.{name}'"
        if metrics[canonical].section:
            raise ConfigError(f"{start}: the options of {canonical} are in the section '{metrics[canonical].section}'.")
        if metrics[canonical].settings is None:
            raise ConfigError(f"{start}: {canonical} has no options. Remove the line.")
    return written


def names_in(config: Config, section: str, metrics: Metrics) -> dict[str, str]:
    """Canonical name -> the name under which a section has a metric. Raises `ConfigError` for one that is not chosen,
    or is there under two names."""
    written: dict[str, str] = {}
    for name in getattr(config, section):
        start = f"{config.place(section, name)}: '{section}.{name}'"
        chosen_under(name, metrics, start)
        other = written.setdefault(canonical_name(name) or name, name)
        if other != name:
            raise ConfigError(f"{start} and '{other}' are the same metric. Remove one of them.")
    return written


def _with_options(config: Config, name: str, metric: Metric, written: Mapping[str, str]) -> Metric:
    if metric.section:
        return metric.with_options(getattr(config, metric.section))
    if metric.settings is not None and name in written:
        place = ("metric_options", written[name])
        options = validated(config, place, config.metric_options[written[name]], metric.settings)
        metric = metric.with_options(options)
        if "verdicts" in metric.options and config.verifier.by_judge:
            key = f"metric_options.{written[name]}.verdicts"
            raise ConfigError(
                f"{config.place(*place, 'verdicts')}: '{key}' needs a verifier, and verifier.model is {BY_JUDGE}. Set "
                f"verifier.model to a folder or {BY_WORDS}, or remove this."
            )
    return metric.with_verifier(config.verifier) if metric.verifier else metric


def _calibrated(config: Config, metrics: dict[str, Metric]) -> dict[str, Metric]:
    """The metrics, with what labels say of the sentences of one. Raises `ConfigError`."""
    if config.verifier.calibration is None:
        return metrics
    calibration = Calibration.read(config.verifier.calibration)
    if calibration.metric not in metrics:
        raise ConfigError(
            f"{config.place('verifier', 'calibration')}: {config.verifier.calibration} was made for "
            f"{calibration.metric}, which is none of the metrics of this run. Add it, or remove the key."
        )
    metric = metrics[calibration.metric]
    options = {**metric.options, "calibration": asdict(calibration.combination)}
    return {**metrics, calibration.metric: replace(metric, options=options)}


def chosen_under(name: str, metrics: Metrics, start: str) -> Metric:
    """A metric of this run by any of its names; `start` is how the error begins."""
    canonical = canonical_name(name)
    metric = metrics.get(canonical or name)
    if metric is None:
        advice = " Add it, or remove the line." if canonical else did_you_mean(name, metrics)
        raise ConfigError(f"{start} is not one of the metrics of this run.{advice}")
    return metric
