"""The signature of each score: what the number depends on."""

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rag_evaluator import __version__
from rag_evaluator.config import Config
from rag_evaluator.judge.signature import arguments_part, as_line, judge_parts
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.table import Metric

if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import TracedPrompt
    from rag_evaluator.prompts.pack import Key


def signatures(
    config: Config,
    metrics: Mapping[str, Metric],
    prompts: Mapping["Key", "TracedPrompt"],
    identity: Mapping[str, str],
) -> dict[str, str]:
    """Metric -> one line: equal lines and equal input mean comparable numbers.

    Args:
        identity: fingerprints of the two models, or `UNNAMED`.
    """
    return {name: as_line(_parts(name, config, metric, prompts, identity)) for name, metric in metrics.items()}


def _parts(
    name: str,
    config: Config,
    metric: Metric,
    prompts: Mapping["Key", "TracedPrompt"],
    identity: Mapping[str, str],
) -> dict[str, Any]:
    parts: dict[str, Any] = {"metric": name, "rag-evaluator": __version__, "ragas": version("ragas")}
    if metric.prompts or metric.words:
        parts["language"] = find_language(config.language).name
    if metric.prompts:
        sources = "".join(prompt.source for (owner, _), prompt in prompts.items() if owner == name)
        parts["prompts"] = hashlib.sha256(sources.encode()).hexdigest()[:16]
    if metric.judge:
        parts |= judge_parts(config.judge, identity["judge"])
    if metric.embeddings:
        parts["embeddings"] = identity["embeddings"]
        parts |= arguments_part("embed", config.embeddings.model_kwargs)
        parts |= arguments_part("encode", config.embeddings.encode_kwargs)
    return parts
