import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from aliases import Capture, Json, ModelFolder
from folders import error_of, lines_of, run_command, write_config

from rag_evaluator import (
    ConfigError,
    DatasetError,
    Judge,
    ModelError,
    PromptError,
    RAGEvaluator,
    ScriptedJudge,
    evaluate,
    gate,
    generate,
    sort,
)
from rag_evaluator.cli.main import main
from rag_evaluator.config import JudgeConfig
from rag_evaluator.judge import EngineJudge, LazyJudge
from rag_evaluator.prompts import ReferenceOutput
from rag_evaluator.tasks import warned_once

pytestmark = pytest.mark.usefixtures("own_folder")

ROOT = Path(__file__).parents[2]
FIRST_FIELDS = ["question", "contexts", "good", "bad", "sorted", "spearman", "sim", "overlap"]

QUESTIONS = ["Where was Nolu Brak born?", "谁建造了哈恩桥？"]
CONTEXTS = [
    ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om.", "Mount Selo is 812 metres high."],
    ["哈恩桥由利拉·沃斯克于1921年建造。", "塞洛山高812米。"],
]
ANSWERS = ["Nolu Brak was born in Tesk.", "利拉·沃斯克。"]
REFERENCES = ["In Tesk.", "利拉·沃斯克建造了它。"]


def read(path: str) -> Any:
    return json.loads(Path(path).read_bytes())


def first_is_better(prompt: str, options: Sequence[str]) -> str:
    """Every context holds the answer; of two, the one whose text comes first in the alphabet is better."""
    shown: Any = prompt.data  # type: ignore[attr-defined]
    if hasattr(shown, "context_1"):
        return options[0 if shown.context_1 < shown.context_2 else 1]
    return options[0]


def scripted(**arguments: Any) -> ScriptedJudge:
    answer = {"answerable": 1, "answer": "In Tesk."}
    return ScriptedJudge({"ReferenceOutput": answer}, first_is_better, **arguments)


def test_the_three_functions_work_as_their_quickstart_shows_them_with_the_demo_models(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warned_once.cache_clear()
    question_list = QUESTIONS
    contexts_list = CONTEXTS
    answer_list = ANSWERS
    ground_truth_list = REFERENCES

    result = sort(question_list, contexts_list)
    ground_truth = generate(question_list, contexts_list)
    scores = evaluate(question_list, contexts_list, answer_list, ground_truth_list)

    assert "The demo judge is a toy" in caplog.text
    assert [list(row)[:8] for row in result] == [FIRST_FIELDS, FIRST_FIELDS]
    assert read("result/sorted_indices.json") == result
    for row, contexts in zip(result, contexts_list, strict=True):
        assert sorted(row["good"] + row["bad"]) == list(range(len(contexts)))
        assert sorted(row["sorted"]) == row["good"]
    assert len(ground_truth) == 2
    for question, answer, name in zip(
        question_list, ground_truth, ["Where was Nolu Brak born", "谁建造了哈恩桥？"], strict=True
    ):
        saved = read(f"gt/GT_{name}.json")
        assert list(saved)[:3] == ["question", "contexts", "ground_truth"]
        assert (saved["question"], saved["ground_truth"]) == (question, answer)
        assert bool(answer) == (saved["reason"] is None)
    assert list(scores) == ["answer_relevancy", "faithfulness", "context_recall", "context_precision"]
    sheet = openpyxl.load_workbook("result/result.xlsx").worksheets[0]  # what pandas reads
    assert sheet is not None
    head = [cell.value for cell in sheet[1]]
    assert head == ["question", "contexts", "ground_truth", "answer", *scores]
    assert [cell.value for cell in sheet[2]][:4] == [QUESTIONS[0], json.dumps(CONTEXTS[0]), REFERENCES[0], ANSWERS[0]]
    for column, (name, mean) in enumerate(scores.items(), start=5):
        values = [sheet.cell(row, column).value for row in (2, 3)]
        assert mean == pytest.approx(sum(value for value in values if value is not None) / 2), name


GOLDEN = [0, 26, 14, 23, 13, 5, 9, 22, 11, 1, 3, 21, 25, 16, 19]  # of RagSGE's documentation: good contexts, best first


def as_golden(prompt: str, options: Sequence[str]) -> str:
    shown: Any = prompt.data  # type: ignore[attr-defined]
    ranks = {f"context {index}": rank for rank, index in enumerate(GOLDEN)}
    if hasattr(shown, "context_1"):
        return options[0 if ranks.get(shown.context_1, 99) < ranks.get(shown.context_2, 99) else 1]
    return next(option for option in options if f'"verdict": {int(shown.context in ranks)}' in option)


def test_sort_orders_as_ragsge_does_and_returns_positions_alone_where_asked() -> None:
    """A list for each question, counted from 0, best first; the fast mode has the good contexts only."""
    contexts = [[f"context {index}" for index in range(30)], ["context 26", "context 2", "context 0"]]
    judge = ScriptedJudge({}, as_golden)
    indices = sort(QUESTIONS, contexts, indices=True, judge=judge)
    assert indices == [GOLDEN, [2, 0]]
    assert all(type(index) is int for row in indices for index in row)
    assert [row["sorted"] for row in read("result/sorted_indices.json")] == indices
    assert sort(QUESTIONS, contexts, indices=False, judge=judge) == read("result/sorted_indices.json")
    [every, few] = sort(QUESTIONS, contexts, fast=False, indices=True, judge=judge)
    assert (every[:15], sorted(every), few) == (GOLDEN, list(range(30)), [2, 0, 1])
    assert sort(QUESTIONS[:1], [["context 2"]], indices=True, judge=judge) == [[]]  # no good context


def holds_no_answer(prompt: str, options: Sequence[str]) -> str:
    return next(option for option in options if '"verdict": 0' in option)


UNANSWERED = ScriptedJudge({"ReferenceOutput": {"answerable": 0, "answer": ""}}, holds_no_answer)


@pytest.mark.parametrize(
    ("call", "empty", "warning"),
    [
        (lambda: sort(QUESTIONS, CONTEXTS, indices=True, judge=UNANSWERED), [], "2 of 2 questions have no order"),
        (lambda: generate(QUESTIONS, CONTEXTS, UNANSWERED), "", "2 of 2 questions have no answer"),
    ],
    ids=["sort", "generate"],
)
def test_what_is_empty_is_named_once_with_its_most_frequent_reason(
    call: Callable[[], Any], empty: Any, warning: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert call() == [empty, empty]
    assert caplog.messages.count(f"{warning}: the judge finds the answer in no context") == 1


def test_references_that_generate_could_not_write_are_missing_with_its_reason() -> None:
    row = {"user_input": "Where?", "retrieved_contexts": ["a"], "response": "b", "reference": None}
    rows = [{**row, "reference_reason": "the judge finds the answer in no context"}]
    judge = ScriptedJudge({"ContextRelevanceOutput": {"rating": 2}})
    results = RAGEvaluator({"metrics": ["exact_match", "context_relevance"]}, judge).evaluate(rows)
    assert results.summary()["context_relevance"]["mean"] == 1.0
    reason = "no reference in this row: the judge finds the answer in no context"
    assert results.summary()["exact_match"]["reasons"] == {reason: 1}
    with pytest.raises(DatasetError, match="expected the column 'reference'"):
        RAGEvaluator({"metrics": ["exact_match"]}, judge).evaluate([row])


def test_texts_that_are_not_in_english_are_named_once_where_the_judge_is_asked_in_english(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warned_once.cache_clear()
    for settings in ({"language": "chinese"}, {"config": {"language": "english"}}, {}):
        sort(QUESTIONS[1:], CONTEXTS[1:], judge=scripted(), **settings)  # type: ignore[arg-type]
        expected = 0 if settings == {"language": "chinese"} else 1
        assert sum("look Chinese" in message for message in caplog.messages) == expected
    warnings = [message for message in caplog.messages if "look Chinese" in message]
    assert [message.endswith('language="chinese" gives it Chinese prompts.') for message in warnings] == [True]


@pytest.mark.models
def test_the_demo_judge_says_once_that_it_does_not_know_a_language(caplog: pytest.LogCaptureFixture) -> None:
    warned_once.cache_clear()
    for language in ("ja", "ja", "es"):
        sort(QUESTIONS[:1], CONTEXTS[:1], language=language)
    limits = [message for message in caplog.messages if "The demo judge is a toy" in message]
    assert ["not on Japanese: set judge.model" in message for message in limits] == [True, False]


def test_wrong_answers_settings_and_judges_are_refused_before_anything_is_asked() -> None:
    with pytest.raises(DatasetError, match="answer_list has 1 items"):
        evaluate(QUESTIONS, CONTEXTS, ANSWERS[:1])
    with pytest.raises(DatasetError, match=r"row 1: column 'ground_truth_list' .* True"):
        evaluate(QUESTIONS, CONTEXTS, ANSWERS, ["a", True])  # type: ignore[list-item]
    with pytest.raises(ModelError, match="gpt-4-turbo"):
        generate(QUESTIONS, CONTEXTS, "gpt-4-turbo")
    with pytest.raises(ModelError, match="received int"):
        sort(QUESTIONS, CONTEXTS, judge=3)
    with pytest.raises(PromptError, match=r"language .klingon. is not known"):
        sort(QUESTIONS, CONTEXTS, judge=scripted(), language="klingon")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("language", ["chinese", "español", "ja"])
def test_the_judge_is_asked_in_the_language_of_the_data(language: str) -> None:
    judge = scripted()
    settings = {"prompts_dir": ROOT / "prompts"}
    sort(QUESTIONS, CONTEXTS, judge=judge, language=language, config=settings)
    generate(QUESTIONS, CONTEXTS, judge=judge, language=language, config=settings)
    name = {"español": "spanish", "ja": "japanese"}.get(language, language)
    packs = [json.loads(path.read_bytes()) for path in (ROOT / "prompts" / name).glob("*.json")]
    instructions = {pack["instruction"] for pack in packs}
    assert judge.prompts
    for prompt in judge.prompts:
        assert any(prompt.startswith(instruction) for instruction in instructions)


def test_without_answers_what_needs_none_is_scored_and_the_rest_is_named(caplog: pytest.LogCaptureFixture) -> None:
    script = {
        "ContextRecallOutput": {"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]},
        "ContextPrecisionOutput": {"reason": "r", "verdict": 1},
    }
    scores = evaluate(QUESTIONS, CONTEXTS, None, REFERENCES, judge=ScriptedJudge(script))
    assert scores == {"context_recall": 1.0, "context_precision": pytest.approx(1.0)}
    assert scores.skipped == {"answer_relevancy": "needs answer_list", "faithfulness": "needs answer_list"}
    assert "not scored: answer_relevancy, faithfulness; scored: context_recall" in caplog.text


def test_without_answers_metrics_that_all_need_them_are_refused() -> None:
    with pytest.raises(DatasetError, match="answer_list is missing, which is needed for faithfulness"):
        evaluate(QUESTIONS, CONTEXTS, metrics=["faithfulness"])


def test_references_that_are_missing_are_written_first_and_saved() -> None:
    asked: list[str] = []

    def script(prompt: str, model: Any) -> Mapping[str, Any]:
        asked.append(model.__name__)
        return {"answerable": 1, "answer": "Lira Vosk"} if model is ReferenceOutput else {}

    judge = ScriptedJudge(script, first_is_better)
    scores = evaluate(QUESTIONS, CONTEXTS, ANSWERS, ["In Tesk.", None], metrics=["exact_match"], judge=judge)
    assert asked == ["ReferenceOutput"]
    assert [path.name for path in Path("gt").iterdir()] == ["GT_谁建造了哈恩桥？.json"]
    assert [row["ground_truth"] for row in scores.results.rows()] == ["In Tesk.", "Lira Vosk"]
    assert evaluate(QUESTIONS, CONTEXTS, ["In Tesk.", "Lira Vosk"], metrics=["exact_match"], judge=judge) == {
        "exact_match": 0.5
    }


def test_only_the_first_k_contexts_count_and_metrics_keep_the_names_they_were_given() -> None:
    judge = ScriptedJudge({"ContextPrecisionOutput": {"reason": "r", "verdict": 1}})
    scores = evaluate(
        QUESTIONS, CONTEXTS, ANSWERS, REFERENCES, metrics=["LLMContextPrecisionWithReference"], k=1, judge=judge
    )
    assert list(scores) == ["LLMContextPrecisionWithReference"]
    assert len(judge.prompts) == 2
    with pytest.raises(DatasetError, match="k is 0"):
        evaluate(QUESTIONS, CONTEXTS, ANSWERS, REFERENCES, k=0)


class Killed(BaseException):
    """Stands for the end of the process."""


def killed_after(count: int, judge: ScriptedJudge) -> ScriptedJudge:
    """The judge, gone after so many answers."""
    choices = judge.choices

    def dying(prompt: str, options: Sequence[str]) -> Any:
        if len(judge.prompts) > count:
            raise Killed
        assert choices is not None
        return choices(prompt, options)

    judge.choices = dying
    return judge


@pytest.mark.parametrize("strategy", ["insertion", "merge"])
def test_a_sort_that_was_killed_continues_without_asking_anything_again(strategy: str) -> None:
    contexts = [[f"text {(number * 7) % 15:02}" for number in range(15)]] * 2
    whole = sort(QUESTIONS, contexts, strategy=strategy, judge=scripted(), output_dir="whole")
    with pytest.raises(Killed):
        sort(QUESTIONS, contexts, strategy=strategy, judge=killed_after(60, scripted(model_id="s")))
    assert not Path("result/sorted_indices.json").exists()
    last = scripted(model_id="s")
    assert sort(QUESTIONS, contexts, strategy=strategy, judge=last) == whole
    assert len(last.prompts) == sum(row["judge_calls"] for row in whole) - 60
    idle = scripted(model_id="s")
    assert sort(QUESTIONS, contexts, strategy=strategy, judge=idle) == whole
    assert idle.prompts == []
    assert Path("result/sorted_indices.json").read_bytes() == Path("whole/result/sorted_indices.json").read_bytes()


def test_another_judge_or_a_fresh_start_does_not_use_earlier_answers() -> None:
    for judge, fresh, asked in (
        (scripted(model_id="one"), False, True),
        (scripted(model_id="one"), False, False),
        (scripted(model_id="two"), False, True),
        (scripted(model_id="two"), True, True),
        (scripted(), False, True),
        (scripted(), False, True),
    ):
        sort(QUESTIONS, CONTEXTS, judge=judge, fresh=fresh)
        assert bool(judge.prompts) == asked


def test_judges_are_known_by_their_folder_however_they_are_given(model_folder: ModelFolder) -> None:
    folder = model_folder("llama-bytelevel")
    config = JudgeConfig(max_new_tokens=64)
    pipeline = Judge.from_config(config.model_copy(update={"model": str(folder)})).pipeline
    ways = (folder, str(folder), pipeline, pipeline.pipeline, Judge(pipeline, config))
    given = [LazyJudge(way, config) for way in ways]
    assert len({judge.identity for judge in given} | {given[0].identity}) == 1
    assert len({judge.signature.replace(str(folder), "") for judge in given}) == 1
    assert all(isinstance(judge.load(), EngineJudge) for judge in given[2:])
    assert LazyJudge(model_folder("llama-bytelevel", seed=3), config).identity != given[0].identity
    assert LazyJudge(ScriptedJudge(), config).identity is None


# The commands


def write_project(model: str | Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """A config.yaml with its dataset in the current folder."""
    judge = f"judge: {{model: {model}, max_new_tokens: 48}}"
    return str(write_config(Path(), rows, f"metrics: [faithfulness]\n{judge}"))


def rows_of(count: int, contexts: int) -> list[Json]:
    return [
        {
            "id": number,
            "question": f"Where was person {number} born?",
            "contexts": [f"Person {number} lived in town {rank}." for rank in range(contexts)],
            "relevance": [rank % 3 for rank in range(contexts)],
        }
        for number in range(count)
    ]


def test_the_sort_command_writes_orders_summary_and_manifest(model_folder: ModelFolder, capsys: Capture) -> None:
    config = write_project(model_folder("llama-bytelevel"), [*rows_of(2, 4), {"question": "None?", "contexts": []}])
    run_command("sort", config, "--set", "sort.fast=false", "--set", "sort.strategy=merge")
    rows = read("results/run/sorted_indices.json")
    assert [sorted(row["sorted"]) for row in rows] == [[0, 1, 2, 3], [0, 1, 2, 3], []]
    for row in rows[:2]:
        assert row["relevance"] == [0, 1, 2, 0]
        assert row["measured"]["retriever"] == {"nDCG@1": 0.0, "nDCG@5": 0.6199, "nDCG@10": 0.6199}
    summary = read("results/run/sort_summary.json")
    assert summary["measures"]["retriever nDCG@5 by relevance"]["mean"] == pytest.approx(0.6199)
    assert summary["measures"]["kendall"]["reasons"] == {"there is no context": 1}
    assert summary["judge_calls"] == 2 * summary["comparisons"]
    manifest = read("results/run/sort_manifest.json")
    assert "judge:" in manifest["signatures"]["sort"]
    shown = capsys.readouterr().out
    assert f"{summary['judge_calls']} judge calls, of them {summary['judge_calls']} now" in shown
    assert f"merge: {summary['comparisons']} comparisons" in shown
    assert "judge nDCG@10 by relevance" in shown


def rows_written() -> list[Json]:
    """What `generate` has written."""
    return lines_of(Path("results/run/dataset_with_reference.jsonl"))


def test_the_generate_command_adds_references_and_keeps_those_there_are(
    model_folder: ModelFolder, capsys: Capture
) -> None:
    rows = [*rows_of(2, 3), {**rows_of(1, 2)[0], "ground_truth": "In Tesk."}]
    config = write_project(model_folder("llama-bytelevel"), rows)
    code = main(["generate", config])
    written = rows_written()
    assert [{name: row[name] for name in given} for row, given in zip(written, rows, strict=True)] == rows
    assert "reference" not in written[2]
    for row in written[:2]:
        assert row["reference"] or row["reference_reason"]
        saved = read(f"results/run/gt/GT_{row['question'].rstrip('?')}.json")
        assert saved["ground_truth"] == (row["reference"] or "")
    assert code == (0 if any(row["reference"] for row in written[:2]) else 1)
    assert "1 row had a reference already" in capsys.readouterr().out
    assert main(["generate", config, "--set", "generate.replace=true"]) == 2  # other rows
    main(["generate", config, "--set", "generate.replace=true", "--update"])
    assert len(list(Path("results/run/gt").iterdir())) == 3
    assert rows_written()[2]["ground_truth"] == rows_written()[2]["reference"]


def test_a_retrieval_log_keeps_its_contexts_and_gets_its_answers_beside_them(model_folder: ModelFolder) -> None:
    rows = [{"question": "Where?", "reference": ["In Tesk.", "In Om."], "document_score": [0.9, 0.8]}]
    main(["generate", write_project(model_folder("llama-bytelevel"), rows)])
    [written] = rows_written()
    assert written["reference"] == ["In Tesk.", "In Om."]
    assert "ground_truth" in written


def test_the_lines_of_a_retrieval_log_may_have_grades() -> None:
    lines = [("c0", 0.1, 0), ("c1", 0.9, 2), ("c2", 0.5, 1)]
    rows = [{"question": "q", "document_score": s, "reference": c, "relevance": grade} for c, s, grade in lines]
    run_command("sort", write_project("demo", rows))
    [row] = read("results/run/sorted_indices.json")
    assert (row["contexts"], row["relevance"]) == (["c1", "c2", "c0"], [2, 1, 0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"contexts": ["a", "b"], "document_score": [0.1, 0.9]}, None),
        ({"reference": ["a", "b"], "document_score": [0.9, None]}, None),
        (
            {"reference": ["a", "b"], "document_score": [0.1, 0.9]},
            "the contexts are sorted by score, so that it is not",
        ),
        ({"contexts": ["a", "b", "c"]}, "expected one whole number from 0 for each of the 3"),
        ({"contexts": ["a", "b"], "relevance": [1, -1]}, "expected one whole number from 0"),
        ({"contexts": ["a", "b"], "relevance": "high"}, "expected"),
    ],
)
def test_grades_that_do_not_belong_to_the_contexts_are_refused(row: Json, message: str | None, capsys: Capture) -> None:
    code = main(["sort", write_project("demo", [{"question": "q", "relevance": [0, 1], **row}])])
    assert code == (0 if message is None else 2)
    assert message is None or f"rows.jsonl, line 1: column 'relevance': {message}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["sort", "generate"])
def test_rows_without_contexts_at_all_are_refused(command: str, capsys: Capture) -> None:
    error = error_of(capsys, command, write_project("demo", [{"question": "Where?"}]))
    assert f"expected the column 'retrieved_contexts', which {command} needs" in error


def test_metrics_under_other_names_keep_their_scales_thresholds_and_rules() -> None:
    config = {"metrics": ["chrf"], "thresholds": {"chrf_score": 0.5}, "require": ["ChrF >= 0.01"]}
    scores = evaluate(QUESTIONS, CONTEXTS, ANSWERS, ["Nolu Brak was born in Tesk.", "利拉。"], config=config)
    found = scores.results.summary()["chrf"]
    assert (found["kind"], found["stage"]) == ("continuous", "generation")
    assert found["pass_rate"]["threshold"] == 0.5
    (record, _) = scores.results.details()
    assert record["signature"].startswith("metric:chrf_score")
    heading, _, row = openpyxl.load_workbook("result/result.xlsx")["summary"].iter_rows(values_only=True)
    assert dict(zip(heading, row, strict=True))["kind"] == "continuous"
    (verdict,) = gate(scores.results)
    assert str(verdict.rule) == "chrf_score >= 0.01"


def test_options_of_a_metric_that_is_not_scored_are_refused_and_its_definition_is_left_behind() -> None:
    custom = {"tone": {"question": "Is it kind?", "columns": ["response"], "scale": ["no", "yes"]}}
    config: Json = {"metrics": ["answer_rubric", "tone"], "custom_metrics": custom}
    config["metric_options"] = {"RougeScore": {"mode": "recall"}}
    scores = evaluate(QUESTIONS, CONTEXTS, ANSWERS, REFERENCES, metrics=["rouge"], config=config)
    assert '"mode": "recall"' in scores.results.signatures["rouge"]
    config["metric_options"]["quoted_spans_alignment"] = {"casefold": False}
    with pytest.raises(
        ConfigError, match=r"metric_options\.quoted_spans_alignment' is not one of the metrics of this run"
    ):
        evaluate(QUESTIONS, CONTEXTS, ANSWERS, REFERENCES, metrics=["rouge"], config=config)
