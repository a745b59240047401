"""`check`: what it finds, that it finds the same as a run would, and that it writes nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, ModelFolder, Patch, Rows
from folders import output_of, write_lines

from rag_evaluator import Check, CheckReport, ConfigError, JudgeLostError, RAGEvaluator, ScriptedJudge, check
from rag_evaluator.cli.main import main
from rag_evaluator.judge import Memory

ENGINE = "rag_evaluator.judge.engines.transformers.engine.TransformersEngine.seconds_by_dtype"
IN_FLIGHT = 16  # questions at a time, of a judge that does not say how many
RATING = {"ContextRelevanceOutput": {"rating": 2}}
STATEMENTS = {
    "StatementGeneratorOutput": {"statements": ["Nolu Brak was born in Tesk."]},
    "NLIStatementOutput": {
        "statements": [{"statement": "Nolu Brak was born in Tesk.", "reason": "the first says so", "verdict": 1}]
    },
}


def found(report: CheckReport, name: str) -> Check:
    return next(check for check in report.checks if check.name == name)


def states(report: CheckReport) -> dict[str, str]:
    return {check.name: check.state for check in report.checks}


def project(folder: Path, rows: Rows, model: Path | str, **keys: Any) -> Path:
    """A configuration with its dataset."""
    write_lines(folder / "rows.jsonl", rows)
    judge = {"model": str(model), "max_new_tokens": 64, **keys.pop("judge", {})}
    data = {"dataset": "rows.jsonl", "judge": judge, "metrics": ["context_relevance"], **keys}
    (folder / "config.yaml").write_text(json.dumps(data), "utf-8")
    return folder / "config.yaml"


def test_a_row_is_judged_by_every_metric_with_its_reasons(
    rows: Rows, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judge = ScriptedJudge({**RATING, **STATEMENTS})
    metrics = ["faithfulness", "context_relevance", "exact_match"]
    shown: list[Check] = []
    config = {"metrics": metrics, "output_dir": tmp_path}
    with caplog.at_level("INFO", logger="rag_evaluator.progress"):
        report = check(config, judge, data=rows, shown=shown.append)
    phases = [record.message for record in caplog.records if record.message.startswith("judging")]
    assert phases == [f"judging row 0 by {metric}" for metric in metrics]
    assert report.passed
    assert list(report.checks) == shown
    row = found(report, "row").details
    assert (row["row"], list(row["scores"])) == (0, metrics)
    faithfulness = row["scores"]["faithfulness"]
    assert (faithfulness["value"], faithfulness["questions"]) == (1.0, 2)
    assert faithfulness["reasons"] == ["supported: “Nolu Brak was born in Tesk.”. the first says so"]
    assert row["scores"]["exact_match"]["questions"] == 0
    assert "Nolu Brak" in found(report, "template").details["prompt"]
    assert found(report, "window").state == "skipped"
    assert found(report, "disk").details["free"] > 0
    assert {**found(report, "cost").details, "seconds": None} == {"questions": 12, "seconds": None, "rows": 3}
    assert "12 questions to the judge" in found(report, "cost").text
    assert json.dumps(report.to_json(), allow_nan=False)
    assert not list(tmp_path.iterdir()), "nothing is written"


@pytest.mark.parametrize(
    ("seconds", "advice"),
    [
        ({"float32": 3.0, "bfloat16": 1.0}, "; bfloat16 is 3.0 times as fast on this CPU: judge.dtype: bfloat16"),
        (
            {"float32": 432.0, "bfloat16": 1.0},
            "; bfloat16 is more than 10 times as fast on this CPU: judge.dtype: bfloat16",
        ),
        ({"float32": 1e-3, "bfloat16": 1e-6}, ""),  # of a tiny model: the call takes longer than the layer
        ({"float32": 1.0, "bfloat16": 0.9}, ""),
        ({"float32": 1.0, "bfloat16": 5.0}, ""),
    ],
)
def test_a_faster_dtype_is_named_with_the_threads(
    seconds: dict[str, float], advice: str, rows: Rows, tmp_path: Path, model_folder: ModelFolder, monkeypatch: Patch
) -> None:
    path = project(tmp_path, rows, model_folder("llama-bytelevel"))
    monkeypatch.setattr(ENGINE, lambda _: seconds)
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    speed = found(check(path), "speed")
    assert speed.text == f"dtype float32, {speed.details['threads']} thread for 1 core{advice}"


@pytest.mark.parametrize(
    ("folder", "template", "state"),
    [("qwen2-chat", "auto", "ok"), ("llama-bytelevel", "auto", "warning"), ("llama-bytelevel", "none", "ok")],
)
def test_a_judge_without_a_chat_template_is_named_unless_that_is_asked_for(
    folder: str, template: str, state: str, rows: Rows, model_folder: ModelFolder
) -> None:
    judge = {"model": str(model_folder(folder)), "chat_template": template, "max_new_tokens": 64}
    check_of_template = found(check({"metrics": ["context_relevance"], "judge": judge}, data=rows), "template")
    assert check_of_template.state == state
    assert ("has no chat template" in check_of_template.text) == (state == "warning")


def test_the_prompt_is_shown_with_the_special_tokens_that_the_model_gets(
    rows: Rows, tmp_path: Path, model_folder: ModelFolder
) -> None:
    report = check(project(tmp_path, rows, model_folder("qwen2-chat")))
    prompt = found(report, "template").details["prompt"]
    assert prompt.startswith("<|im_start|>user\n")
    assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")
    engine = found(report, "engine")
    assert (engine.state, engine.details["path"]) == ("ok", "packed")
    assert set(found(report, "speed").details["seconds"]) == {"float32", "bfloat16"}
    row = found(report, "row").details["scores"]["context_relevance"]
    assert row["prompt_tokens"] > 100 and row["generated_tokens"] > 0
    batches = found(report, "batches")
    assert (batches.details["together"], batches.details["batch_size"]) == (16, 16)
    assert batches.text.endswith(" MB of it for batches")
    assert 0 < batches.details["bytes"] < batches.details["peak"]
    row = found(report, "row").details
    assert row["passes"] > 1 and row["tokens"] > 100
    cost = found(report, "cost")
    assert "questions to the judge and about 1 min, if" in cost.text
    assert 0 < cost.details["expected"] < 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml", "rows.jsonl"]


def test_the_slow_path_is_a_warning_with_the_reason(rows: Rows, tmp_path: Path, model_folder: ModelFolder) -> None:
    engine = found(check(project(tmp_path, rows, model_folder("bloom"))), "engine")
    assert (engine.state, engine.details["path"]) == ("warning", "plain")
    slow = "padded batches (about 4 times the CPU time of packed ones), because its forward pass takes no position_ids"
    assert slow in engine.text
    assert "`engine: vllm` is faster" in engine.text


def test_the_rows_that_lose_contexts_are_those_that_lose_them_in_a_run(
    tmp_path: Path, model_folder: ModelFolder
) -> None:
    text = "Nolu Brak was born in Tesk, a town by the river Om. " * 8
    counts = {"fits": [1, 1], "loses": [4] * 6, "loses most": [2, 9, 9], "missing": [60]}
    rows = [
        {
            "user_input": f"{name}: where was Nolu Brak born?",
            "retrieved_contexts": [text * count for count in contexts],
            "response": "Nolu Brak was born in Tesk.",
            "reference": "In Tesk.",
        }
        for name, contexts in counts.items()
    ]
    folder = model_folder("llama-bytelevel", max_position_embeddings=3600)
    settings: Any = {"judge": {"max_new_tokens": 16}}
    window = found(
        check(project(tmp_path, rows, folder, metrics=["context_relevance", "faithfulness"], **settings)), "window"
    )
    results = RAGEvaluator(project(tmp_path, rows, folder, **settings)).evaluate()
    expected = set()
    for sample, score in zip(results.samples, results.scores["context_relevance"], strict=True):
        is_missing = score.missing and "window" in (score.reason or "")
        kept = 0 if is_missing else len(score.contexts or ())
        if kept < len(sample.columns["retrieved_contexts"]):
            expected.add((sample.where, kept))
    assert {where for where, _ in expected} == {f"rows.jsonl, line {line}" for line in (2, 3, 4)}
    losses = {
        (loss["where"], loss["kept"]) for loss in window.details["losses"] if loss["metric"] == "context_relevance"
    }
    assert losses == expected
    assert window.state == "warning"
    assert "rows.jsonl, line 4: context_relevance missing, faithfulness missing" in window.text


@pytest.mark.parametrize(("most", "state"), [(64, "warning"), (1024, "ok")])
def test_what_the_longest_list_may_take_is_held_against_the_budget(
    tmp_path: Path, model_folder: ModelFolder, rows: Rows, most: int, state: str
) -> None:
    folder = model_folder("llama-bytelevel")
    judge = {"max_new_tokens": most}
    answers = found(check(project(tmp_path, rows, folder, metrics=["faithfulness"], judge=judge)), "answers")
    wanted = answers.details["wanted"]
    assert (answers.state, answers.details["max_new_tokens"], wanted > 64) == (state, most, True)
    assert (f"set judge.max_new_tokens: {wanted}" in answers.text) == (state == "warning")


MEMORY = [
    (Memory(10, 0, 100), "ok"),
    (Memory(10, 100, 5), "ok"),
    (Memory(90, 0, 100), "warning"),
    (Memory(120, 100, 100), "warning"),
    (Memory(110, 0, 100), "failed"),
    (Memory(0, 0, 100), "ok"),
]


@pytest.mark.parametrize(("memory", "state"), MEMORY)
def test_weights_that_do_not_fit_are_known_before_they_are_loaded(
    memory: Memory, state: str, rows: Rows, tmp_path: Path, model_folder: ModelFolder, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("rag_evaluator.features.setup.checking.memory_of", lambda judge, offline: memory)
    monkeypatch.setattr("rag_evaluator.features.setup.checking.run", lambda coroutine: coroutine.close())
    report = check(project(tmp_path, rows, model_folder("llama-bytelevel")))
    assert found(report, "memory").state == state
    assert ("row" in states(report)) == (state == "failed"), "nothing is loaded"


def test_what_is_done_already_is_known_and_what_a_run_would_refuse(rows: Rows, tmp_path: Path) -> None:
    config = project(tmp_path, rows, "demo", metrics=["exact_match"])
    assert found(check(config), "results").details["done"] == 0
    RAGEvaluator(config).evaluate(folder=tmp_path / "results" / "run")
    results = found(check(config), "results")
    assert (results.state, results.details["done"]) == ("ok", 3)
    assert "judge nothing" in results.text
    config = project(tmp_path, rows[:2], "demo", metrics=["exact_match", "rouge_score"])
    refused = check(config)
    assert found(refused, "results").state == "failed"
    assert "metrics: exact_match before, exact_match, rouge_score now" in found(refused, "results").text
    assert found(refused, "row").state == "ok", "the rest is looked at all the same"
    assert main(["check", str(config)]) == 2


RUNS: list[tuple[str, Json, Json, int | None, str]] = [  # before, now, scores done, said
    ("a run of fewer rows", {"limit": 2}, {}, 2, "2 of 3 scores are there, a run goes on there"),
    ("a run of other rows", {"sample": 1}, {"limit": 3}, 1, "1 of 3 scores are there"),
    ("a run of more rows", {}, {"limit": 2}, None, "holds the scores of all rows, and this run takes 2 of 3 rows"),
]


@pytest.mark.parametrize(("before", "now", "done", "words"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_what_is_done_is_counted_for_the_rows_of_the_run_to_come(
    before: Json, now: Json, done: int | None, words: str, rows: Rows, tmp_path: Path
) -> None:
    config = project(tmp_path, rows, "demo", metrics=["exact_match"], **before)
    RAGEvaluator(config).evaluate(folder=tmp_path / "results" / "run")
    report = check(project(tmp_path, rows, "demo", metrics=["exact_match"], **now))
    results = found(report, "results")
    assert words in results.text
    assert (results.state, results.details.get("done")) == ("ok" if done else "failed", done)


FAULTS: list[tuple[str, Json, str, str]] = [
    ("a model that is not there", {"judge": {"model": "/nothing"}}, "model", "no such folder"),
    ("rows that lack a column", {"metrics": ["summary_score"]}, "rows", "expected the column 'reference_contexts'"),
    ("a dataset that is not there", {"dataset": "nothing.jsonl"}, "rows", "no such file"),
    ("packs that are missing", {"language": "dutch"}, "prompts", "prompt packs are missing"),
    ("packs that are to be made", {"language": "dutch", "prompts": {"adapt": True}}, "prompts", "makes them"),
    (
        "embeddings that are not there",
        {"metrics": ["answer_relevancy"], "embeddings": {"model": "/nothing"}},
        "embeddings",
        "embeddings.model: no such folder",
    ),
    ("embeddings in English", {"metrics": ["answer_relevancy"], "language": "es"}, "embeddings", "English only"),
    ("a language that the demo judge does not know", {"language": "ja"}, "model", "not on Japanese: set judge.model"),
    ("a folder that cannot be", {"output_dir": "rows.jsonl/x"}, "disk", "cannot be written"),
]


@pytest.mark.parametrize(("keys", "name", "words"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_fault_is_a_check_and_the_others_are_made_all_the_same(
    keys: Json, name: str, words: str, rows: Rows, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("rag_evaluator.features.setup.checking.run", lambda coroutine: coroutine.close())
    config = project(tmp_path, rows, "demo", **keys)
    report = check(config)
    assert words in found(report, name).text
    warned = ("makes them", "English only", "not on Japanese: set judge.model")
    expected = "warning" if words in warned else "failed"
    others = {"configuration", "rows", "prompts", "model", "disk"} - {name}
    assert found(report, name).state == expected
    assert {other: states(report)[other] for other in others} == {
        other: "warning" if other == "model" else "ok"
        for other in others  # the toy judge
    }
    assert main(["check", str(config)]) == (0 if expected == "warning" else 2)


def test_a_configuration_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ConfigError, match="Did you mean"):
        check({"metrics": ["faithfullness"]})


def lost(prompt: str, response_model: Any) -> Mapping[str, Any]:
    raise JudgeLostError("the server has ended")


@pytest.mark.parametrize(
    ("script", "metrics", "state", "code"),
    [
        (RATING, ["context_relevance"], "ok", 0),
        (RATING, ["context_relevance", "faithfulness"], "warning", 0),
        ({}, ["context_relevance"], "failed", 1),
        (lost, ["context_relevance"], "failed", 75),
    ],
)
def test_the_exit_code_says_what_became_of_the_row(
    script: Any, metrics: list[str], state: str, code: int, rows: Rows, tmp_path: Path, monkeypatch: Patch
) -> None:
    report = check({"metrics": metrics}, ScriptedJudge(script), data=rows)
    monkeypatch.setattr("rag_evaluator.features.setup.checking.check", lambda *given, **options: report)
    config = project(tmp_path, rows, "demo")
    assert (found(report, "row").state, main(["check", str(config), "--json"])) == (state, code)


def test_the_row_that_is_judged_has_what_the_metrics_need(rows: Rows) -> None:
    report = check({"metrics": ["context_relevance"]}, ScriptedJudge(RATING), data=[{"user_input": "?"}, *rows])
    assert found(report, "row").details["row"] == 1
    assert found(report, "rows").text == "4 rows; 1 without what context_relevance needs"
    assert found(report, "rows").state == "warning"


def test_the_command_prints_each_check_the_prompt_and_the_reasons(
    rows: Rows, tmp_path: Path, model_folder: ModelFolder, capsys: Capture
) -> None:
    config = project(tmp_path, rows, "/nothing")
    override = ["--set", f"judge.model={model_folder('qwen2-chat')}"]
    printed = output_of(capsys, "check", config, *override)
    assert "ok       rows           3 rows\n" in printed
    assert "         | <|im_start|>user" in printed
    assert "lines (--prompt shows them)" in printed
    assert "context_relevance: " in printed and "tokens" in printed
    assert printed.endswith("ready to run, 0 warnings\n")
    assert main(["check", str(config)]) == 2
    assert "judge.model: no such folder: /nothing" in capsys.readouterr().out


def test_the_cost_of_a_run_counts_rows_and_repeats_and_what_is_made_at_a_time(rows: Rows, monkeypatch: Patch) -> None:
    settings = {"metrics": ["context_relevance", "exact_match"], "repeats": 5}
    judge = ScriptedJudge(RATING)
    monkeypatch.setattr(ScriptedJudge, "greedy", False)
    report = check(settings, judge, data=rows)
    scores = found(report, "row").details["scores"]
    cost = found(report, "cost").details
    longest = 3 * (5 * scores["context_relevance"]["seconds"] + scores["exact_match"]["seconds"])
    assert (cost["questions"], cost["seconds"]) == (3 * 5 * 2, pytest.approx([longest / IN_FLIGHT, longest]))


def test_without_a_configuration_versions_and_devices_are_printed_and_no_person_machine_or_secret(
    monkeypatch: Patch, tmp_path: Path, capsys: Capture
) -> None:
    for name in ("HOME", "USER", "HOSTNAME", "HF_TOKEN", "HF_HOME", "SLURM_JOB_ACCOUNT"):
        monkeypatch.setenv(name, str(tmp_path / "torvik"))
    [line] = output_of(capsys, "check").splitlines()
    for part in ("rag-evaluator ", "Python 3.", "ragas 0.4.", "torch 2.", "transformers ", " threads: "):
        assert part in line
    assert "torvik" not in line
    [entry] = json.loads(output_of(capsys, "check", "--json"))["checks"]
    assert entry["name"] == "versions"
    assert {"ragas", "torch", "transformers"} <= entry["details"]["versions"].keys()
    assert main(["check", "--prompt"]) == 2


def test_gpus_are_named_and_a_torch_that_cannot_be_imported_is_a_failure(monkeypatch: Patch, capsys: Capture) -> None:
    gpu = {"name": "NVIDIA H200", "memory": 140 << 30}
    there = {"torch": "2.13.0+cu130", "gpus": [gpu], "threads": 8, "cores": 16}
    monkeypatch.setattr("rag_evaluator.features.setup.versions.devices", lambda: there)
    assert "torch 2.13.0+cu130; NVIDIA H200 140 GiB, threads: 8 for 16 cores\n" in output_of(capsys, "check")

    def broken() -> None:
        raise OSError("/home/torvik/libcudnn.so: no such file")

    monkeypatch.setattr("rag_evaluator.features.setup.versions.devices", broken)
    assert main(["check"]) == 2
    shown = capsys.readouterr().out
    assert "torch cannot be imported (OSError)" in shown and "torvik" not in shown
