"""`certify --calibrate`: weights of two figures by labels of sentences, and a run that uses them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_evaluator import ConfigError, RAGEvaluator, ResultsError, ScriptedJudge
from rag_evaluator.features.certify import certify
from rag_evaluator.features.certify.calibrating import (
    LabelledFigures,
    calibration_error,
    cross_fitted,
    fitted,
    predicted,
    reliability,
)
from rag_evaluator.verifiers import UNLABELLED, Combination

TRUE = Combination(-1.0, 1.5, 3.0)
NAMES = "Tesk Om Belm Arlen Nolu Brak Ines Kardel Marrow Odrin".split()


def drawn(size: int, seed: int = 0, clusters: int | None = None) -> LabelledFigures:
    """Sentences whose labels follow `TRUE`."""
    random = np.random.default_rng(seed)
    figures = np.stack([random.normal(0, 1.5, size), random.uniform(0, 1, size)], axis=1)
    chances = predicted(LabelledFigures(figures, figures[:, 0], figures[:, 0], []), TRUE)
    return LabelledFigures(
        figures,
        (random.uniform(size=size) < chances).astype(np.int64),
        np.ones(size),
        np.arange(size) % (clusters or size),
    )


def test_many_labels_give_the_weights_that_made_them() -> None:
    made = fitted(drawn(20_000), UNLABELLED)
    assert (made.intercept, made.judge, made.words) == pytest.approx((TRUE.intercept, TRUE.judge, TRUE.words), abs=0.15)


def test_few_labels_stay_near_the_combination_without_labels_but_for_its_intercept() -> None:
    made = fitted(drawn(12), UNLABELLED)
    assert made.judge / made.words == pytest.approx(UNLABELLED.judge / UNLABELLED.words, rel=0.5)


def test_held_out_probabilities_are_right_on_average_and_those_of_the_judge_are_not() -> None:
    rows = drawn(400, clusters=80)
    held_out = cross_fitted(rows, UNLABELLED)
    before = predicted(rows, Combination(-1, 1, 0))
    assert calibration_error(held_out, rows.labels, rows.weights) < 0.06
    assert calibration_error(before, rows.labels, rows.weights) > 0.08


def test_the_reliability_of_five_parts_by_hand() -> None:
    probabilities = np.array([0.1, 0.2, 0.5, 0.6, 0.7, 0.9])
    labels = np.array([0, 1, 0, 1, 1, 1])
    lines = reliability(probabilities, labels, np.ones(6))
    assert [line["sentences"] for line in lines] == [2, 1, 1, 1, 1]
    assert (lines[0]["probability"], lines[0]["supported"]) == (pytest.approx(0.15), 0.5)
    wanted = (2 * 0.35 + 0.5 + 0.4 + 0.3 + 0.1) / 6
    assert calibration_error(probabilities, labels, np.ones(6)) == pytest.approx(wanted)


def scored(folder: Path, **verifier: Any) -> Any:
    def choices(prompt: Any, options: Any) -> dict[str, float]:
        share = 0.4 if "not" in prompt.data.hypothesis else 0.45
        return dict(zip(options, (share, 1 - share), strict=True))

    rows = [
        {
            "user_input": "Where?",
            "retrieved_contexts": [f"{name} is here."],
            "response": f"{name} is here. It is not {name}.",
        }
        for name in NAMES
    ]
    keys = {"metrics": ["groundedness"], "verifier": verifier}
    return RAGEvaluator(keys, judge=ScriptedJudge(choices=choices, model_id="j")).evaluate(rows, folder=folder)


def write_labels(path: Path, count: int = len(NAMES)) -> Path:
    lines = ["row,metric,statement,label"]
    for row, name in enumerate(NAMES[:count]):
        lines += [f"{row},groundedness,{name} is here.,1", f"{row},groundedness,It is not {name}.,{int(row == 0)}"]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_a_run_uses_the_calibration_of_the_same_judge(tmp_path: Path) -> None:
    scored(tmp_path / "run")
    labels = write_labels(tmp_path / "labels.csv")
    certification = certify(tmp_path / "run", labels, calibrate=True)
    path = tmp_path / "run" / "calibration.json"
    made = json.loads(path.read_text("utf-8"))
    assert (made["labels"], made["supported"], len(made["clusters"])) == (20, 0.55, 10)
    assert f"verifier.calibration: {path}" in certification.conclusion.sentences[-1]
    results = scored(tmp_path / "again", calibration=path)
    [first, second] = list(results)[1].scores["groundedness"].judgements[-1]["response"]["sentences"]
    assert first["probability"] > 0.5 > second["probability"], "of 0.45 and 0.40"
    assert results.scores["groundedness"][1].value == 0.5
    with pytest.raises(ResultsError, match="too few labels"):  # all were used
        certify(tmp_path / "again", labels)
    with pytest.raises(ConfigError, match="another judge"):
        RAGEvaluator(
            {"metrics": ["groundedness"], "verifier": {"calibration": path}}, judge=ScriptedJudge(model_id="other")
        ).signatures()


def test_too_few_labels_of_the_rarer_kind_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    scored(tmp_path / "run")
    with pytest.raises(ResultsError, match="4 of the rarer class; 20 are needed"):
        certify(tmp_path / "run", write_labels(tmp_path / "labels.csv", 5), calibrate=True)
    assert not list((tmp_path / "run").glob("c*.json"))
