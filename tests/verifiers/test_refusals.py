"""Refusals are told from answers that look like one, in each language that has phrases."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.config import LANGUAGES
from rag_evaluator.verifiers import is_refusal

ENGLISH = LANGUAGES["english"]
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(
    ("writer", "recall", "precision"),
    [("strangers", 0.85, 0.95), ("ourselves", 0.85, 0.95), ("published", 0.85, 0.95), ("unread", 0.85, 0.85)],
)
def test_refusals_are_found_and_answers_are_not(writer: str, recall: float, precision: float) -> None:
    """The words were chosen by these texts, but for the unread ones, a quarter of the last set of a stranger.

    That set has a recall of 112/120 and a precision of 112/122; half of its texts only look like a refusal.
    """
    rows = [row for row in ROWS if row["by"] == writer]
    found = [row["kind"] for row in rows if is_refusal(row["response"], LANGUAGES[row["language"]])]
    assert found.count("refusal") >= precision * len(found)
    assert found.count("refusal") >= recall * [row["kind"] for row in rows].count("refusal")


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("I don't know.", True),
        ("I cannot answer this [2], because the documents only cover 1990.", True),
        (
            "Unfortunately, there is no information about the peptide (BNP) in the context. Shall I look elsewhere?",
            True,
        ),
        ("The report does not mention the cost, but it took 5 years.", False),
        ("I don't know.\n```sh\nls\n```", False),
        ("I don't know. The hall was built of brick.", False),
        ("The court could not determine who signed the report.", False),
        ("The list names no fee for it, so you can take it free of charge.", False),
        ("According to the report, nobody was hurt.", False),
        ('The text gives no figure, but speaks of "almost two tons".', False),
        ("Hmm, I found nothing on that in our help center 🙂 Shall I ask somebody?", True),
        ("How wide is it?", False),
        ("", False),
    ],
)
def test_a_refusal_may_cite_and_give_a_reason_and_a_partial_answer_is_none(response: str, expected: bool) -> None:
    assert is_refusal(response, ENGLISH) is expected


@pytest.mark.parametrize(
    ("language", "response"),
    [
        ("english", "I don't know who wrote The White Shadow."),
        ("english", "I don't know when Orwell wrote 1984."),
        ("spanish", "No sé quién escribió La Sombra Blanca."),
        ("spanish", "No sabemos hasta cuándo dura la feria."),
        ("portuguese", "Não sabemos quem escreveu A Sombra Branca."),
        ("german", "Ich weiß nicht, wann Mann den Roman schrieb."),
        ("french", "Nous ne savons pas qui écrivit ce roman."),
        ("italian", "Non sappiamo chi scrisse il romanzo."),
    ],
)
def test_who_does_not_know_may_repeat_the_question(language: str, response: str) -> None:
    assert is_refusal(response, LANGUAGES[language])


def test_without_phrases_of_its_language_nothing_is_a_refusal() -> None:
    assert not is_refusal("I don't know.", LANGUAGES["russian"])
