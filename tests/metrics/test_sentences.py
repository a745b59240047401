"""`context_relevancy`: sentences are found in each language, chosen by number, and counted."""

import math
from typing import Any

import pytest

from rag_evaluator import ConfigError, RAGEvaluator, ScriptedJudge
from rag_evaluator.config import find_language, sentences_of
from rag_evaluator.judge import tighten
from rag_evaluator.metrics import select_metrics
from rag_evaluator.prompts import SentencesInput, SentencesOutput

CONTEXTS = ["Dr. Ada Smith was born in Tesk. She lived there until 1990.", "The sea is deep!"]


def summary_of(numbers: list[int], contexts: list[str] = CONTEXTS) -> Any:
    judge = ScriptedJudge([{"numbers": numbers}])
    row = {"user_input": "Where was Ada Smith born?", "retrieved_contexts": contexts}
    results = RAGEvaluator({"metrics": ["context_relevancy"]}, judge=judge).evaluate([row])
    return results.scores["context_relevancy"][0], results.summary()["context_relevancy"], judge


@pytest.mark.parametrize(
    ("numbers", "value", "outcome"),
    [
        ([1], 1 / 3, "sentences help"),
        ([1, 3], 2 / 3, "sentences help"),
        ([1, 2, 3], 1.0, "sentences help"),
        ([], 0.0, "insufficient information"),
    ],
)
def test_the_value_is_the_share_of_the_sentences_that_were_chosen(
    numbers: list[int], value: float, outcome: str
) -> None:
    score, summary, judge = summary_of(numbers)
    assert score.value == pytest.approx(value)
    assert summary["outcomes"] == {outcome: 1}
    assert '"1: Dr. Ada Smith was born in Tesk."' in judge.prompts[0]
    assert '"3: The sea is deep!"' in judge.prompts[0]


@pytest.mark.parametrize("numbers", [[4], [0], [2, 1], [1, 1], [-1]])
def test_numbers_that_no_sentence_has_are_no_score(numbers: list[int]) -> None:
    score, _, _ = summary_of(numbers)
    assert math.isnan(score.value)
    assert "the judge chose the sentences" in score.reason


def test_contexts_without_a_sentence_are_not_scored() -> None:
    score, _, judge = summary_of([], ["...", "--"])
    assert score.reason == "the contexts have no sentence"
    assert judge.asked == 0


def test_the_judge_can_write_each_number_once_and_in_order_only() -> None:
    schema = tighten(SentencesOutput, SentencesInput(user_input="q", sentences=["1: a", "2: b"]))
    array = schema["properties"]["numbers"]
    assert array["prefixItems"] == [{"const": 1}, {"const": 2}]
    assert array["x-optional"] is True


SPLIT = [
    ("english", "Dr. Smith paid $3.50 in Washington, D.C. in 1998. Why? He knew.", 3),
    ("spanish", "El Dr. García vive en EE. UU. desde 1998. ¿Por qué? «No lo sé», dijo.", 3),
    ("german", "Am 3. März 1998 kam Dr. Müller z. B. nach Berlin. Warum?", 2),
    ("french", "Il est né le 3 mars. Pourquoi ? On ne sait pas.", 3),
    ("italian", "Il sig. Rossi è nato a Roma. Perché? Non si sa.", 3),
    ("portuguese", "O Sr. Silva nasceu em 1998. Por quê? Não se sabe.", 3),
    ("chinese", "他于1998年出生。价格是3.5元。为什么?", 3),
    ("japanese", "彼は1998年に生まれた。価格は3.5円です。", 2),
    ("korean", "그는 1998년에 태어났다. 가격은 3.5원이다.", 2),
    ("hindi", "वह 1998 में पैदा हुआ था। क्यों? पता नहीं।", 3),
    ("arabic", "ولد أحمد في عام 1998. لماذا؟ لا يعرف.", 3),
    ("klingon", "A known rule. For an unknown language.", 2),
]


@pytest.mark.parametrize(("language", "text", "count"), SPLIT, ids=[language for language, *_ in SPLIT])
def test_sentences_are_found_in_each_language_and_nothing_of_the_text_is_lost(
    language: str, text: str, count: int
) -> None:
    found = sentences_of(text, find_language(language))
    assert len(found) == count
    assert "".join("".join(found).split()) == "".join(text.split())


@pytest.mark.parametrize("text", ["", "\n\n", "…", "a" * 50_000, "\u200b", "A.\x00B", "👩‍👩‍👧. 42"])
def test_odd_texts_are_divided_without_an_error(text: str) -> None:
    assert all(map(str.strip, sentences_of(text, find_language("english"))))


@pytest.mark.parametrize("name", ["context_relevanc", "context_relevancee"])
def test_both_names_that_differ_by_a_letter_are_named(name: str) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'context_relevanc[ey]' or 'context_relevanc[ey]'"):
        select_metrics([name])
