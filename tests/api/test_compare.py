"""`compare`: runs made by a scripted judge, tables from elsewhere, and what cannot be compared."""

import json
import math
import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from aliases import Json, Rows
from pydantic import BaseModel
from scipy import stats

from rag_evaluator import RAGEvaluator, RagEvaluatorError, Results, ScriptedJudge, compare, gate
from rag_evaluator.results import ScorePair, verdict_words

COUNT = 20
CHANGED = 7


def judge(prompt: str, response_model: type[BaseModel]) -> Mapping[str, Any]:
    """Two statements in each answer; of a context that says no the first is not faithful."""
    if response_model.__name__ == "StatementGeneratorOutput":
        return {"statements": ["He lives.", "She lives."]}
    supported = int("It says no." not in prompt)
    return {
        "statements": [
            {"statement": "He lives.", "reason": "said" if supported else "denied", "verdict": supported},
            {"statement": "She lives.", "reason": "said", "verdict": 1},
        ]
    }


def rows_of(changed: int | None = None, count: int = COUNT) -> Rows:
    return [
        {
            "question": f"Question {number}?",
            "contexts": ["It says no." if number == changed else "It says so."],
            "answer": "He lives. She lives.",
            "ground_truth": "They live.",
            "topic": "odd" if number % 2 else "even",
        }
        for number in range(count)
    ]


def evaluated(rows: Rows, folder: Path | None = None, **settings: Any) -> Results:
    config = {"metrics": ["faithfulness", "exact_match"], **settings}
    return RAGEvaluator(config, judge=ScriptedJudge(judge, model_id="script")).evaluate(rows, folder=folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A baseline, and a run in which one answer is less faithful."""
    base = tmp_path_factory.mktemp("results")
    evaluated(rows_of(), base / "a")
    evaluated(rows_of(CHANGED), base / "b")
    return base / "a", base / "b"


def table(**columns: Any) -> pd.DataFrame:
    count = len(next(iter(columns.values())))
    return pd.DataFrame({"user_input": [f"Q{number}" for number in range(count)], **columns})


def test_the_only_changed_answer_comes_first_with_the_judge_s_words_on_both_sides(folders: tuple[Path, Path]) -> None:
    comparison = compare(*folders)
    (change,) = comparison.changed
    assert (change.question, change.metric, change.direction) == (f"Question {CHANGED}?", "faithfulness", "worse")
    assert (change.a, change.b) == (1.0, 0.5)
    assert change.says() == [("claim “He lives.”: not supported instead of supported", "denied")]
    assert (change.response_a, change.response_b) == ("He lives. She lives.", "He lives. She lives.")
    figures = comparison.metrics[0].figures
    assert (figures.wins, figures.ties, figures.losses) == (0, COUNT - 1, 1)
    assert figures.difference.mean == pytest.approx(-0.5 / COUNT)
    assert figures.p is not None
    assert figures.p > 0.5
    assert comparison.caveats == ()


def test_results_in_memory_are_compared_as_their_folders_are(folders: tuple[Path, Path]) -> None:
    in_memory = compare(evaluated(rows_of()), evaluated(rows_of(CHANGED)))
    from_disk = compare(*folders)
    assert in_memory.runs == ("run", "run (2)")
    assert [line.figures for line in in_memory.metrics] == [line.figures for line in from_disk.metrics]
    assert in_memory.changed[0].verdicts == from_disk.changed[0].verdicts


def test_a_run_does_not_differ_from_itself(folders: tuple[Path, Path]) -> None:
    comparison = compare(folders[0], folders[0])
    assert comparison.changed == ()
    for line in comparison.metrics:
        figures = line.figures
        assert (figures.difference.mean, figures.p, figures.ties) == (0.0, 1.0, COUNT)
        assert figures.smallest_difference is None  # of rows that do not vary nothing can be said


def test_json_and_frame_have_a_flat_line_per_metric(folders: tuple[Path, Path]) -> None:
    comparison = compare(*folders, group_by=["topic"])
    lines = json.loads(json.dumps(comparison.to_json(), allow_nan=False))["metrics"]
    assert [line["metric"] for line in lines] == ["faithfulness", "exact_match"]
    frame = comparison.to_pandas()
    assert list(frame["group"].fillna("")) == ["", "", "even", "even", "odd", "odd"]
    assert frame["p"].notna().tolist() == [True, True, False, False, False, False]
    assert frame["n"].tolist() == [COUNT, COUNT, *[COUNT / 2] * 4]


def test_the_order_of_rows_changes_nothing() -> None:
    rng = random.Random(0)
    a = table(faithfulness=[rng.random() for _ in range(40)], bleu=[rng.random() for _ in range(40)])
    b = table(faithfulness=[rng.random() for _ in range(40)], bleu=[rng.random() for _ in range(40)])
    a, b = (frame.assign(id=frame["user_input"]) for frame in (a, b))  # else rows are called by their places
    shuffled = [frame.sample(frac=1, random_state=seed) for seed, frame in enumerate((a, b))]
    assert compare(a, b).to_json() == compare(*shuffled).to_json()


def test_with_three_runs_the_first_is_the_baseline_and_one_family_holds_all_tests() -> None:
    a, b, c = (table(faithfulness=[value] * 8) for value in (0.0, 1.0, 0.5))
    comparison = compare(a, b, c)
    assert [line.run for line in comparison.metrics] == ["run 2", "run 3"]
    assert [line.figures.difference.mean for line in comparison.metrics] == [1.0, 0.5]
    # 8 ln(1 + k x) + 0.4 ln(1 - k) is largest for k = 7.6 / 8.4 where x is 1, for k = 3.6 / 4.2 where x is 0.5
    ratios = [
        8 * math.log1p(7.6 / 8.4) + 0.4 * math.log(0.8 / 8.4),
        8 * math.log1p(1.8 / 4.2) + 0.4 * math.log(0.6 / 4.2),
    ]
    expected = [factor * stats.norm.sf(math.sqrt(2 * ratio)) for factor, ratio in zip((4, 2), ratios, strict=True)]
    assert [line.figures.p_holm for line in comparison.metrics] == pytest.approx(expected)


def test_columns_of_ragas_to_pandas_are_metrics_by_their_names() -> None:
    names = ["llm_context_precision_with_reference", "factual_correctness(mode=f1)", "nv_accuracy", "my_score"]
    a, b = (table(**{name: [value, 0.5] for name in names}) for value in (0.25, 0.75))
    comparison = compare(a, b)
    assert [line.figures.metric for line in comparison.metrics] == [
        "context_precision_with_reference",
        "factual_correctness",
        "answer_accuracy",
        "my_score",
    ]
    assert any("my_score is not a metric of this program" in sentence for sentence in comparison.caveats)


@pytest.mark.parametrize(
    ("better", "sentence", "words", "direction", "counts"),
    [
        (None, "run 2 differs in toxicity by 0.80 [0.23, 1.00].", "differs", "differs", "-"),
        ("higher", "run 2 is better in toxicity by 0.80 [0.23, 1.00].", "better", "better", "8/0/0"),
        ("lower", "run 2 is worse in toxicity by 0.80 [0.23, 1.00].", "worse", "worse", "0/0/8"),
    ],
)
def test_a_metric_without_a_known_direction_differs(
    better: str | None, sentence: str, words: str, direction: str, counts: str
) -> None:
    rows = [0.1, 0.1001] * 4
    a = table(toxicity=rows)
    b = table(toxicity=[value + 0.8 for value in rows])
    comparison = compare(a, b, better=better and {"toxicity": better})
    assert comparison.conclusion.sentences[0] == sentence
    [line] = comparison.metrics
    assert verdict_words(line.figures) == words
    assert line.to_json()["better"] == better
    assert {change.direction for change in comparison.changed} == {direction}
    assert f" {counts} " in f" {' '.join(str(comparison).split())} "
    assert ("--better toxicity=lower" in " ".join(comparison.caveats)) == (better is None)


def test_a_csv_file_is_compared_with_a_folder(folders: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copy(folders[0] / "scores.csv", tmp_path / "elsewhere.csv")
    for path in (folders[0] / "scores.csv", tmp_path / "elsewhere.csv"):
        comparison = compare(path, folders[1])
        assert [line.figures.metric for line in comparison.metrics] == ["faithfulness", "exact_match"]
        assert comparison.metrics[0].figures.losses == 1
        assert "does not say how it was judged" in comparison.caveats[0]


@pytest.mark.parametrize(
    ("a", "b", "on", "matched"),
    [
        (["x", "y"], ["y", "z"], None, 1),  # ids
        ([7, 8], ["7", "8"], None, 2),  # a CSV file has text only
        ([7.0, 8.0], [7, 8], None, 2),  # pandas makes numbers with a gap floats
        (["x", "x"], ["x", "y"], None, 2),  # not each its own: the questions
        (["x", "y"], ["z", "w"], "question", 2),
    ],
)
def test_rows_are_matched_by_id_where_each_has_its_own_else_by_question(
    a: list[Any], b: list[Any], on: str | None, matched: int
) -> None:
    frames = [table(id=ids, faithfulness=[0.5, 0.5]) for ids in (a, b)]
    assert compare(*frames, on=on).matches[0].matched == matched


def test_questions_match_whatever_their_unicode_form_and_the_spaces_around_them() -> None:
    a = pd.DataFrame({"question": ["¿Qué?", "When?", " "], "faithfulness": [1.0, 1.0, 1.0]})
    b = pd.DataFrame({"user_input": [" ¿Que\u0301?\n", "Who?", ""], "faithfulness": [0.0, 1.0, 1.0]})
    match = compare(a, b).matches[0]
    assert (match.matched, match.unmatched_a, match.unmatched_b) == (1, 2, 2)


def test_several_answers_to_a_question_are_averaged() -> None:
    a = pd.DataFrame({"question": ["Q", "Q", "R"], "faithfulness": [0.0, 0.5, 1.0]})
    b = pd.DataFrame({"question": ["R", "Q", "Q"], "faithfulness": [1.0, 1.0, math.nan]})
    comparison = compare(a, b)
    figures = comparison.metrics[0].figures
    assert (figures.mean_a, figures.mean_b, figures.difference.n) == (0.5, 1.0, 2)  # Q has two rows, so it counts twice
    assert comparison.matches[0].repeated == 1


def test_a_score_that_one_side_lacks_is_counted_and_shown_with_its_reason() -> None:
    rows = rows_of(count=4)
    without = [{**row, "answer": None} if number == 2 else row for number, row in enumerate(rows)]
    comparison = compare(evaluated(rows), evaluated(without))
    figures = comparison.metrics[0].figures
    assert (figures.only_a, figures.only_b, figures.difference.n) == (1, 0, 3)
    change = comparison.changed[0]
    assert (change.direction, change.a, change.b) == ("missing", 1.0, None)
    assert change.says() == [("no score in the second run: no response in this row", "")]
    assert (change.response_a, change.response_b) == ("He lives. She lives.", None)


def with_cluster(results: Results, cluster: str) -> Results:
    return replace(results, manifest={**results.manifest, "config": {**results.manifest["config"], "cluster": cluster}})


def test_a_cluster_of_either_configuration_counts_and_two_that_disagree_are_refused_unless_one_is_asked_for() -> None:
    a = evaluated(rows_of())
    b = evaluated(rows_of(CHANGED))
    asked = compare(a, b, cluster="topic")
    assert asked.metrics[0].figures.difference.ci_method.endswith("clustered")
    assert asked.metrics != compare(a, b).metrics
    by_topic = with_cluster(a, "topic")
    assert compare(by_topic, b).metrics == asked.metrics
    plain = evaluated([{name: value for name, value in row.items() if name != "topic"} for row in rows_of()])
    for baseline in (a, plain):
        of_second = compare(baseline, with_cluster(b, "topic"))
        assert of_second.metrics == asked.metrics
        [remark] = of_second.caveats
        assert "run (2) puts rows together by 'topic'" in remark
    by_question = with_cluster(b, "question")
    with pytest.raises(RagEvaluatorError, match=r"'topic' in run, 'question' in run \(2\).*--cluster"):
        compare(by_topic, by_question)
    with pytest.raises(RagEvaluatorError, match=r"'topic' in .*, 'question' in .*--cluster"):
        gate(by_question, not_worse_than=by_topic, margin=0.5)
    assert compare(by_topic, by_question, cluster="topic").metrics == asked.metrics


def test_the_largest_changes_of_each_direction_come_first() -> None:
    sizes = [0.1, 0.7, 0.2, 0.3, 0.4, 0.5, 0.6]
    a = table(faithfulness=[0.1] * 7 + [0.9], noise_sensitivity=[0.0] * 8, semantic_similarity=[0.0] * 8)
    b = table(
        faithfulness=[0.1 + size for size in sizes] + [0.9],
        noise_sensitivity=[0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5],
        semantic_similarity=[-0.9] + [0.0] * 7,
    )
    changed = [(change.direction, change.metric, change.key) for change in compare(a, b).changed]
    assert changed[:3] == [
        ("worse", "noise_sensitivity", "Q7"),
        ("worse", "semantic_similarity", "Q0"),  # 0.9 of a range of 2
        ("better", "faithfulness", "Q1"),  # by 0.7; it became worse in noise_sensitivity by 0.3
    ]
    assert [key for _, _, key in changed[2:]] == ["Q1", "Q6", "Q5", "Q4", "Q3"]  # five of a direction
    also = {change.key: change.also for change in compare(a, b).changed}
    assert also["Q1"] == (ScorePair("noise_sensitivity", 0.0, 0.3),)
    assert also["Q6"] == ()


def test_changes_of_a_metric_that_differs_come_first_and_a_row_is_listed_once() -> None:
    a = table(faithfulness=[0.9] * 30, semantic_similarity=[0.5] * 30)
    b = table(faithfulness=[0.7] * 30, semantic_similarity=[-1.0] + [0.5] * 29)
    comparison = compare(a, b)
    assert [line.figures.p_holm < 0.05 for line in comparison.metrics] == [True, False]
    changed = [(change.metric, change.key) for change in comparison.changed]
    assert changed == [("faithfulness", key) for key in ("Q0", "Q1", "Q10", "Q11", "Q12")]


def test_responses_to_a_key_of_several_rows_are_not_shown() -> None:
    a = pd.DataFrame({"question": ["Q", "Q", "R", "S", "T"], "faithfulness": [0.0, 0.5, 1.0, 0.5, math.nan]})
    b = pd.DataFrame({"question": ["Q", "Q", "R", "S", "T"], "faithfulness": [0.1, 0.1, 0.5, 0.5000001, 1.0]})
    comparison = compare(a.assign(response=list("vwxyz")), b.assign(response=list("vwxyz")))
    responses = {change.key: (change.response_a, change.response_b) for change in comparison.changed}
    assert responses == {"Q": (None, None), "R": ("x", "x"), "T": ("z", "z")}  # nobody knows which of Q to show


def test_a_score_beyond_its_range_by_rounding_is_cut_to_it() -> None:
    a, b = (table(semantic_similarity=[value] * 3) for value in (1.0000000000000002, 0.5))
    assert compare(a, b).metrics[0].figures.mean_a == 1.0


@pytest.mark.parametrize(
    ("settings", "changed", "said"),
    [
        (
            {"judge": {"max_new_tokens": 512}},
            {},
            r"judged differently \(judge: max_new_tokens 1024 / 512\), so judges are",
        ),
        ({"judge": {"reasons": "none"}}, {}, r"judged differently \(judge: reasons full / none\), so judges are"),
        ({"language": "es"}, {}, r"prompts: prompts \w+ / \w+"),
        ({"language": "es"}, {}, r"language: language english / spanish"),
        ({}, {"ground_truth": "Nobody."}, "20 of 20 questions have another reference"),
        ({}, {"correct_context": ["It."]}, "20 of 20 questions have another reference or other expected contexts"),
    ],
)
def test_what_differs_beside_the_systems_is_named_first(settings: Json, changed: Json, said: str) -> None:
    other = evaluated([{**row, **changed} for row in rows_of()], **settings)
    assert re.search(said, " ".join(compare(evaluated(rows_of()), other).caveats))


def test_other_options_are_named_for_each_metric_that_has_them() -> None:
    """Also of metrics that ask no judge."""
    metrics = ["rouge", "exact_match", "retrieval_recall"]
    options = {"metric_options": {"rouge": {"mode": "recall"}}, "retrieval": {"match": "overlap", "k": 2}}
    rows = [{**row, "reference_contexts": row["contexts"]} for row in rows_of()]
    a = evaluated(rows, metrics=metrics, retrieval={"match": "overlap"})
    b = evaluated(rows, metrics=metrics, **options)
    [caveat] = compare(a, b).caveats
    assert caveat == (
        'run and run (2) were judged differently (options: rouge_score absent / {"mode": "recall"}, retrieval_recall '
        '{"match": "overlap"} / {"k": 2, "match": "overlap"}), so judges are compared, not systems. '
        "To compare systems, score both with one configuration: --set dataset=FILE --set name=NAME."
    )


def test_judges_without_a_name_are_not_taken_for_the_same() -> None:
    a, b = (RAGEvaluator({"metrics": ["faithfulness"]}, judge=ScriptedJudge(judge)).evaluate(rows_of()) for _ in "ab")
    assert "that they are the same is not known" in compare(a, b).caveats[0]


def unwritten(folders: tuple[Path, Path], folder: Path) -> Path:
    copy = Path(shutil.copytree(folders[0], folder / "copy"))
    for note in (copy / "journal").rglob("merged.json"):
        note.unlink()
    return copy


def unfinished(folders: tuple[Path, Path], folder: Path) -> Path:
    copy = unwritten(folders, folder)
    shutil.rmtree(next((copy / "journal").rglob("parts")))
    return copy


ONE = {"user_input": ["Q"], "faithfulness": [0.5]}
BAD: dict[str, tuple[Any, Json, str]] = {
    "an empty folder": (lambda folders, path: path, {}, "no scores here"),
    "an unfinished run": (unfinished, {}, "not finished: 20 of 20 chunks are missing. Start it again"),
    "a run that is not merged": (unwritten, {}, "result files have not been written. Write them: rag-evaluator merge"),
    "no common row": ({"user_input": ["other"], "faithfulness": [1.0]}, {}, "have no row in common.*--on"),
    "no common metric": ({"user_input": ["Question 1?"], "bleu": [1.0]}, {}, "have no metric in common"),
    "no scores": ({"user_input": ["Q"], "note": ["fine"]}, {}, "no column holds scores"),
    "text for a score": ({"user_input": ["Q"], "bleu": ["good"]}, {}, "'bleu' is 'good', expected a number"),
    "per cent": (
        {"user_input": ["Q"], "faithfulness": [81.0]},
        {},
        "faithfulness is 81, expected a number from 0 to 1",
    ),
    "twice": ({"user_input": ["Q"], "bleu": [0.5], "bleu_score": [0.5]}, {}, "a second column for bleu_score"),
    "an unknown column to match": (ONE, {"on": "topik"}, "no row has something in 'topik'.*Did you mean 'topic'"),
    "an unknown cluster": (ONE, {"cluster": "document", "on": None}, "have no row in common|something in 'document'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_compared_is_an_error_that_says_what_to_do(
    name: str, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    source, options, said = BAD[name]
    other = source(folders, tmp_path) if callable(source) else pd.DataFrame(source)
    with pytest.raises(RagEvaluatorError) as error:
        compare(folders[0], other, **options)
    assert re.search(said, str(error.value))
    assert "\n" not in str(error.value)


def test_continuous_scores_that_pile_up_at_an_end_are_warned_of_before_the_figures() -> None:
    def run_of(values: list[float]) -> pd.DataFrame:
        questions = [f"Q{place}" for place in range(len(values))]
        return pd.DataFrame({"user_input": questions, "semantic_similarity": values})

    tied = run_of([1.0, 1.0, 0.8, 0.75])
    apart = run_of([0.9, 0.8, 0.7, 0.9])
    [warning] = [line for line in compare(tied, apart).caveats if "Student's t" in line]
    assert warning.startswith("run 1, semantic_similarity: of 4 scores 2 are exactly 1: ")
    assert not [line for line in compare(apart, apart).caveats if "Student's t" in line]
