"""Refusals are told from answers that look like one, in each language that has phrases."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.config import LANGUAGES
from rag_evaluator.verifiers import is_refusal

APART = "apart"  # written when the phrases were there, and never read for them
ENGLISH = LANGUAGES["english"]
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_refusals_are_found_and_answers_are_not() -> None:
    found = [row for row in ROWS if is_refusal(row["response"], LANGUAGES[row["language"]])]
    right = [row for row in found if row["kind"] == "refusal"]
    assert len(right) >= 0.95 * len(found), [row for row in found if row["kind"] != "refusal"]
    known = [row for row in ROWS if row["kind"] == "refusal" and row["part"] != APART]
    assert len([row for row in right if row["part"] != APART]) >= 0.9 * len(known)


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
        ("How wide is it?", False),
        ("", False),
    ],
)
def test_a_refusal_may_cite_and_give_a_reason_and_a_partial_answer_is_none(response: str, expected: bool) -> None:
    assert is_refusal(response, ENGLISH) is expected


def test_without_phrases_of_its_language_nothing_is_a_refusal() -> None:
    assert not is_refusal("I don't know.", LANGUAGES["russian"])
