"""The metrics of a configuration: the chosen rows of `METRICS` with their options, and what their scores depend on."""

import json
import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import BY_JUDGE, Config, find_language, hooks
from rag_evaluator.errors import ConfigError, did_you_mean
from rag_evaluator.files import short_digest
from rag_evaluator.hub import as_line
from rag_evaluator.metrics.definitions import check_functions, own_metrics, validated
from rag_evaluator.metrics.own.function import source_digest
from rag_evaluator.metrics.row import Metric
from rag_evaluator.metrics.table import METRICS, canonical_name, select_metrics
from rag_evaluator.metrics.work_checks import CHECKED, VERSION
from rag_evaluator.resources import __version__
from rag_evaluator.verifiers import reranker_of

if TYPE_CHECKING:
    from rag_evaluator.embeddings import EmbeddingsSource
    from rag_evaluator.judge import LazyJudge
    from rag_evaluator.prompts import Prompts
    from rag_evaluator.verifiers import VerifierSource

logger = logging.getLogger(__name__)


def chosen_metrics(config: Config) -> dict[str, Metric]:
    """The metrics under their canonical names, in the order given.

    Raises `ConfigError` for an unknown metric, and for options that a metric does not have.
    """
    metrics = select_metrics(config.metrics, config.place, own_metrics(config))
    written = option_names(config, metrics)
    return {name: _with_options(config, name, metric, written) for name, metric in metrics.items()}


def for_metrics(config: Config, names: Sequence[str]) -> Config:
    """The configuration with other metrics, and without options and definitions of those that it had besides.

    Options of what is no metric stay, to be refused. Raises `ConfigError` for an unknown metric.
    """
    chosen = select_metrics(names, config.place, own_metrics(config))
    unused = {*METRICS, *config.custom_metrics}.difference(chosen)
    options = {name: row for name, row in config.metric_options.items() if (canonical_name(name) or name) not in unused}
    custom = {name: row for name, row in config.custom_metrics.items() if name in chosen}
    return config.model_copy(update={"metrics": list(names), "metric_options": options, "custom_metrics": custom})


def option_names(config: Config, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Canonical name -> the name under which `metric_options` has its options.

    Raises `ConfigError` for options of a metric that is not chosen, or has none there.
    """
    written = _names_in(config, "metric_options", metrics)
    for canonical, name in written.items():
        start = f"{config.place('metric_options', name)}: 'metric_options.{name}'"
        if metrics[canonical].section:
            raise ConfigError(f"{start}: the options of {canonical} are in the section '{metrics[canonical].section}'.")
        if metrics[canonical].settings is None:
            raise ConfigError(f"{start}: {canonical} has no options. Remove the line.")
    return written


def _names_in(config: Config, section: str, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Canonical name -> the name under which a section has a metric. Raises `ConfigError` for one that is not chosen,
    or is there under two names."""
    written: dict[str, str] = {}
    for name in getattr(config, section):
        start = f"{config.place(section, name)}: '{section}.{name}'"
        _chosen(name, metrics, start)
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
                "verifier.model to a folder, or remove this."
            )
    return metric.with_verifier(config.verifier) if metric.verifier else metric


def check_chosen(config: Config, metrics: Mapping[str, Metric]) -> None:
    """Raises `ConfigError` for what cannot score here, and as `check_reported`; warns of what is not scored."""
    check_functions(config, metrics)
    check_packages(config, metrics)
    check_reranker(config, metrics)
    check_reported(config, metrics)
    if unused := [name for name in config.custom_metrics if name not in metrics]:
        logger.warning("custom_metrics has %s, which metrics does not: not scored", ", ".join(unused))


def check_reranker(config: Config, metrics: Mapping[str, Metric]) -> None:
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


def check_packages(config: Config, metrics: Mapping[str, Metric]) -> None:
    """Raises `ConfigError` if a metric needs a package that is not installed."""
    for position, name in enumerate(config.metrics):
        if package := metrics[canonical_name(name) or name].missing_package:
            raise ConfigError(
                f"{config.place('metrics', position)}: metrics[{position}] is '{name}', which needs the package "
                f"{package}: pip install {package}. Or leave the metric out."
            )


def check_reported(config: Config, metrics: Mapping[str, Metric]) -> None:
    """Raise `ConfigError` for thresholds and requirements that the metrics cannot have, and for keys of features."""
    for canonical, name in _names_in(config, "thresholds", metrics).items():
        limit = config.thresholds[name]
        scale = metrics[canonical].scale
        if not scale.low <= limit <= scale.high:
            place = f"{config.place('thresholds', name)}: 'thresholds.{name}'"
            raise ConfigError(f"{place} is {limit:g}, expected a number from {scale.low:g} to {scale.high:g}.")
    for position, text in enumerate(config.require):
        from rag_evaluator.statistics import parse_rule

        start = f"{config.place('require', position)}: 'require[{position}]'"
        try:
            rule = parse_rule(text)
            rule.refuse_senseless(_chosen(rule.metric, metrics, f"'{rule.metric}'").scale)
        except ConfigError as error:
            raise ConfigError(f"{start}: {error}") from None
    for check in hooks("check"):
        check(config)


def _chosen(name: str, metrics: Mapping[str, Metric], start: str) -> Metric:
    """A metric of this run by any of its names; `start` is how the error begins."""
    canonical = canonical_name(name)
    metric = metrics.get(canonical or name)
    if metric is None:
        advice = " Add it, or remove the line." if canonical else did_you_mean(name, metrics)
        raise ConfigError(f"{start} is not one of the metrics of this run.{advice}")
    return metric


def signatures(
    metrics: Mapping[str, Metric],
    language: str,
    prompts: "Prompts",
    judge: "LazyJudge",
    embeddings: "EmbeddingsSource",
    verifier: "VerifierSource",
) -> dict[str, str]:
    """Metric -> one line: equal lines and equal input mean comparable numbers.

    Models are looked for only where a metric uses them.
    """
    lines = {}
    for name, metric in metrics.items():
        parts: dict[str, Any] = {"metric": name, "rag-evaluator": __version__, "ragas": version("ragas")}
        if metric.prompts or metric.words:
            parts["language"] = find_language(language).name
        if metric.options:
            parts["options"] = json.dumps(metric.options, sort_keys=True, ensure_ascii=False)
        if "function" in metric.options:
            parts["source"] = source_digest(metric.options["function"])
        if "object" in metric.options:
            from rag_evaluator.metrics.own.ragas_object import object_digest  # imports ragas

            parts["source"] = object_digest(metric.options["object"])
        if metric.prompts:
            sources = "".join(
                prompt.source
                for (owner, attribute), prompt in prompts.items()
                if owner == name and attribute in metric.prompts
            )
            parts["prompts"] = short_digest(sources)
            if any(prompts[key].prompt.output_model.__name__ in CHECKED for key in prompts if key[0] == name):
                parts["checks"] = VERSION
        if metric.judge:
            parts |= judge.parts
        if metric.embeddings:
            parts |= embeddings.parts
        if metric.verifier == "model":
            parts |= verifier.parts
        if metric.reranker is not None:
            parts |= reranker_of(metric.reranker).signature_parts
        lines[name] = as_line(parts)
    return lines


def times_of(metrics: Mapping[str, Metric], repeats: int) -> dict[str, int]:
    """How often each metric's scores are made: only a judge may answer differently."""
    return {name: repeats if metric.judge else 1 for name, metric in metrics.items()}


def with_repeats(signatures: Mapping[str, str], times: Mapping[str, int]) -> dict[str, str]:
    """The signatures of scores that are means of so many repeats.

    A single repeat has the signature without this part, so that raising their number loses none that is there.
    """
    return {name: f"{line}|repeats:{times[name]}" if times[name] > 1 else line for name, line in signatures.items()}


def checked_times(metrics: Mapping[str, Metric], judge: "LazyJudge", config: Config) -> dict[str, int]:
    """`times_of`; raises `ConfigError` if the judge is known to be unfit for that, as it would only repeat itself."""
    times = times_of(metrics, config.repeats)
    repeats = max(times.values())
    if repeats > 1 and judge.greedy:
        raise ConfigError(
            f"{config.place('repeats')}: repeats is {repeats}, but this judge is reproducible: it would give the same "
            f"score {repeats} times. Set judge.temperature above 0, give a judge that samples, or set repeats: 1."
        )
    return times
