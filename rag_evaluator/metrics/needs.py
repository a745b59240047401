"""What metrics ask of rows, of prompts and of the judge."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rag_evaluator.dataset import Sample, present_columns
from rag_evaluator.errors import ConfigError
from rag_evaluator.judge.protocol import JudgeSource
from rag_evaluator.metrics.metric import Metric

if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key


def needed_columns(metrics: Mapping[str, Metric], samples: Sequence[Sample]) -> dict[str, list[str]]:
    """Metric -> the canonical columns in which some row must have something.

    An empty list is something where it says that nothing was retrieved, even if all rows have one.
    """
    there = present_columns(samples)
    asked = {column for metric in metrics.values() for column in metric.may_be_empty if column in metric.reads}
    empty = {column for column in asked.difference(there) if any(row.columns.get(column) == [] for row in samples)}
    needed = {}
    for name, metric in metrics.items():
        says = empty.intersection(metric.may_be_empty)
        needed[name] = [c for c in metric.needs_canonical({*there, *says}.__contains__) if c not in says]
    return needed


def with_rubrics(prompts: "Mapping[Key, TracedPrompt]", metrics: Mapping[str, Metric]) -> "dict[Key, TracedPrompt]":
    """The prompts with the rubrics that options of metrics have. Raises `PromptError`."""
    from rag_evaluator.prompts.rubrics import RubricsPrompt

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
