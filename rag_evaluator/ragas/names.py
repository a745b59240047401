"""The names of ragas 0.1 to 0.4: which metric each is here, and what to use in place of those that are none."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from rag_evaluator.errors import RagEvaluatorError

_ALIKE = (
    "AnswerCorrectness AnswerRelevancy AnswerSimilarity BleuScore ChrfScore ContextEntityRecall ContextPrecision "
    "ContextPrecisionWithReference ContextPrecisionWithoutReference ContextRecall ContextRelevancy "
    "ContextUtilization DomainSpecificRubrics ExactMatch FactualCorrectness Faithfulness InstanceRubrics "
    "InstanceSpecificRubrics NoiseSensitivity QuotedSpansAlignment RougeScore RubricsScoreWithReference "
    "RubricsScoreWithoutReference SemanticSimilarity SummaryScore"
)
METRIC_CLASSES: Mapping[str, str] = {
    **{name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in _ALIKE.split()},
    "AnswerAccuracy": "nv_accuracy",
    "CHRFScore": "chrf_score",
    "ContextRelevance": "nv_context_relevance",
    "LLMContextPrecisionWithReference": "llm_context_precision_with_reference",
    "LLMContextPrecisionWithoutReference": "llm_context_precision_without_reference",
    "LLMContextRecall": "context_recall",
    "NonLLMStringSimilarity": "non_llm_string_similarity",
    "ResponseGroundedness": "nv_response_groundedness",
    "ResponseRelevancy": "answer_relevancy",
    "RubricsScore": "domain_specific_rubrics",
    "StringPresence": "string_present",
    "SummarizationScore": "summary_score",
}
"""Class of ragas -> its result's name there, which is a name of the metric here."""

SINGLETONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **{name: (name, {}) for name in (
        "answer_correctness", "answer_relevancy", "answer_similarity", "context_entity_recall", "context_precision",
        "context_recall", "context_relevancy", "context_utilization", "faithfulness",
    )},
    "labelled_rubrics_score": ("rubrics_score_with_reference", {}),
    "noise_sensitivity_irrelevant": ("noise_sensitivity", {"mode": "irrelevant"}),
    "noise_sensitivity_relevant": ("noise_sensitivity", {"mode": "relevant"}),
    "reference_free_rubrics_score": ("rubrics_score_without_reference", {}),
    "summarization_score": ("summary_score", {}),
}  # fmt: skip
"""Object of ragas 0.1 to 0.4 -> the metric, its options."""

OF_RAGAS = {
    "base": (
        "Metric", "MetricOutputType", "MetricType", "MetricWithEmbeddings", "MetricWithLLM", "MultiTurnMetric",
        "SimpleBaseMetric", "SimpleLLMMetric", "SingleTurnMetric",
    ),
    "metrics": (
        "BaseMetric", "DiscreteMetric", "LLMMetric", "MetricResult", "NumericMetric", "RankingMetric",
        "discrete_metric", "numeric_metric", "ranking_metric",
    ),
    "prompt": ("ImageTextPrompt", "PydanticPrompt", "StringIO", "StringPrompt"),
}  # fmt: skip
"""What metrics of one's own are made of: ragas' own classes."""

METRIC_MODULES = (
    "answer_correctness", "answer_relevance", "answer_similarity", "aspect_critic", "bleu_score", "chrf_score",
    "context_entities_recall", "context_precision", "context_recall", "domain_specific_rubrics", "factual_correctness",
    "faithfulness", "instance_specific_rubrics", "noise_sensitivity", "nv_metrics", "rouge_score", "string",
    "summarization",
)  # fmt: skip
"""Modules of `ragas.metrics`, from 0.2 on with `_` before their names."""

CHATS = "Rows here have one question and one response; chats of several turns and calls of tools are not judged."
NOT_HERE = frozenset(
    "adapt cacher coherence conciseness correctness default_query_distribution default_transforms experiment "
    "harmfulness maliciousness messages multimodal_faithness multimodal_relevance oci_genai_factory testset".split()
)
"""Names of ragas that nothing here stands for, beside those of classes."""


class NoCounterpartError(RagEvaluatorError, ImportError):
    """A name of ragas that nothing here stands for."""


def no_counterpart(module: str, name: str) -> NoReturn:
    """Raises `NoCounterpartError` for what may be a name of ragas, else `AttributeError`: pickle asks for many."""
    if name[0].isupper() or name in NOT_HERE:
        raise NoCounterpartError(
            f"{module}.{name} is not part of rag_evaluator. What to use instead is in docs/from-ragas.md."
        )
    raise AttributeError(f"module 'rag_evaluator.{module}' has no attribute {name!r}")


def of_module(module: str, name: str) -> Any:
    """A name of ragas itself, or what `no_counterpart` raises."""
    from rag_evaluator import ragas_library

    for part, names in OF_RAGAS.items():
        if name in names:
            return getattr(getattr(ragas_library, part), name)
    return no_counterpart(module, name)
