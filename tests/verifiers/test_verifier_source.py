"""The verifier of a configuration: refused before loading, named in signatures."""

from pathlib import Path
from typing import Any

import pytest
import tiny_verifiers
from safetensors.torch import load_file, save_file

from rag_evaluator import ModelError, RAGEvaluator, Verifier
from rag_evaluator.config import make_config
from rag_evaluator.errors import PromptTooLongError, UndefinedScoreError
from rag_evaluator.metrics import chosen_metrics

ROW = {
    "user_input": "Where is the bridge?",
    "retrieved_contexts": ["The bridge of Harn was opened in 1921.", "It has three arches."],
    "response": "The bridge was opened in 1921. It has two arches.",
}


CONTEXTS = ROW["retrieved_contexts"]
CLAIM = "It has two arches."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_verifiers.make("minicheck-roberta", tmp_path_factory.mktemp("models") / "minicheck")


def evaluator(folder: Path | str, **verifier: Any) -> RAGEvaluator:
    return RAGEvaluator({"metrics": ["groundedness"], "verifier": {"model": str(folder), **verifier}})


def test_scores_are_those_of_the_verifier(folder: Path) -> None:
    score = evaluator(folder).evaluate([ROW]).scores["groundedness"][0]
    supports = Verifier(folder).supports(
        ROW["retrieved_contexts"], ["The bridge was opened in 1921.", "It has two arches."]
    )
    assert score.value == sum(support.probability >= 0.5 for support in supports) / 2
    said = score.judgements[0]["response"]["sentences"]
    assert [sentence["probability"] for sentence in said] == [support.probability for support in supports]
    assert score.outcome == "1 piece of evidence"


def test_no_judge_is_needed_and_the_signature_names_the_verifier(folder: Path) -> None:
    line = evaluator(folder, evidence="each", threshold=0.6).signatures()["groundedness"]
    assert "|judge" not in line
    assert "|kind:minicheck-roberta|evidence:each" in line
    assert '"threshold": 0.6' in line
    metric = chosen_metrics(make_config({"metrics": ["groundedness"], "verifier": {"model": str(folder)}}))
    assert not metric["groundedness"].judge


def test_what_is_wrong_is_refused_with_its_key_before_the_model_is_loaded(folder: Path, tmp_path: Path) -> None:
    hhem = tiny_verifiers.make("hhem", tmp_path / "hhem")
    for settings in ({"kind": "factcg"}, {"kind": "unheard"}, {"base": str(folder)}):
        with pytest.raises(ModelError, match=rf"verifier\.{next(iter(settings))} is"):
            evaluator(folder, **settings).check([ROW])
    with pytest.raises(ModelError, match=r"verifier\.base is .*minicheck.*flan-t5-base"):
        evaluator(hhem, base=str(folder)).check([ROW])
    with pytest.raises(ModelError, match=r"verifier\.model: no such folder"):
        evaluator(tmp_path / "missing").check([ROW])


def test_a_language_of_others_is_refused_unless_a_key_allows_it(folder: Path, tmp_path: Path) -> None:
    settings = {"metrics": ["groundedness"], "language": "german"}
    with pytest.raises(ModelError, match=r"made for english; the language is german.*verifier\.any_language: true"):
        RAGEvaluator({**settings, "verifier": {"model": str(folder)}}).check([ROW])
    RAGEvaluator({**settings, "verifier": {"model": str(folder), "any_language": True}}).check([ROW])
    nli = tiny_verifiers.make("nli", tmp_path / "nli")
    RAGEvaluator({**settings, "verifier": {"model": str(nli)}}).check([ROW])


def test_a_sentence_longer_than_the_window_has_no_score_with_its_reason(folder: Path) -> None:
    long = {**ROW, "response": " ".join(["bridge"] * 2000)}
    score = evaluator(folder).evaluate([long]).scores["groundedness"][0]
    assert score.missing
    assert "tokens, and this verifier reads 512" in str(score.reason)
    assert score.lasting


def test_weights_that_give_no_number_give_no_score(tmp_path: Path) -> None:
    folder = tiny_verifiers.make("nli", tmp_path / "nli")
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] *= float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UndefinedScoreError, match="gave no number"):
        Verifier(folder).support(CONTEXTS, CLAIM)


@pytest.mark.parametrize(
    ("contexts", "claim", "error"),
    [
        ([], CLAIM, UndefinedScoreError),
        (["  "], CLAIM, UndefinedScoreError),
        (CONTEXTS, " \n", UndefinedScoreError),
        (CONTEXTS, "The bridge of Harn is old. " * 200, PromptTooLongError),
    ],
)
def test_nothing_to_verify_and_a_claim_that_fills_the_window_have_no_probability(
    folder: Path, contexts: list[str], claim: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Verifier(folder).best(contexts, claim)


@pytest.mark.parametrize(
    ("missing", "message"), [("tokenizer*", "has no tokenizer"), ("*.safetensors", r"has no \*\.safetensors")]
)
def test_a_folder_that_is_no_verifier_is_refused_before_it_is_loaded(
    tmp_path: Path, missing: str, message: str
) -> None:
    folder = tiny_verifiers.make("nli", tmp_path / "model")
    for file in folder.glob(missing):
        file.unlink()
    with pytest.raises(ModelError, match=message):
        Verifier(folder)
