"""The signature of each score, what the number depends on; and how often scores are made."""

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rag_evaluator.config.languages import find_language
from rag_evaluator.embeddings.fingerprint import as_line
from rag_evaluator.errors import ConfigError
from rag_evaluator.files.digest import short_digest
from rag_evaluator.judge.protocol import JudgeSource
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.resources import __version__

if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key

Parts = Callable[[], Mapping[str, Any]]


def signatures(
    metrics: Mapping[str, Metric],
    language: str,
    prompts: Mapping["Key", "TracedPrompt"],
    judge: Parts,
    embeddings: Parts,
) -> dict[str, str]:
    """Metric -> one line: equal lines and equal input mean comparable numbers.

    Args:
        judge, embeddings: what answers and vectors depend on; called only for metrics that use them.
    """
    lines = {}
    for name, metric in metrics.items():
        parts: dict[str, Any] = {"metric": name, "rag-evaluator": __version__, "ragas": version("ragas")}
        if metric.prompts or metric.words:
            parts["language"] = find_language(language).name
        if metric.options:
            parts["options"] = json.dumps(metric.options, sort_keys=True, ensure_ascii=False)
        if "function" in metric.options:
            from rag_evaluator.metrics.own.function import source_digest

            parts["source"] = source_digest(metric.options["function"])
        if metric.prompts:
            sources = "".join(
                prompt.source
                for (owner, attribute), prompt in prompts.items()
                if owner == name and attribute in metric.prompts
            )
            parts["prompts"] = short_digest(sources)
        if metric.judge:
            parts |= judge()
        if metric.embeddings:
            parts |= embeddings()
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


def refuse_reproducible(times: Mapping[str, int], judge: JudgeSource, place: str) -> None:
    """Raises `ConfigError` if a judge that is known to answer always the same is to repeat scores.

    Args:
        place: where the number of repeats was written.
    """
    repeats = max(times.values())
    if repeats > 1 and judge.capabilities is not None and judge.capabilities.greedy:
        raise ConfigError(
            f"{place}: repeats is {repeats}, but this judge is reproducible: it would give the same score {repeats} "
            "times. Set judge.temperature above 0, give a judge that samples, or set repeats: 1."
        )
