"""The signature of each score: what the number depends on."""

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rag_evaluator import __version__
from rag_evaluator.files.digest import short_digest
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.metric import Metric
from rag_evaluator.models.identity import as_line

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
