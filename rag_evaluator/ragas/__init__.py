"""Scripts written for ragas 0.1 to 0.4: they run when their imports say `rag_evaluator.ragas` in place of `ragas`.

The scores are those of `RAGEvaluator`. What has no counterpart here is refused by its name, with what to use instead.
"""

import sys
from importlib import import_module
from typing import Any

from rag_evaluator.ragas.names import INSTEAD, METRIC_MODULES, no_counterpart

MODULES = {
    "dataset_schema": "evaluation",
    "run_config": "models",
    "llms": "models",
    "llms.base": "models",
    "embeddings": "models",
    "embeddings.base": "models",
    **dict.fromkeys(("cache", "exceptions", "messages", "testset"), "models"),  # their names say what to use instead
    **{f"testset.{name}": "models" for name in ("generator", "graph", "synthesizers", "transforms")},
    "metrics.base": "metrics",
    "metrics.collections": "metrics",
    "metrics.critique": "metrics",
    "metrics.result": "metrics",
    **dict.fromkeys(("metrics.decorator", "metrics.discrete", "metrics.numeric", "metrics.ranking"), "metrics"),
    "prompt": "metrics",
    "prompt.base": "metrics",
    "prompt.pydantic_prompt": "metrics",
    "langchain": "chains",
    "langchain.evalchain": "chains",
    "integrations": "chains",
    "integrations.langchain": "chains",
    **{f"metrics.{prefix}{name}": "metrics" for name in METRIC_MODULES for prefix in ("", "_")},
}
"""Module of ragas -> the module here that has its names."""

NAMES = {
    "evaluation": ("evaluate", "aevaluate", "EvaluationDataset", "SingleTurnSample", "EvaluationResult"),
    "models": ("RunConfig",),
}

__all__ = [name for names in NAMES.values() for name in names]


def __getattr__(name: str) -> Any:
    for module, names in NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    if name in MODULES and name not in INSTEAD:
        return sys.modules[f"{__name__}.{name}"]
    return no_counterpart("ragas", name, [*__all__, *MODULES])


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


for _alias, _module in MODULES.items():
    sys.modules[f"{__name__}.{_alias}"] = import_module(f"{__name__}.{_module}")
