"""Judges of tiny models."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from aliases import ModelFolder

from rag_evaluator.config import JudgeConfig

if TYPE_CHECKING:
    from tiny_models import Tiny

    from rag_evaluator import Judge


@pytest.fixture
def tiny(model_folder: ModelFolder) -> "Tiny":
    """`tiny(kind, shape, **settings)`: a judge of a tiny model, with settings of the model and of the judge."""

    def load(kind: str, shape: Mapping[str, int] = MappingProxyType({}), **settings: Any) -> "Judge":
        from rag_evaluator import Judge

        return Judge.from_config(JudgeConfig(model=str(model_folder(kind, **shape)), **settings))

    return load


@pytest.fixture
def whole_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the columns of every metric of a judge."""
    rubrics = {f"score{number}_description": f"level {number}" for number in range(1, 6)}
    return [{**row, "reference_contexts": row["retrieved_contexts"], "rubrics": rubrics} for row in rows]
