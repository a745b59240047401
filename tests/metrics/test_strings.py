"""String metrics in scripts that ragas' own tokenizers do not see."""

import asyncio
from typing import Any

import pytest
from ragas.metrics.collections import BleuScore, RougeScore
from sacrebleu import sentence_bleu

from rag_evaluator import METRICS, RAGEvaluator
from rag_evaluator.config import LANGUAGES, find_language

CHINESE = ("他出生于一座小城市。", "他出生于一座大城市。")


def score(name: str, language: str, reference: str, response: str) -> float:
    metric: Any = METRICS[name].create(None, None, find_language(language))
    return float(asyncio.run(metric.ascore(reference=reference, response=response)).value)


@pytest.mark.parametrize(
    ("language", "reference", "response", "expected"),
    [
        ("chinese", *CHINESE, 8 / 9),  # nine letters, eight in the same order
        ("hindi", "यह एक पुल है", "यह एक नदी है", 3 / 4),
        ("arabic", "ولد في مدينة", "ولد في قرية", 2 / 3),
        ("japanese", "橋は長い。", "山は高い。", 2 / 4),
        ("chinese", "他1900年生", "他1900年去", 3 / 4),  # a number is one word
        ("chinese", "ＡＢＣ①北", "abc1。京", 1 / 2),  # so are Latin letters, in their usual width
        ("hindi", "हिन्दी में", "हिन्दी मे", 1 / 2),  # a mark belongs to its letter
        ("thai", "ที่นี่", "ที่นี", 1 / 2),
    ],
)
def test_rouge_counts_the_words_of_any_script(language: str, reference: str, response: str, expected: float) -> None:
    assert score("rouge_score", language, reference, response) == pytest.approx(expected)


@pytest.mark.parametrize("language", ["english", "spanish", "klingon"])
def test_rouge_in_latin_script_is_ragas_own(language: str) -> None:
    reference = "He was running to the rivers."
    response = "He runs to a river."
    expected = asyncio.run(RougeScore().ascore(reference=reference, response=response)).value
    assert score("rouge_score", language, reference, response) == expected


def test_bleu_of_chinese_is_sacrebleus_with_its_chinese_tokenizer() -> None:
    expected = sentence_bleu(CHINESE[1], [CHINESE[0]], tokenize="zh", smooth_method="exp").score / 100
    assert score("bleu_score", "zh", *CHINESE) == pytest.approx(expected)
    assert expected > 0.5
    assert asyncio.run(BleuScore().ascore(reference=CHINESE[0], response=CHINESE[1])).value == 0.0


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["bleu_score", "rouge_score"])
def test_equal_texts_score_one_and_unlike_texts_nothing(name: str, language: str) -> None:
    texts = {"CJK": "他出生于一座小城市", "HIRAGANA": "彼は小さな町で生まれた", "THAI": "เขาเกิดที่เมืองเล็ก"}
    script = (LANGUAGES[language].scripts or ("LATIN",))[0]
    text = texts.get(script, f"{LANGUAGES[language].native} a1 b2 c3 d4 e5")
    assert score(name, language, text, text) == pytest.approx(1.0)
    assert score(name, language, text, "9 8 7 6 5 0") == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize(
    ("language", "reference", "response", "defined"),
    [
        ("english", "7", "7", False),
        ("english", "one two three", "one two three", False),
        ("english", "No. He was.", "No. That is a longer answer.", False),  # 'No' is what ragas compares
        ("english", "one two three four", "one two three four", True),
        ("english", "7", "The answer is 7 metres.", True),
        ("chinese", "北京", "北京", False),
        ("chinese", "北京大学", "北京大学", True),
    ],
)
def test_bleu_of_texts_without_four_words_is_missing_and_not_zero(
    language: str, reference: str, response: str, defined: bool
) -> None:
    row = {"reference": reference, "response": response}
    [score] = RAGEvaluator({"metrics": ["bleu_score"], "language": language}).evaluate([row]).scores["bleu_score"]
    own = BleuScore(kwargs={"tokenize": "zh"} if language == "chinese" else None)
    of_ragas = asyncio.run(own.ascore(**row)).value
    if defined:
        assert score.value == of_ragas
    else:
        assert of_ragas == 0.0
        assert score.missing
        assert score.lasting
        assert score.reason == "BLEU compares runs of 4 words; neither the response nor the reference has one"


def test_a_string_metrics_signature_has_the_language() -> None:
    row = {"response": CHINESE[0], "reference": CHINESE[1]}
    lines = [
        RAGEvaluator({"metrics": ["rouge_score"], "language": language}).evaluate([row]).signatures["rouge_score"]
        for language in ("english", "chinese")
    ]
    assert "|language:chinese" in lines[1]
    assert lines[0] != lines[1]
