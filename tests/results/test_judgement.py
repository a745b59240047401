"""What the judge said of a score, in a few lines."""

import json
from typing import Any

from rag_evaluator.results import Judgement, explained, few_lines, judgements_of


def record(*verdicts: tuple[str, int, str], metric: str = "faithfulness") -> dict[str, Any]:
    statements = [{"statement": text, "reason": reason, "verdict": verdict} for text, verdict, reason in verdicts]
    return {"metric": metric, "judgements": [{"prompt": "nli", "response": {"statements": statements}}]}


def test_verdicts_are_shown_in_words() -> None:
    lines = explained([record(("A.", 0, "no"))])
    assert few_lines(lines) == ("not supported: “A.”. no",)
    rated = {"metric": "context_relevance", "judgements": [{"prompt": "rating", "response": {"rating": 1}}]}
    assert few_lines(explained([rated])) == ("partly relevant",)
    unknown = {"metric": "mine", "judgements": [{"prompt": "p", "response": {"score": 4, "reason": "fine"}}]}
    assert few_lines(explained([unknown])) == ("score 4. fine",)


def test_bad_verdicts_come_before_good_ones() -> None:
    lines = explained([record(("A.", 1, "yes"), ("B.", 1, "yes"), ("C.", 1, "yes"), ("D.", 0, "no"))])
    assert few_lines(lines)[0] == "not supported: “D.”. no"


def test_a_judgement_is_read_as_it_was_written() -> None:
    made = Judgement("nli", "d", "s", {"context": {"column": "response"}}, {"verdict": 1}, None, (0.9,), 12, 3)
    line = json.loads(json.dumps({"metric": "faithfulness", "judgements": [made.to_json()]}))
    assert "thinking" not in line["judgements"][0]
    [read] = judgements_of(line)
    assert (read.metric, read.columns, read.verdict) == ("faithfulness", {"response"}, 1)
    assert read.to_json() == line["judgements"][0]
    thought = Judgement("nli", thinking="hm", cut=("thinking",))
    assert Judgement.from_json(thought.to_json()) == thought


def test_an_answer_says_its_numbers_texts_and_lists_in_order() -> None:
    answer = {"statement": " s ", "verdict": 0, "names": ["a", "b"], "TP": [{"statement": "t", "reason": "r"}]}
    found = list(Judgement("p", response=answer, confidence=(0.7,)).verdicts())
    assert [(verdict.key, verdict.value, verdict.statement) for verdict in found] == [
        ("verdict", 0, "s"),
        ("names", None, None),
        ("TP", None, None),
        ("TP", None, "t"),
    ]
    assert [verdict.confidence for verdict in found] == [0.7, None, None, None]
    assert Judgement("p", response={"1": 0.25, "2": 0.75}).shares == {"1": 0.25, "2": 0.75}


def test_missing_scores_and_errors_are_explained_by_themselves() -> None:
    assert [line.says() for line in explained([{"metric": "m", "reason": "too long", "judgements": []}])] == [
        "too long"
    ]
    failed = {"metric": "m", "reason": None, "judgements": [{"prompt": "p", "response": None, "error": "cut off"}]}
    assert [line.says() for line in explained([failed])] == ["cut off"]
