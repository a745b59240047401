"""Scripts written for ragas 0.1 to 0.4: they run when their imports say `rag_evaluator.ragas` in place of `ragas`.

The scores are those of `RAGEvaluator`. What has no counterpart here is refused by its name, with what to use instead.
"""

import sys
from importlib import import_module
from typing import Any

from .names import METRIC_MODULES, NOT_HERE, no_counterpart

_STANDS_FOR = {  # the names of some, such as `cache`, say what to use instead
    "evaluation": "dataset_schema",
    "models": "run_config llms llms.base embeddings embeddings.base cache exceptions messages testset "
    "testset.generator testset.graph testset.synthesizers testset.transforms langchain langchain.evalchain "
    "integrations integrations.langchain",
    "metrics": "metrics.base metrics.collections metrics.critique metrics.result metrics.decorator metrics.discrete "
    "metrics.numeric metrics.ranking prompt prompt.base prompt.pydantic_prompt",
}
MODULES = {
    **{name: module for module, names in _STANDS_FOR.items() for name in names.split()},
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
    if name in MODULES and name not in NOT_HERE:
        return sys.modules[f"{__name__}.{name}"]
    return no_counterpart("ragas", name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


for _alias, _module in MODULES.items():
    sys.modules[f"{__name__}.{_alias}"] = import_module(f"{__name__}.{_module}")
