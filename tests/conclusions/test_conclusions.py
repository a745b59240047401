"""Results made by hand, and the sentence that a statistician would sign under each of them."""

from typing import Any

import pytest
from conclusions.made_results import NAN, QWEN, made

from rag_evaluator import RAGEvaluator, ScriptedJudge, compare
from rag_evaluator.config import DEMO
from rag_evaluator.results import Comparison, judge_words, toy_sentence

HALF = [0.0, 1.0]
F = "faithfulness"
R = "context_recall"
UNSUPPORTED = "the response says something that its contexts do not support"
THIS = "according to this judge"

COMPARISONS: dict[str, tuple[dict[str, list[float]], dict[str, list[float]], dict[str, Any], list[str]]] = {
    "better": (
        {F: [0.0] * 10 + [1.0] * 20},
        {F: [1.0] * 30},
        {},
        [f"b is better in faithfulness by 0.33 [0.14, 0.50], {THIS}."],
    ),
    "worse, where lower is better": (
        {"noise_sensitivity": [0.0] * 30},
        {"noise_sensitivity": [1.0] * 15 + [0.0] * 15},
        {},
        [f"b is worse in noise_sensitivity by 0.50 [0.29, 0.67], {THIS}."],
    ),
    "better in one, worse in another, the third unchanged": (
        {F: [0.0] * 30, R: [1.0] * 30, "answer_accuracy": [0.5] * 30},
        {F: [1.0] * 30, R: [0.0] * 30, "answer_accuracy": [0.5] * 30},
        {},
        [
            "b is better in faithfulness by 1.00 [0.81, 1.00] and is worse in context_recall by 1.00 [0.81, 1.00], "
            f"{THIS}.",
            "In 30 rows no score of answer_accuracy differs.",
        ],
    ),
    "one metric is not settled, two are equal in all rows": (
        {F: HALF * 15, R: HALF * 15, "answer_accuracy": [0.5] * 30},
        {F: [1.0, 0.0] * 15, R: HALF * 15, "answer_accuracy": [0.5] * 30},
        {},
        [
            f"Not settled: b may be better or worse than a, {THIS}. faithfulness 0.50 → 0.50 in 30 shared rows (0.00 "
            "[-0.38, 0.38]; p 1.00 after correction for 3 metrics). A difference of 0.05 needs about 3,300 rows.",
            "In 30 rows no score of context_recall and answer_accuracy differs.",
        ],
    ),
    "equal within a margin given beforehand": (
        {F: HALF * 100},
        {F: HALF * 100},
        {"margin": 0.05},
        [f"Equal within the margin of 0.05: faithfulness 0.000 [-0.014, 0.014], {THIS}."],
    ),
    "different, but less than the margin": (
        {"semantic_similarity": [0.5] * 400},
        {"semantic_similarity": [0.51, 0.53] * 200},
        {"margin": 0.05},
        ["Different, but less than the margin of 0.05: semantic_similarity 0.020 [0.019, 0.021]."],
    ),
    "two clusters": (
        {F: [0.0] * 30},
        {F: [0.0, 1.0, 1.0] * 10},
        {"clusters": ["one", "one", "two"] * 10},
        [
            f"Not settled: b may be better or worse than a, {THIS}. faithfulness 0.00 → 0.67 in 30 shared rows (+0.67 "
            "[-0.67, 1.00]; p 0.49). More rows of the same clusters do not help, more clusters do."
        ],
    ),
    "another judge": (
        {F: [0.0] * 10 + [1.0] * 20},
        {F: [1.0] * 30},
        {"judges": ("/models/Llama-3.1-8B", QWEN)},
        ["b scores better in faithfulness by 0.33 [0.14, 0.50], according to these judges."],
    ),
    "half of the scores missing": (
        {F: [0.0, NAN] * 15},
        {F: [1.0] * 30},
        {},
        [
            f"b is better in faithfulness by 1.00 [0.63, 1.00], {THIS}.",
            "faithfulness was compared in 15 of 30 rows only: the others lack a score, and may differ.",
        ],
    ),
    "all scores of one run missing": (
        {F: [NAN] * 30},
        {F: [1.0] * 30},
        {},
        ["No row has a score of faithfulness in both runs: nothing is known of it."],
    ),
}


def compared_by_hand(name: str) -> Comparison:
    """The second of two runs against the first."""
    first, second, options, _ = COMPARISONS[name]
    judges = options.get("judges", (QWEN, QWEN))
    runs = [
        made(scores, run, judge, options.get("clusters"))
        for scores, run, judge in zip((first, second), "ab", judges, strict=True)
    ]
    return compare(*runs, margin=options.get("margin"))


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_says(name: str) -> None:
    comparison = compared_by_hand(name)
    sentences = COMPARISONS[name][-1]
    assert list(comparison.conclusion.sentences) == sentences
    assert str(comparison).startswith("\n".join(sentences))


EVALUATIONS: dict[str, tuple[dict[str, list[float]], dict[str, Any], list[str]]] = {
    "one metric is lowest, but not shown to be": (
        {F: [0, 0, 0, 0.5] * 3 + [1] * 12, R: [1] * 20 + [0] * 4},
        {},
        [
            f"Lowest mean: faithfulness 0.56 [0.37, 0.74], {THIS}.",
            f"In 12 of 24 rows {UNSUPPORTED}.",
            f"Where to look, {THIS}: of 20 rows whose contexts hold the whole reference (context_recall 1), 12 have "
            "faithfulness below 1 (60 % [37, 79]): they point to the generator.",
            "Of 9 rows with faithfulness below 0.5, none has context_recall below 1 (0 % [0, 39]; of all 24 counted "
            "rows 17 %): nothing points to retrieval.",
            "Worst rows: 0, 1, 2, 4, 5.",
        ],
    ),
    "all perfect": (
        {F: [1] * 30, "answer_accuracy": [1] * 30},
        {},
        [
            "All scores are the best ones: faithfulness 1.00 [0.87, 1.00] and answer_accuracy 1.00 [0.87, 1.00], "
            f"{THIS}."
        ],
    ),
    "all zero": (
        {F: [0] * 30, R: [0] * 30},
        {},
        [
            f"Lowest means: faithfulness 0.00 [0.00, 0.13] and context_recall 0.00 [0.00, 0.13], {THIS}.",
            "All scores of faithfulness (0) and context_recall (0) are equal: "
            "read some rows to see whether the judge is right.",
            "Worst rows: 0, 1, 2, 3, 4.",
        ],
    ),
    "half of the scores missing": (
        {F: [1, NAN] * 15},
        {},
        [
            f"Mean of faithfulness 1.00 [0.75, 1.00], {THIS}.",
            "No score of 15 rows is below 1; with the missing scores the mean is from 0.50 to 1.00.",
            "15 of 30 scores of faithfulness are missing (the judge gave no answer).",
        ],
    ),
    "no score at all for two reasons": (
        {F: [NAN] * 3, R: [NAN] * 3},
        {"reasons": {0: "no response in this row"}},
        ["No score could be made in 3 rows: most often, 4 of 6, the judge gave no answer."],
    ),
    "the toy judge says nothing of causes in a language that it does not know": (
        {F: [1, 0, 1, 0.5] * 2, R: [1, 1, 0, 0] * 2},
        {"judge": "demo", "language": "japanese"},
        [
            "Lowest mean: context_recall 0.50 [0.17, 0.83], according to the toy judge, which does not know Japanese.",
            "In 4 of 8 rows the contexts lack something that the reference says.",
            "Worst rows: 3, 7, 1, 5, 2.",
        ],
    ),
    "refusals are apart": (
        {F: [0, 0, 1, 1, 0, 1] * 4, R: [1, 1, 1, 0, 0, 1] * 4, "answer_relevancy": [0, 0.5, 0.6, 0.7, 0, 0.9] * 4},
        {},
        [
            f"Lowest mean: faithfulness 0.50 [0.30, 0.70], {THIS}.",
            f"In 12 of 24 rows {UNSUPPORTED}.",
            f"Where to look, {THIS}: of 12 rows whose contexts hold the whole reference (context_recall 1), 4 have "
            "faithfulness below 1 (33 % [12, 64]): they point to the generator.",
            "Of 4 rows with faithfulness below 0.5, none has context_recall below 1 (0 % [0, 75]; of all 16 counted "
            "rows 25 %): nothing points to retrieval.",
            "Not counted there: 8 rows whose response the judge takes for a refusal.",
            "Worst rows: 4, 10, 16, 22, 0.",
        ],
    ),
    "fewer than ten rows point nowhere": (
        {F: [0, 0, 1, 1, 0, 1], R: [1, 1, 1, 0, 0, 1]},
        {},
        [
            f"Lowest mean: faithfulness 0.50 [0.13, 0.87], {THIS}.",
            f"In 3 of 6 rows {UNSUPPORTED}.",
            "Worst rows: 4, 0, 1, 3.",
        ],
    ),
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_evaluation_says(name: str) -> None:
    scores, options, sentences = EVALUATIONS[name]

    shown = str(made(scores, **options))

    assert shown.splitlines()[: len(sentences)] == sentences
    assert shown.splitlines()[len(sentences)].startswith("a: ")


def test_a_judge_that_was_given_in_python_is_not_called_the_demo_judge() -> None:
    judge = ScriptedJudge(lambda *_: {"rating": 1})
    row = {"user_input": "Who?", "retrieved_contexts": ["Nolu Brak was born in Tesk."]}

    results = RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge).evaluate([row, row])

    assert str(results).startswith("Mean of context_relevance 0.50 [")
    assert "according to this judge" in str(results)


@pytest.mark.parametrize(
    ("models", "language", "words"),
    [
        ([DEMO], "japanese", ", according to the toy judge, which does not know Japanese"),
        ([DEMO, QWEN], "japanese", ", according to the toy judge and others, which does not know Japanese"),
        ([DEMO], None, ", according to the toy judge"),
        ([QWEN], "japanese", ", according to this judge"),
    ],
)
def test_the_toy_judge_knows_english_and_spanish(models: list[str], language: str | None, words: str) -> None:
    assert judge_words(*({"judge": {"model": model}, "language": language} for model in models)) == words
    sentence = toy_sentence(models[0], language)
    assert sentence.startswith("The demo judge is a toy") == (models[0] == DEMO)
    assert ("that was trained on English and Spanish, not on" in sentence) == ("does not know" in words)


def test_of_several_runs_each_sentence_names_its_run() -> None:
    base, better, same = (
        made({F: scores}, name) for name, scores in (("base", [0.0] * 30), ("better", [1.0] * 30), ("same", [0.0] * 30))
    )

    assert list(compare(base, better, same).conclusion.sentences) == [
        f"better is better in faithfulness by 1.00 [0.81, 1.00], {THIS}.",
        "same: In 30 rows no score differs.",
    ]
