"""The folder of the demo judge is small and complete, and its examples are judged as they are labelled."""

import json
import math
from pathlib import Path

from rag_evaluator import RAGEvaluator
from rag_evaluator.demo import DEMO_JUDGE

ROOT = Path(__file__).parents[2]


def test_the_folder_is_at_most_16_megabytes_and_has_a_card_and_a_licence() -> None:
    assert sum(file.stat().st_size for file in DEMO_JUDGE.iterdir()) <= 16_000_000
    assert {"README.md", "LICENSE", "model.safetensors", "tokenizer.json"} <= {f.name for f in DEMO_JUDGE.iterdir()}


def test_every_right_answer_of_the_examples_is_more_faithful_than_every_wrong_one() -> None:
    lines = (ROOT / "examples" / "dataset.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    scores = RAGEvaluator({"metrics": ["faithfulness"]}).evaluate(rows).to_pandas()["faithfulness"].tolist()
    of = {
        label: [score for made, score in zip(rows, scores, strict=True) if made["label"] == label]
        for label in ("right", "wrong", "evasive")
    }
    assert min(of["right"]) > max(of["wrong"])
    assert all(map(math.isnan, of["evasive"]))  # they refuse, and have no claim
