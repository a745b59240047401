"""What a refusal has as a score, how refusals are summed up, compared and bounded."""

from typing import Any

import pytest
from aliases import Json

from rag_evaluator import ConfigError, RAGEvaluator, Results, ScriptedJudge, compare, gate

NO = "I cannot answer this from the documents."


def rows(refused: range, unanswerable: range = range(0)) -> list[Json]:
    """A hundred rows, of which a system refuses some."""
    return [
        {
            "id": f"q{n}",
            "user_input": f"How high is tower {n}?",
            "response": NO if n in refused else f"Tower {n} is {n} metres high.",
            "reference": "Nobody can know." if n in unanswerable else f"Tower {n} is {n} metres high.",
            "answerable": n not in unanswerable,
        }
        for n in range(100)
    ]


def scored(data: list[Json], **config: Any) -> Results:
    return RAGEvaluator({"metrics": ["chrf_score"], **config}).evaluate(data)


@pytest.mark.parametrize(("refusals", "mean", "count"), [("as_scored", None, 100), (0, 0.7, 100), ("missing", 1.0, 70)])
def test_a_refusal_has_the_value_that_is_declared(refusals: str | int, mean: float | None, count: int) -> None:
    results = scored(rows(range(30)), refusals=refusals)
    [row] = results.summary().values()
    assert row["scored"] == count
    assert mean is None or row["mean"] == pytest.approx(mean)
    assert (row["answered"]["mean"], row["answered"]["scored"]) == (pytest.approx(1), 70)
    assert row["refusals"]["answerable"] == {"answered": 70, "refused": 30}
    assert results.rows()[0]["refused_by"] == "words"
    assert "refused_by" not in results.rows()[30]
    assert ("refusals" in results.signatures["chrf_score"]) == (refusals != "as_scored")
    assert str(results).startswith("30 of 100 responses refuse to answer (30 % [22, 40]), 30 of them where")


def test_without_refusals_nothing_is_said_of_them() -> None:
    results = scored(rows(range(0)))
    assert not {"answered", "refusals"} & set(results.summary()["chrf_score"])
    assert "refuse" not in str(results)


@pytest.mark.parametrize(("verdict", "by"), [(1, "judge"), (0, None)])
def test_the_judge_decides_where_it_is_asked(verdict: int, by: str | None) -> None:
    answer = {"reason": "r", "verdict": verdict}
    judge = ScriptedJudge({"AnswerableOutput": answer, "RefusedOutput": answer})
    config = {"metrics": ["chrf_score", "refusal_correctness"], "refusals": "missing"}
    results = RAGEvaluator(config, judge).evaluate(rows(range(1))[:1])
    [row] = results.rows()
    assert results.signatures["chrf_score"].endswith("|refusals:3,judge,missing")
    assert row.get("refused_by") == by
    assert (row["chrf_score"] is None) == (by == "judge")
    assert row["refusal_correctness"] is not None
    disagree = "The judge and the words disagree on refusals in 1 of 1 row."
    assert (disagree in str(results)) == (by is None)
    assert results.summary()["chrf_score"].get("refusals", {}).get("disagree") == (1 if by is None else None)


def test_a_refused_by_of_an_earlier_run_is_not_kept() -> None:
    [row] = scored([{**rows(range(0))[1], "refused_by": "words"}]).rows()
    assert "refused_by" not in row


def test_two_systems_equal_where_they_answer_differ_in_refusals_alone() -> None:
    a, b = (scored(rows(range(count)), refusals=0, name=name) for count, name in ((0, "a"), (30, "b")))
    first, second = compare(a, b).conclusion.sentences[:2]
    assert first.startswith("b is worse in chrf_score by 0.30 [")
    assert second.startswith("b refuses more often than a: the share differs by 0.30 [0.2")
    assert second.endswith(
        "Conditional, in the 70 rows that both answer, the differences are: chrf_score 0.00 [-0.04, 0.04]."
    )


def test_a_bound_on_refusals_fails_who_refuses_wrongly_and_passes_who_does_so_rightly() -> None:
    wrongly = gate(scored(rows(range(30))), "refusals <= 0.1")
    assert not wrongly.passed
    assert "0.30 [0.22, 0.40] in 100 rows, the rule allows at most 0.1" in str(wrongly)
    rightly = gate(scored(rows(range(30), range(30))), "refusals <= 0.1")
    assert rightly.passed
    assert "30 rows left out, whose question cannot be answered, or nobody says it" in rightly[0].reason
    with pytest.raises(ConfigError, match="of refusals lower is better"):
        scored(rows(range(1)), require=["refusals >= 0.1"])
    kept = scored(rows(range(30), range(30)), require=["refusals <= 0.1"])
    assert gate(kept, not_worse_than=scored(rows(range(30), range(30))), margin=0.1).passed
