"""The metrics of a configuration: the chosen rows of `METRICS` with the options that it sets."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ragas.metrics.collections.domain_specific_rubrics.util import format_rubrics
from ragas.metrics.collections.instance_specific_rubrics.util import InstanceRubricScoreInput

from rag_evaluator.config.origin import Key, explain
from rag_evaluator.config.schema import Config
from rag_evaluator.config.sections import Section
from rag_evaluator.errors import ConfigError, PromptError, ResultsError, did_you_mean
from rag_evaluator.judge.protocol import JudgeSource
from rag_evaluator.judge.requests import PromptText
from rag_evaluator.metrics.definitions import own_metrics
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.metrics.table import METRICS, canonical_name, select_metrics
from rag_evaluator.prompts.loading import PackPrompt, TracedPrompt


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


LINES = re.compile(r"^score\d_description:.*(?:\n+score\d_description:.*)*", flags=re.MULTILINE)
"""Rubrics in an instruction: their keys are the same in all languages."""


class RubricsPrompt(TracedPrompt):
    """A prompt of ragas' rubric scores with rubrics of the user; its language and examples stay.

    Args:
        prompt: as its pack has it.
        rubrics: key as `score1_description` -> what the score means.

    Raises `PromptError` if the instruction does not hold rubrics once.
    """

    def __init__(self, prompt: TracedPrompt, rubrics: Mapping[str, str]) -> None:
        pack = prompt.pack
        if len(LINES.findall(pack.instruction)) != 1:
            raise PromptError(
                f"the {pack.language} pack of {prompt.name} must have its rubrics once, as lines that begin with "
                "'score1_description:' and so on, so that those of metric_options can take their place."
            )
        text = format_rubrics(dict(rubrics))
        pack = replace(pack, instruction=LINES.sub(lambda _: text, pack.instruction))
        super().__init__(PackPrompt(pack, prompt.prompt), prompt.name, pack)
        self.rubrics = dict(rubrics)

    def to_string(self, data: BaseModel) -> PromptText:
        text = super().to_string(data)
        text.data = InstanceRubricScoreInput(**data.model_dump(), rubrics=self.rubrics)  # the judge reads the scale
        return text


if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key as PromptKey


def with_rubrics(
    prompts: "Mapping[PromptKey, TracedPrompt]", metrics: Mapping[str, Metric]
) -> "dict[PromptKey, TracedPrompt]":
    """The prompts with the rubrics that options of metrics have. Raises `PromptError`."""

    rubrics = {name: metric.options["rubrics"] for name, metric in metrics.items() if metric.options.get("rubrics")}
    return {
        key: RubricsPrompt(prompt, rubrics[key[0]]) if key[0] in rubrics else prompt for key, prompt in prompts.items()
    }


def refuse_without_probabilities(metrics: Mapping[str, Metric], judge: JudgeSource, place: Callable[..., str]) -> None:
    """Raises `ConfigError` if a metric asks for probabilities and the judge is known to give none.

    Args:
        place: `Config.place`.
    """
    asking = [name for name, metric in metrics.items() if metric.probabilities]
    if asking and judge.capabilities is not None and not judge.capabilities.probabilities:
        raise ConfigError(
            f"{place('metric_options')}: {asking[0]} with expected: true needs the probabilities of answers, which "
            "this judge does not give. Remove the option, or take a judge that gives them (a local model)."
        )


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
    from rag_evaluator.statistics.rules import parse_rule, refuse_senseless

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
