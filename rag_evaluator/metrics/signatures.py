"""What the scores of a metric depend on, as one line; and how often they are made."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rag_evaluator.config import Config, find_language
from rag_evaluator.dataset import APPEND, REWRITE
from rag_evaluator.errors import ConfigError
from rag_evaluator.files import short_digest
from rag_evaluator.hub import as_line
from rag_evaluator.judge import row_of
from rag_evaluator.prompts import REWRITING
from rag_evaluator.resources import __version__
from rag_evaluator.verifiers import REFUSALS, reranker_of

from .own.function import source_digest
from .row import Metrics
from .work_checks import VERSION

JUDGED = "refusal_correctness"  # the metric by which the judge says which responses refuse

if TYPE_CHECKING:
    from rag_evaluator.embeddings import EmbeddingsSource
    from rag_evaluator.judge import LazyJudge
    from rag_evaluator.prompts import Prompts
    from rag_evaluator.verifiers import VerifierSource


def signatures_of(
    metrics: Metrics,
    language: str,
    prompts: "Prompts",
    judge: "LazyJudge",
    embeddings: "EmbeddingsSource",
    verifier: "VerifierSource",
    responses: str = "said",
    refusals: str | int = "as_scored",
    history: str = APPEND,
) -> dict[str, str]:
    """Metric -> one line: equal lines and equal input mean comparable numbers.

    Models are looked for only where a metric uses them.

    Args:
        history: what becomes of the turns before a question, where some row has them.
    """
    lines = {}
    for name, metric in metrics.items():
        parts: dict[str, Any] = {"metric": name, "rag-evaluator": __version__, "ragas": version("ragas")}
        if metric.prompts or metric.words:
            parts["language"] = find_language(language).name
        if responses != "said" and "response" in metric.reads:
            parts["responses"] = responses
        declared = [refusals] if refusals != "as_scored" and metric.judges_response else []
        if metric.claims or declared:
            parts["refusals"] = ",".join(map(str, [REFUSALS, *(["judge"] if JUDGED in metrics else []), *declared]))
        is_rewritten = history == REWRITE and "user_input" in metric.reads
        if history != APPEND and "user_input" in metric.reads:
            parts["history"] = history
        if is_rewritten:
            parts["rewrites"] = prompts[REWRITING].source
        if metric.options:
            parts["options"] = json.dumps(metric.options, sort_keys=True, ensure_ascii=False)
        if "function" in metric.options:
            parts["source"] = source_digest(metric.options["function"])
        if "object" in metric.options:
            from .own.ragas_object import object_digest  # imports ragas

            parts["source"] = object_digest(metric.options["object"])
        if metric.prompts:
            sources = "".join(
                prompt.source
                for (owner, attribute), prompt in prompts.items()
                if owner == name and attribute in metric.prompts
            )
            parts["prompts"] = short_digest(sources)
            if any(row_of(prompts[key].prompt.output_model).is_checked for key in prompts if key[0] == name):
                parts["checks"] = VERSION
        if metric.judge or is_rewritten:
            parts |= judge.parts
        if metric.embeddings:
            parts |= embeddings.parts
        if metric.verifier == "model":
            parts |= verifier.parts
        if metric.reranker is not None:
            parts |= reranker_of(metric.reranker).signature_parts
        lines[name] = as_line(parts)
    return lines


def times_of(metrics: Metrics, repeats: int) -> dict[str, int]:
    """How often each metric's scores are made: only a judge may answer differently."""
    return {name: repeats if metric.judge else 1 for name, metric in metrics.items()}


def with_repeats(signatures: Mapping[str, str], times: Mapping[str, int]) -> dict[str, str]:
    """The signatures of scores that are means of so many repeats.

    A single repeat has the signature without this part, so that raising their number loses none that is there.
    """
    return {name: f"{line}|repeats:{times[name]}" if times[name] > 1 else line for name, line in signatures.items()}


def checked_times(metrics: Metrics, judge: "LazyJudge", config: Config) -> dict[str, int]:
    """`times_of`; raises `ConfigError` if the judge is known to be unfit for that, as it would only repeat itself."""
    times = times_of(metrics, config.repeats)
    repeats = max(times.values())
    if repeats > 1 and judge.greedy:
        raise ConfigError(
            f"{config.place('repeats')}: repeats is {repeats}, but this judge is reproducible: it would give the same "
            f"score {repeats} times. Set judge.temperature above 0, give a judge that samples, or set repeats: 1."
        )
    return times
