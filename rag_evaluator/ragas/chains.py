"""The chain that ragas had for LangChain, under its names there."""

from typing import Any

from rag_evaluator.ragas import models
from rag_evaluator.ragas.names import NoCounterpartError, no_counterpart


def __getattr__(name: str) -> Any:
    if name in ("LangchainLLMWrapper", "LangchainEmbeddingsWrapper"):
        return getattr(models, name)
    if name not in ("RagasEvaluatorChain", "EvaluatorChain"):
        return no_counterpart("ragas.langchain", name, ("RagasEvaluatorChain", "EvaluatorChain"))
    import rag_evaluator  # the chain is a feature, which may have been deleted

    if not hasattr(rag_evaluator, "EvaluatorChain"):
        raise NoCounterpartError(f"{name}: the feature 'chains' is not installed here.")
    return rag_evaluator.EvaluatorChain
