"""Which models go into a bundle."""

from pathlib import Path

from rag_evaluator.config import load_config
from rag_evaluator.features.bundle.contents import models_of


def test_the_folder_of_a_reranker_goes_into_the_bundle_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "reranker").mkdir()
    path = tmp_path / "config.yaml"
    section = "retrieval: {match: reranker, reranker: {model: ./reranker}}"
    path.write_text(f"metrics: [retrieval_mrr]\ndataset: rows.jsonl\n{section}\n", "utf-8")
    assert models_of(load_config(path)) == [str(tmp_path / "reranker")]
    assert models_of(load_config(path, ["retrieval.match=judge"])) == []
