"""What is refused of a configuration's metrics before a model is loaded."""

import logging

from rag_evaluator.config import Config, hooks, requirements
from rag_evaluator.errors import ConfigError

from .chosen import chosen_under, names_in
from .definitions import check_functions
from .row import Metrics
from .table import canonical_name

logger = logging.getLogger(__name__)


def check_chosen(config: Config, metrics: Metrics) -> None:
    """Raises `ConfigError` for what cannot score here, and as `check_reported`; warns of what is not scored."""
    check_functions(config, metrics)
    check_packages(config, metrics)
    check_reranker(config, metrics)
    check_reported(config, metrics)
    if unused := [name for name in config.custom_metrics if name not in metrics]:
        logger.warning("custom_metrics has %s, which metrics does not: not scored", ", ".join(unused))


def check_reranker(config: Config, metrics: Metrics) -> None:
    """Raises `ConfigError` where a reranker is to decide and is not named, or cannot decide."""
    asking = [name for name, metric in metrics.items() if metric.reranker is not None]
    if not asking:
        return
    if "retrieval_recall" in asking:
        raise ConfigError(
            f"{config.place('retrieval', 'match')}: retrieval_recall looks for reference contexts among the retrieved "
            "ones, and a reranker says only whether a context answers the question. Remove retrieval_recall, or set "
            "retrieval.match to judge, exact or overlap."
        )
    if config.retrieval.reranker.model is None:
        raise ConfigError(
            f"{config.place('retrieval', 'match')}: retrieval.match is reranker, and no model is named. Give its "
            "folder: retrieval.reranker.model: /models/bge-reranker-v2-m3."
        )


def check_packages(config: Config, metrics: Metrics) -> None:
    """Raises `ConfigError` if a metric needs a package that is not installed."""
    for position, name in enumerate(config.metrics):
        if package := metrics[canonical_name(name) or name].missing_package:
            raise ConfigError(
                f"{config.place('metrics', position)}: metrics[{position}] is '{name}', which needs the package "
                f"{package}: pip install {package}. Or leave the metric out."
            )


def check_reported(config: Config, metrics: Metrics) -> None:
    """Raise `ConfigError` for thresholds and requirements that the metrics cannot have, and for keys of features."""
    for canonical, name in names_in(config, "thresholds", metrics).items():
        limit = config.thresholds[name]
        scale = metrics[canonical].scale
        if not scale.low <= limit <= scale.high:
            expected = f"expected a number from {scale.low:g} to {scale.high:g}."
            config.refuse(("thresholds", name), f"is {limit:g}, {expected}")
    for position, text in enumerate(config.require):
        from rag_evaluator.statistics import Scale, parse_rule

        if text in requirements():
            continue
        start = f"{config.place('require', position)}: 'require[{position}]'"
        try:
            rule = parse_rule(text)
            if rule.metric == "refusals":  # of all answers, whatever the metrics
                rule.refuse_senseless(Scale(better="lower"))
                continue
            rule.refuse_senseless(chosen_under(rule.metric, metrics, f"'{rule.metric}'").scale)
        except ConfigError as error:
            raise ConfigError(f"{start}: {error}") from None
    for check in hooks("check"):
        check(config)
