"""summary_score and quoted_spans_alignment where ragas' number would mean nothing."""

from typing import Any

import pytest
from ragas.metrics.collections.summary_score.util import (
    AnswersGenerated,
    ExtractedKeyphrases,
    ExtractedKeyphrasesInput,
    GenerateAnswersInput,
    GenerateQuestionsInput,
    QuestionsGenerated,
)

from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.judge import tighten

ROW: dict[str, Any] = {"reference_contexts": ["Ada Smith was born in Tesk."], "response": "Ada was born in Tesk."}


def summary(keyphrases: list[str], questions: list[str], answers: list[str]) -> Any:
    script = {
        "ExtractedKeyphrases": {"keyphrases": keyphrases},
        "QuestionsGenerated": {"questions": questions},
        "AnswersGenerated": {"answers": answers},
    }
    config = {"metrics": ["summary_score"], "metric_options": {"summary_score": {"length_penalty": False}}}
    (score,) = RAGEvaluator(config, judge=ScriptedJudge(script)).evaluate([ROW]).scores["summary_score"]
    return score


def test_a_summary_scores_the_share_of_questions_that_it_answers() -> None:
    assert summary(["Ada"], ["a?", "b?", "c?", "d?"], ["1", "0", "1", "1"]).value == 0.75


@pytest.mark.parametrize(
    ("said", "reason", "lasting"),
    [
        (([], ["a?"], ["1"]), "the judge found no keyphrase in the reference contexts", True),
        ((["Ada"], [], ["1"]), "the judge asked no question about the reference contexts", True),
        ((["Ada"], ["a?"], []), "the judge gave 0 answers to 1 questions", False),
        ((["Ada"], ["a?", "b?"], ["1"]), "the judge gave 1 answers to 2 questions", False),
        (
            (["Ada"], ["a?"], ["yes"]),
            "the AnswersGenerated is off its scale: answers[] is 'yes': expected '0' or '1'",
            False,
        ),
    ],
)
def test_a_summary_without_questions_or_answers_is_no_score(said: Any, reason: str, lasting: bool) -> None:
    score = summary(*said)
    assert (score.missing, score.reason, score.lasting) == (True, reason, lasting)


def test_keyphrases_and_questions_end_and_each_question_is_answered_once() -> None:
    text = "one two three four"
    keyphrases = tighten(ExtractedKeyphrases, ExtractedKeyphrasesInput(text=text))["properties"]["keyphrases"]
    assert (keyphrases["minItems"], keyphrases["maxItems"]) == (1, 5)
    data = GenerateQuestionsInput(text=text, keyphrases=["one", "two"])
    questions = tighten(QuestionsGenerated, data)["properties"]["questions"]
    assert (questions["minItems"], questions["maxItems"]) == (1, 4)
    schema = tighten(AnswersGenerated, GenerateAnswersInput(summary="s", questions=["a?", "b?"]))
    assert schema["properties"]["answers"]["prefixItems"] == [{"enum": ["0", "1"]}] * 2


def quotes(response: str, **options: Any) -> Any:
    row = {"response": response, "retrieved_contexts": ["The film was shot in Lisbon.", "人人生而自由"]}
    config = {"metrics": ["quoted_spans_alignment"], "metric_options": {"quoted_spans_alignment": options}}
    (score,) = RAGEvaluator(config).evaluate([row]).scores["quoted_spans_alignment"]
    return score


@pytest.mark.parametrize(
    ("response", "options", "value"),
    [
        ('It says "was shot in" and "was made in".', {}, 0.5),
        ("It says “WAS SHOT  IN”.", {}, 1.0),
        ("It says “WAS SHOT IN”.", {"casefold": False}, 0.0),
        ('It says "in Lisbon".', {"min_span_words": 2}, 1.0),
        ("It's said that the film's from Porto.", {}, 0.0),  # ragas takes apostrophes for quotation marks
    ],
)
def test_the_share_of_quotations_that_are_in_the_contexts(response: str, options: Any, value: float) -> None:
    assert quotes(response, **options).value == value


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("It was shot in Lisbon.", "the response quotes no span of 3 words or more"),
        ('It says "in Lisbon".', "the response quotes no span of 3 words or more"),
        ('他说"人人生而自由"。', "quotations are found by the number of words between spaces"),
        ("彼は「自由」と言った。", "quotations are found by the number of words between spaces"),
        ('He writes "自由 自由 自由" often.', "quotations are found by the number of words between spaces"),
    ],
)
def test_a_response_without_quotations_that_can_be_seen_is_no_score(response: str, reason: str) -> None:
    score = quotes(response)
    assert (score.missing, score.lasting) == (True, True)
    assert score.reason.startswith(reason)
