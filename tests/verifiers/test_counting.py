"""`verifier: {model: words}` counts as by hand, in every script, each row alone; and a run with it needs no model."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Patch
from folders import is_there, lines_of, output_of, results_of, run_command, write_config
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluator import ModelError, RAGEvaluator
from rag_evaluator.config import IN_DENSE, words
from rag_evaluator.errors import UndefinedScoreError
from rag_evaluator.resources import PACKAGE
from rag_evaluator.verifiers import StopWords, WordCounter

TABLE = PACKAGE / "verifiers" / "stop_words.jsonl"
STOP_WORDS = {row["language"]: row["words"].split() for row in map(json.loads, TABLE.read_text("utf-8").splitlines())}
ROW: dict[str, Any] = {
    "user_input": "When did the bridge open?",
    "retrieved_contexts": ["The bridge of Harn opened in 1921.", "It has three arches."],
    "response": "The old bridge opened in 1921. It has nine lamps.",
    "reference": "The bridge opened in 1921.",
}
TEXTS = st.text(max_size=40)


def shares(sentences: list[str], contexts: list[str], language: str = "english", each: bool = False) -> list[float]:
    supports = WordCounter(language, each).supports(contexts, sentences)
    return [support.probability for support in supports]


def signature(language: str = "english", **verifier: Any) -> str:
    config = {"metrics": ["groundedness"], "language": language, "verifier": {"model": "words", **verifier}}
    return RAGEvaluator(config).signatures()["groundedness"]


@pytest.mark.parametrize(
    ("language", "evidence", "sentence", "expected"),
    [
        ("english", "The bridge of Harn OPENED in 1921.", "The old bridge opened in 1921; it opened.", 3 / 4),
        ("spanish", "El puente de Harn se abrió en 1921.", "El puente se abrio en el año 1930.", 2 / 4),
        ("arabic", "افتُتح الجسر عام ١٩٢١.", "افتتح الجسر في عام 1930", 3 / 4),
        ("hindi", "पुल १९२१ में खुला।", "यह पुल 1921 में बंद है।", 2 / 3),
        ("chinese", "哈恩桥于1921年开放。", "哈恩桥在1930年开放。", 4 / 6),  # 哈恩 恩桥 桥在 1930 年开 开放
        ("chinese", "哈恩桥", "哈恩桥是一个", 2 / 3),  # 哈恩 恩桥 桥是, and 是一 一个 do not count
        ("japanese", "橋は1921年に開通した。", "橋は開通しています。", 3 / 4),  # 橋は は開 開通 通し
        ("korean", "다리는 1921년에 개통되었습니다.", "다리는 개통하지 않았습니다.", 3 / 5),  # 다리 리는 개통 통하 않았
        ("klingon", "The bridge opened.", "The bridge is open.", 2 / 4),
    ],
)
def test_the_share_of_the_content_words_is_that_by_hand(
    language: str, evidence: str, sentence: str, expected: float
) -> None:
    assert shares([sentence], [evidence], language) == [round(expected, 4)]


def test_all_contexts_count_together_or_the_best_of_them() -> None:
    contexts = ["The bridge opened.", " ", "Harn has three arches."]
    sentence = "The bridge has arches."
    assert shares([sentence], contexts) == [1.0]
    assert shares([sentence], contexts, each=True) == [0.5]
    best = WordCounter("english", each=True).supports(contexts, ["Harn has no bridge, but arches."])[0]
    assert (best.piece.contexts, best.pieces, best.probability) == ((2,), 2, 0.6667)


@pytest.mark.parametrize("sentence", ["", "It is what it was.", "🙂🙂 …", "是的"])
def test_a_sentence_without_a_content_word_has_no_share_with_its_reason(sentence: str) -> None:
    language = "chinese" if IN_DENSE.match(sentence) else "english"
    with pytest.raises(UndefinedScoreError, match="no content word"):
        shares([sentence], ["It was a bridge."], language)


def test_a_row_with_such_a_sentence_has_no_score() -> None:
    config = {"metrics": ["groundedness"], "verifier": {"model": "words"}}
    score = RAGEvaluator(config).evaluate([{**ROW, "response": "It is what it is."}]).scores["groundedness"][0]
    assert math.isnan(score.value)
    assert "no content word to count: It is what it is." in str(score.reason)


def test_without_evidence_there_is_no_share() -> None:
    with pytest.raises(UndefinedScoreError, match="no evidence"):
        shares(["A bridge."], ["", " "])


@pytest.mark.parametrize("sentence", ["a" * 10_000, "桥" * 10_000, "bridge " * 10_000, "b r\u0301\u200bidge 🙂"])
def test_long_and_odd_texts_have_a_share(sentence: str) -> None:
    assert shares([sentence], [sentence, "x"]) == [1.0]
    assert shares([sentence], ["none"]) == [0.0]


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(TEXTS, max_size=3))
def test_a_share_depends_on_no_other_sentence_and_on_no_order(sentences: list[str], contexts: list[str]) -> None:
    sentences = [f"bridge 42 {sentence}" for sentence in sentences]
    contexts = [*contexts, "bridge"]
    together = shares(sentences, contexts)
    assert together == [shares([sentence], contexts)[0] for sentence in sentences]
    assert together[::-1] == shares(sentences[::-1], contexts[::-1])
    assert all(0 < share <= 1 for share in together)


def test_the_table_has_english_and_the_languages_of_the_packs_as_texts_are_compared() -> None:
    packs = {folder.name for folder in (PACKAGE.parent / "prompts").iterdir() if folder.is_dir()}
    assert STOP_WORDS.keys() == {*packs, "english"}
    for row in STOP_WORDS.values():
        assert row == sorted(set(row))
        assert row == [words(word) for word in row]


def test_the_signature_names_the_version_and_the_stop_words(monkeypatch: Patch) -> None:
    line = signature()
    assert "|verifier:words-1-" in line
    assert "|kind:words|evidence:packed" in line
    assert "|judge" not in line
    verifiers = {signature(language).partition("|verifier:")[2] for language in STOP_WORDS}
    assert len(verifiers) == len(STOP_WORDS)
    table = TABLE.read_text("utf-8").replace(" about", "", 1)
    StopWords.of.cache_clear()  # type: ignore[attr-defined]  # of functools
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: table)
    assert signature().partition("|verifier:")[2] not in verifiers
    StopWords.of.cache_clear()  # type: ignore[attr-defined]


def test_a_run_writes_scores_and_loads_no_model(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("transformers.PreTrainedModel.from_pretrained", lambda *_, **__: pytest.fail("loaded"))
    (tmp_path / "words").mkdir()  # is not taken for a model
    rows = [ROW, {**ROW, "response": "A cat sat."}]
    metrics = "groundedness, reference_agreement, context_coverage, reference_coverage"
    config = write_config(tmp_path, rows, f"metrics: [{metrics}]\nverifier: {{model: words}}\nname: run")
    run_command("evaluate", config)
    scores = lines_of(results_of(config) / "scores.jsonl")
    # "old bridge opened 1921": 3 of 4; "nine lamps": 0 of 2
    assert [row["groundedness"] for row in scores] == [0.5, 0.0]
    assert [row["reference_agreement"] for row in scores] == [0.5, 0.0]
    assert [row["context_coverage"] for row in scores] == [1.0, 1.0]
    assert [row["reference_coverage"] for row in scores] == [1.0, 0.0]
    summary = (results_of(config) / "report.html").read_text("utf-8")
    assert "according to a count of words" in summary


def test_verdicts_may_be_those_of_the_count() -> None:
    options = {"context_recall": {"verdicts": "verifier"}}
    config = {"metrics": ["context_recall"], "metric_options": options, "verifier": {"model": "words"}}
    assert RAGEvaluator(config).evaluate([ROW]).scores["context_recall"][0].value == 1.0


@pytest.mark.skipif(not is_there(("check",)), reason="the feature is deleted")
@pytest.mark.parametrize(
    ("language", "text"), [("english", "it does not read"), ("klingon", "no stop words for klingon: all words count")]
)
def test_check_says_what_it_is(tmp_path: Path, capsys: Capture, language: str, text: str) -> None:
    keys = f"metrics: [groundedness]\nverifier: {{model: words}}\nlanguage: {language}"
    assert text in " ".join(output_of(capsys, "check", write_config(tmp_path, [ROW], keys)).split())


def test_a_name_that_is_no_model_names_the_count() -> None:
    with pytest.raises(ModelError, match=r"verifier\.model: 'word' is no folder here.*'words', which counts words"):
        RAGEvaluator({"metrics": ["groundedness"], "verifier": {"model": "word"}}).check([ROW])
