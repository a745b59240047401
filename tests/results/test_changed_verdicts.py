"""Verdicts that changed between two runs, in words."""

from collections.abc import Sequence
from typing import Any

import pytest
from aliases import Json

from rag_evaluator.results import verdict_changes


def record(metric: str, *judgements: Json) -> Json:
    return {"metric": metric, "judgements": list(judgements)}


def asked(response: Any, prompt: str = "prompt", **parts: Any) -> Json:
    return {"prompt": prompt, "input": parts, "response": response}


def claims(*verdicts: tuple[str, int], metric: str = "faithfulness", column: str = "retrieved_contexts") -> Json:
    statements = [{"statement": text, "reason": f"why {verdict}", "verdict": verdict} for text, verdict in verdicts]
    return record(metric, asked({"statements": statements}, context={"column": column, "items": 2, "joined": "\n"}))


def useful(*verdicts: int, items: Sequence[int] = (0, 1, 2), metric: str = "context_precision_with_reference") -> Json:
    return record(
        metric,
        *(
            asked({"reason": "so", "verdict": verdict}, context={"column": "retrieved_contexts", "item": item})
            for verdict, item in zip(verdicts, items, strict=False)
        ),
    )


def correct(**lists: Sequence[str]) -> Json:
    answer = {key: [{"statement": text, "reason": "so"} for text in texts] for key, texts in lists.items()}
    return record("answer_correctness", asked(answer, "correctness_classifier_prompt"))


def one(metric: str, key: str, value: Any, prompt: str = "prompt", **parts: Any) -> Json:
    return record(metric, asked({"reason": "so", key: value}, prompt, **parts))


def changes(first: Json | Sequence[Json], second: Json | Sequence[Json], worse: bool = True) -> Sequence[Any]:
    sides = [list(side) if isinstance(side, Sequence) else [side] for side in (first, second)]
    return verdict_changes(*sides, worse)


SENTENCES: dict[str, tuple[Json, Json, list[str]]] = {
    "a claim is lost": (
        claims(("Annam", 1)),
        claims(("Annam", 0)),
        ["claim “Annam”: not supported instead of supported"],
    ),
    "contexts": (
        useful(1, 1, 0),
        useful(1, 0, 1),
        ["context 2: not useful instead of useful", "context 3: useful instead of not useful"],
    ),
    "ratings": (
        one("answer_accuracy", "rating", 4),
        one("answer_accuracy", "rating", 2),
        ["rating: agrees in part instead of agrees"],
    ),
    "a claim in both": (
        correct(TP=["Om"], FP=["Tesk"], FN=["Annam"]),
        correct(TP=["Tesk", "Annam"], FP=["Om"], FN=[]),
        [
            "claim “Om”: not in the reference instead of in both",
            "claim “Tesk”: in both instead of not in the reference",
            "claim “Annam”: in both instead of missing in the response",
        ],
    ),
    "a claim of the reference alone": (
        correct(TP=[], FP=[], FN=[]),
        correct(TP=[], FP=[], FN=["Annam"]),
        ["claim of the reference “Annam”, in the second run only: missing in the response"],
    ),
    "a grade": (one("mine", "score", 4), one("mine", "score", 2.5), ["rating: score 2.5 instead of score 4"]),
    "what nobody knows": (one("mine", "verdict", 1), one("mine", "verdict", 0), []),
    "an error": (
        claims(("Om", 1)),
        record("faithfulness", {"prompt": "p", "error": "no answer"}),
        ["claim “Om”, in the first run only: supported"],
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_change_is_described_in_words(name: str) -> None:
    first, second, sentences = SENTENCES[name]
    assert [change.says() for change in changes(first, second)] == sentences


def test_texts_that_differ_in_their_unicode_form_alone_are_the_same_claim() -> None:
    assert changes(claims(("Caf\u00e9", 1)), claims(("Cafe\u0301", 1))) == ()


def test_changes_in_the_direction_of_the_score_come_first_and_what_both_sides_have_before_all_else() -> None:
    first = claims(("Both", 0), ("Lost", 1), ("Old fault", 0), ("Old truth", 1))
    second = claims(("Both", 1), ("Lost", 0), ("New truth", 1), ("New fault", 0))
    worse = [change.about for change in changes(first, second, worse=True)]
    better = [change.about for change in changes(first, second, worse=False)]
    assert worse == ["Lost", "Both", "New fault", "Old truth", "New truth", "Old fault"]
    assert better == ["Both", "Lost", "New truth", "Old fault", "New fault", "Old truth"]


def test_verdicts_on_which_a_side_does_not_agree_are_left_out() -> None:
    agreed = [claims(("Om", 1)), claims(("Om", 1))]
    divided = [claims(("Om", 1)), claims(("Om", 0))]
    lost = [claims(("Om", 0)), claims(("Om", 0))]
    assert changes(agreed, divided) == ()
    assert changes(divided, lost) == ()
    assert [change.says() for change in changes(agreed, lost)] == ["claim “Om”: not supported instead of supported"]


def test_the_reason_is_that_of_the_second_side_or_of_the_only_one() -> None:
    found = changes(claims(("Om", 1), ("Tesk", 1)), claims(("Om", 0)))
    assert [(change.about, change.reason) for change in found] == [("Om", "why 0"), ("Tesk", "why 1")]


def verified(*verdicts: tuple[str, int], left_out: Sequence[str] = (), metric: str = "groundedness") -> Json:
    rows = [{"statement": text, "verdict": verdict, "probability": 0.1 + 0.8 * verdict} for text, verdict in verdicts]
    not_counted = [{"sentence": text, "why": "question"} for text in left_out]
    questions = [asked({"1": 0.9, "2": 0.1}, hypothesis=text) for text, _ in verdicts]
    return record(metric, *questions, asked({"sentences": rows, "pieces": 1, "not_counted": not_counted}, "verifier"))


def test_sentences_that_a_verifier_judged_are_compared_and_those_that_do_not_count_are_not() -> None:
    made = changes(verified(("Om is long.", 1), ("It is cold.", 1)), verified(("Om is long.", 0), left_out=["Is it?"]))
    assert [change.says() for change in made] == [
        "sentence of the response “Om is long.”: not supported instead of supported",
        "sentence of the response “It is cold.”, in the first run only: supported",
    ]
