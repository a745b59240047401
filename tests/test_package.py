from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from rag_evaluator import RAGEvaluator, __version__
from rag_evaluator.manifest import versions


def test_signatures_hold_the_version_of_the_code_whatever_the_distribution_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("rag_evaluator.manifest.version", refuse)
    assert versions()["rag-evaluator"] == __version__
    assert versions()["ragas"] == "not installed"  # the patch is used
    [signature] = RAGEvaluator({"metrics": ["rouge_score"]}).signatures().values()
    assert f"|rag-evaluator:{__version__}|" in signature
