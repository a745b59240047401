"""What a number depends on: the signature of each score and the manifest of a run."""

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluator import __version__
from rag_evaluator.config import Config, JudgeConfig
from rag_evaluator.languages import find_language
from rag_evaluator.metrics.table import Metric
from rag_evaluator.results.writers import PROMPT_TEXTS

if TYPE_CHECKING:
    from rag_evaluator.prompts.loading import CarryingPrompt
    from rag_evaluator.prompts.pack import Key

PACKAGES = (
    "ragas",
    "transformers",
    "torch",
    "llguidance",
    "langchain-huggingface",
    "sentence-transformers",
)
UNNAMED = "(unnamed)"  # stands for a model that nothing tells from others of its kind
THINKING = "off"  # of every judge so far; scores of others must never pass for these


def signatures(
    config: Config,
    metrics: Mapping[str, Metric],
    prompts: Mapping["Key", "CarryingPrompt"],
    identity: Mapping[str, str],
) -> dict[str, str]:
    """Metric -> one line in the manner of sacrebleu: equal lines and equal input mean comparable numbers.

    Args:
        identity: fingerprints of the two models, or `UNNAMED`.
    """
    return {
        name: "|".join(f"{key}:{value}" for key, value in _parts(name, config, metric, prompts, identity).items())
        for name, metric in metrics.items()
    }


def describe(
    config: Config, signature_lines: Mapping[str, str], prompts: Mapping["Key", "CarryingPrompt"], rows: int
) -> dict[str, Any]:
    """The manifest: everything needed to make the run again. No times: the same run gives the same bytes."""
    return {
        "name": config.name,
        "rows": rows,
        "signatures": dict(signature_lines),
        "config": config.model_dump(mode="json"),
        "prompts": {f"{metric}.{attribute}": prompt.source for (metric, attribute), prompt in prompts.items()},
        "versions": versions(),
        PROMPT_TEXTS: _prompt_texts(prompts),
    }


def _prompt_texts(prompts: Mapping["Key", "CarryingPrompt"]) -> dict[str, dict[str, Any]]:
    """Metric -> prompt -> the text around its input, from which and from details its questions are made again."""
    texts: dict[str, dict[str, Any]] = {}
    for (metric, attribute), prompt in prompts.items():
        frames = [asdict(frame) for frame in prompt.frames]
        told = {"language": prompt.language, "source_digest": prompt.source, "frames": frames}
        texts.setdefault(metric, {})[attribute] = told
    return texts


def versions() -> dict[str, str]:
    """Of Python and of what computes the numbers."""
    return {
        "python": platform.python_version(),
        "rag-evaluator": __version__,
        **{name: _version(name) for name in PACKAGES},
    }


def is_unnamed(signature: str) -> bool:
    """Whether a score or an answer depends on a model without a name: no other run may use it."""
    return f":{UNNAMED}" in signature


def _parts(
    name: str,
    config: Config,
    metric: Metric,
    prompts: Mapping["Key", "CarryingPrompt"],
    identity: Mapping[str, str],
) -> dict[str, Any]:
    parts: dict[str, Any] = {"metric": name, "rag-evaluator": __version__, "ragas": _version("ragas")}
    if metric.prompts or metric.words:
        parts["language"] = find_language(config.language).name
    if metric.prompts:
        sources = "".join(prompt.source for (owner, _), prompt in prompts.items() if owner == name)
        parts["prompts"] = hashlib.sha256(sources.encode()).hexdigest()[:16]
    if metric.judge:
        parts |= _judge_parts(config.judge, identity["judge"])
    if metric.embeddings:
        parts["embeddings"] = identity["embeddings"]
        parts |= _given("embed", config.embeddings.model_kwargs) | _given("encode", config.embeddings.encode_kwargs)
    return parts


def judge_signature(judge: JudgeConfig, identity: str) -> str:
    """What the judge's answers depend on beside the prompt, as one line."""
    parts = {"rag-evaluator": __version__, **_judge_parts(judge, identity)}
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _judge_parts(judge: JudgeConfig, identity: str) -> dict[str, Any]:
    template = Path(judge.chat_template)
    return {
        "judge": identity,
        "engine": judge.engine,
        "dtype": judge.dtype,
        **_given("model", judge.model_kwargs),
        "template": _digest(template) if template.is_file() else judge.chat_template,
        "decode": "greedy" if judge.temperature == 0 else f"temperature={judge.temperature},seed={judge.seed}",
        "thinking": THINKING,
        "max_new_tokens": judge.max_new_tokens,
    }


def _given(key: str, kwargs: Mapping[str, Any]) -> dict[str, str]:
    """The user's arguments to a library, if any: quantisation or another pooling changes the numbers."""
    return {key: ",".join(f"{name}={value}" for name, value in sorted(kwargs.items()))} if kwargs else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _version(package: str) -> str:
    try:
        return __version__ if package == "rag-evaluator" else version(package)  # whatever the distribution is called
    except PackageNotFoundError:
        return "not installed"
