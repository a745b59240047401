import contextlib
import copy
import gc
import io
import json
import math
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aliases import Capture, Json, ModelFolder, Patch, Rows
from folders import lines_of, results_of, run_command, write_lines

from rag_evaluator import RAGEvaluator, ScriptedJudge, __version__, load_dataset
from rag_evaluator.cli.main import main
from rag_evaluator.files import Appender, checked_line
from rag_evaluator.metrics import METRICS as ALL_METRICS

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
FILES = {
    "scores.jsonl",
    "details.jsonl",
    "summary.json",
    "scores.csv",
    "scores.xlsx",
    "prompts.json",
    "manifest.json",
    "report.html",
    "times.json",
    "journal",
}
METRICS = ["answer_relevancy", "context_relevance", "semantic_similarity", "bleu_score"]
SAME = {"scores.jsonl", "details.jsonl", "scores.csv", "summary.json"}  # whatever the time and the place of the run
ROWS: Rows = [
    {
        "user_input": "Where was Nolu Brak born?",
        "retrieved_contexts": ["Nolu Brak was born in Tesk.", "Tesk lies on the river Om."],
        "response": "Nolu Brak was born in Tesk.",
        "reference": "He was born in Tesk.",
    },
    {
        "user_input": "¿Quién construyó el puente?",
        "retrieved_contexts": ["El puente de Harn lo construyó Lira Vosk en 1921."],
        "response": "Lo construyó Dana Mirol.",
        "reference": "Lira Vosk lo construyó.",
        "note": "😀",
    },
    {
        "user_input": "How high is Mount Selo?",
        "retrieved_contexts": ["Mount Selo is 812 metres high."],
        "response": "I don't know.",
        "reference": "812 metres",
    },
    {
        "user_input": "Is this too much to read?",
        "retrieved_contexts": ["Nolu Brak was born in Tesk. " * 2000],
        "response": "It is.",
    },
]
SCORED = 4 + 3 + 3 + 3  # the last row has no reference, and its context does not fit the window


def write_project(folder: Path, model: Path, rows: Rows, metrics: list[str] = METRICS) -> Path:
    """A config.yaml with its dataset; returns the path of the configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "rows.jsonl", rows)
    text = (
        f"dataset: rows.jsonl\nmetrics: [{', '.join(metrics)}]\njudge:\n  model: {model}\n  max_new_tokens: 64\n"
        "embeddings:\n  model: demo\n"
    )
    (folder / "config.yaml").write_text(text, "utf-8")
    return folder / "config.yaml"


def assert_same_results(folder: Path, finished: Path) -> None:
    assert [name for name in SAME if (folder / name).read_bytes() != (finished / name).read_bytes()] == []


def summary_of(folder: Path) -> Json:
    summary: Json = json.loads((folder / "summary.json").read_bytes())
    return summary


def journal_of(config: Path) -> Path:
    return results_of(config) / "journal"


def published(config: Path) -> Rows:
    """The scores of all finished chunks."""
    paths = sorted(journal_of(config).glob("g*/parts/*"))
    return [line for path in paths for line in lines_of(path) if "value" in line]


def journalled(config: Path) -> Rows:
    """The scores of unfinished chunks."""
    return [line for path in sorted(journal_of(config).glob("g*/scores/*")) for line in lines_of(path)]


def unchecked(path: Path) -> Rows:
    """The lines of a journal's file without their checksums."""
    return [{key: value for key, value in line.items() if key != "sha256"} for line in lines_of(path)]


def unpublish(config: Path, change: Callable[[Json], Json] = dict) -> None:
    """Make finished chunks unfinished ones, as if their worker had been killed before publishing them."""
    for path in journal_of(config).glob("g*/parts/*"):
        lines = [checked_line(change(line)) for line in unchecked(path) if line.get("value") is not None]
        (path.parent.parent / "scores" / f"{path.stem}.killed.jsonl").write_bytes(b"".join(lines))
        path.unlink()


@pytest.fixture
def rows() -> Rows:
    return copy.deepcopy(ROWS)


@pytest.fixture
def config(tmp_path: Path, model_folder: ModelFolder) -> Path:
    return write_project(tmp_path, model_folder("llama-bytelevel"), ROWS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, model_folder: ModelFolder) -> tuple[Path, str]:
    """The results folder of a whole run, and what it printed."""
    config = write_project(tmp_path_factory.mktemp("finished"), model_folder("llama-bytelevel"), ROWS)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run_command(config)
    return config.parent / "results" / "run", out.getvalue()


@pytest.fixture(scope="module")
def finished(run: tuple[Path, str]) -> Path:
    return run[0]


@pytest.fixture
def continued(config: Path, finished: Path) -> Path:
    """A configuration whose journal knows what the whole run has scored."""
    shutil.copytree(finished / "journal", journal_of(config))
    return config


@pytest.fixture
def no_model_loads(monkeypatch: Patch) -> None:
    def refuse(*_: Any) -> None:
        pytest.fail("a model is being loaded")

    monkeypatch.setattr("rag_evaluator.judge.engines.transformers.engine.load_pipeline", refuse)
    monkeypatch.setattr("rag_evaluator.embeddings.load_embeddings", refuse)


def error_of(capsys: Capture, *arguments: str) -> str:
    """What the command tells on standard error when it refuses its input."""
    assert main(list(arguments)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert "Traceback" not in shown.err
    return shown.err.removeprefix("error: ").strip()


def test_a_run_scores_every_row_in_order_with_every_metric(finished: Path, rows: Rows) -> None:
    scored = lines_of(finished / "scores.jsonl")
    assert [{name: row[name] for name in given} for row, given in zip(scored, rows, strict=True)] == rows
    assert all(math.isfinite(row[name]) for row in scored[:3] for name in METRICS)
    assert [scored[3][name] for name in METRICS[1:]] == [None, None, None]
    assert math.isfinite(scored[3]["answer_relevancy"])
    assert scored[0]["semantic_similarity"] > 0.7 > 0.5 > scored[2]["semantic_similarity"]


def test_a_run_shows_how_its_numbers_were_made(finished: Path) -> None:
    summary = summary_of(finished)
    assert [summary[name]["coverage"] for name in METRICS] == [1.0, 0.75, 0.75, 0.75]
    assert summary["bleu_score"]["reasons"] == {"no reference in this row": 1}
    [reason] = summary["context_relevance"]["reasons"]
    assert reason.endswith("does not fit the model's window of 8192 tokens")
    details = lines_of(finished / "details.jsonl")
    assert [(line["row"], line["metric"]) for line in details] == [(row, name) for row in range(4) for name in METRICS]
    first = {line["metric"]: line for line in details if line["row"] == 0}
    ratings = [judgement["response"]["rating"] for judgement in first["context_relevance"]["judgements"]]
    assert first["context_relevance"]["value"] == sum(ratings) / len(ratings) / 2  # ratings are 0, 1 or 2
    assert first["context_relevance"]["contexts"] == [0, 1]
    manifest = json.loads((finished / "manifest.json").read_bytes())
    assert manifest["rows"] == 4
    assert manifest["signatures"] == {name: first[name]["signature"] for name in METRICS}
    assert manifest["config"]["judge"]["max_new_tokens"] == 64
    assert manifest["versions"]["rag-evaluator"] == __version__


def test_the_table_shows_mean_coverage_and_reasons_and_where_the_files_are(run: tuple[Path, str]) -> None:
    folder, out = run
    summary = summary_of(folder)
    table = {cells[1].strip(): cells[2:4] for line in out.splitlines() if len(cells := line.split("│")) > 3}
    for name, coverage in zip(METRICS, ["4/4", "3/4", "3/4", "3/4"], strict=True):
        mean, low, high = (summary[name][key] + 0.0 for key in ("mean", "ci_low", "ci_high"))
        assert [cell.strip() for cell in table[name]] == [f"{mean:.2f} [{low:.2f}, {high:.2f}]", coverage]
    assert "  bleu_score: 1 missing: no reference in this row\n" in out
    assert re.search(
        r"  context_relevance: 1 missing: the prompt .* does not fit the model's window of 8192 tokens\n", out
    )
    assert f"written to {folder}\nreport: {folder / 'report.html'}. Open it in a browser.\n" in out
    assert "toy" not in out


def test_nothing_is_scored_gives_exit_code_1(config: Path, capsys: Capture) -> None:
    (config.parent / "rows.jsonl").write_text(json.dumps(ROWS[3]), "utf-8")
    assert main([str(config), "--set", "metrics=[context_relevance]"]) == 1
    assert re.search(r"context_relevance +│ +no score │ +0/1", capsys.readouterr().out)
    assert {path.name for path in results_of(config).iterdir()} == FILES


def test_no_argument_shows_the_help_and_an_unknown_option_the_nearest_one(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert "rag-evaluator config.yaml --limit 20" in capsys.readouterr().out
    for arguments in (["x.yaml", "--limt", "3"], ["prompts", "check", "--langage", "es"]):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        option = arguments[-2]
        assert f"'{option}' is no option of it. Did you mean '--l" in capsys.readouterr().err


@pytest.mark.usefixtures("no_model_loads")
@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("metrics=[bleu, faithfullness]", "--set metrics: metrics[1] is 'faithfullness'"),
        ("dataset=none.jsonl", "none.jsonl"),
        ("dataset=null", "config.yaml: 'dataset' is missing."),
        ("judge.model=none/", "judge.model: 'none/' is no folder here"),
        ("judge.model=./none", "judge.model: no such folder: "),
        ("judge.model=results", "results is not a model folder: "),
        ("judge.model=some-org/some-model", "judge.model: 'some-org/some-model' is no folder here"),
        ("embeddings.model=./none", "embeddings.model: no such folder: "),
        ("language=catalan", "language 'catalan': 3 of 3 "),
        ("language=klingonx", "language 'klingonx' is not known. Known are arabic,"),
        ("llm=demo", "'llm' is not a known key. Did you mean 'judge'?"),
        ("batch_size=4", "'batch_size' is not a known key. Did you mean 'judge.batch_size'?"),
        ("output_dir=rows.jsonl", "rows.jsonl/run/journal/g1/parts: cannot be written: "),
    ],
)
def test_bad_input_is_reported_on_standard_error_before_a_model_is_loaded(
    config: Path, capsys: Capture, override: str, told: str
) -> None:
    (config.parent / "results").mkdir()
    assert told in error_of(capsys, str(config), "--set", override)


def test_a_damaged_model_is_reported_without_a_traceback(
    config: Path, model_folder: ModelFolder, tmp_path: Path, capsys: Capture
) -> None:
    broken = Path(shutil.copytree(model_folder("llama-bytelevel"), tmp_path / "broken"))
    (broken / "model.safetensors").write_bytes(b"x")
    assert error_of(capsys, str(config), "--set", f"judge.model={broken}").startswith(
        f"judge.model: {broken / 'model.safetensors'} is damaged or not complete. "
    )


@pytest.mark.usefixtures("no_model_loads")
def test_bad_input_with_fresh_leaves_the_journal(config: Path, capsys: Capture) -> None:
    journal_of(config).mkdir(parents=True)
    (journal_of(config) / "manifest.json").write_text("", "utf-8")
    for override in ("judge.model=./none", "dataset=none.jsonl", "language=xx"):
        error_of(capsys, str(config), "--fresh", "--set", override)
    assert (journal_of(config) / "manifest.json").exists()


@pytest.mark.parametrize("arguments", [["--help"], ["evaluate", "--help"]])
def test_help_shows_examples_and_exit_codes(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "--set judge.model=/models/Qwen3-8B" in shown
    assert "exit codes: 0 scored, 1 nothing could be scored, 2 bad input, 75 stopped by a signal" in shown


@pytest.mark.parametrize("arguments", [["prompts"], ["evaluate"], ["config.yaml", "--sett", "a=b"]])
def test_a_command_that_is_not_understood_exits_with_2_and_shows_the_usage(
    arguments: list[str], capsys: Capture
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: rag-evaluator")


def test_two_runs_give_the_same_bytes(finished: Path, config: Path) -> None:
    run_command(config, "--set", "output_dir=other")
    assert_same_results(config.parent / "other" / "run", finished)


def test_a_second_run_takes_scores_from_the_journal_and_fresh_does_not(continued: Path, finished: Path) -> None:
    unpublish(continued, lambda line: {**line, "value": 0.123})  # as if an earlier run had said so
    scores = results_of(continued) / "scores.jsonl"
    run_command(continued)
    assert [row[name] for row in lines_of(scores) for name in METRICS] == [0.123] * 13 + [None] * 3
    run_command(continued, "--fresh")
    assert scores.read_bytes() == (finished / "scores.jsonl").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_run_stopped_by_a_signal_exits_with_75_and_continues_where_it_stopped(
    number: int,
    config: Path,
    finished: Path,
    monkeypatch: Patch,
    capsys: Capture,
    caplog: pytest.LogCaptureFixture,
) -> None:
    append = Appender.append
    scored = []

    def append_until_the_signal(appender: Appender, line: bytes) -> None:
        append(appender, line)
        scored.append(line)
        if len(scored) == 5:
            signal.raise_signal(number)

    with monkeypatch.context() as patch:
        patch.setattr(Appender, "append", append_until_the_signal)
        assert main([str(config), "--set", "judge.batch_size=1"]) == 75  # few scores in the making
    gc.collect()  # asyncio complains of abandoned tasks when they are collected
    assert not [record for record in caplog.records if record.name == "asyncio"]
    shown = capsys.readouterr()
    assert shown.out == ""
    name = signal.Signals(number).name
    assert shown.err.endswith(f"stopped by {name}: what was scored is kept, the same command continues.\n")
    assert "Traceback" not in shown.err
    assert 5 <= len(scored) < SCORED
    kept = {json.dumps(line) for line in published(config) + journalled(config) if line["value"] is not None}
    assert kept == {json.dumps(json.loads(line)) for line in scored}
    again: list[bytes] = []
    with monkeypatch.context() as patch:
        patch.setattr(Appender, "append", lambda appender, line: (again.append(line), append(appender, line)))
        run_command(config)
    assert len(again) == SCORED - len(scored)
    assert not set(again) & set(scored)
    assert_same_results(results_of(config), finished)


class LostPatienceError(Exception):
    pass


def test_a_run_that_continues_asks_only_what_was_not_answered(tmp_path: Path) -> None:
    rows = [{"user_input": f"question {number}", "retrieved_contexts": ["Nolu Brak"]} for number in range(12)]
    judge = ScriptedJudge({"ContextRelevanceOutput": {"rating": 2}}, model_id="two")
    evaluator = RAGEvaluator({"metrics": ["context_relevance"], "judge": {"batch_size": 1}}, judge=judge)

    def lose_patience(done: int, total: int) -> None:
        if done >= 3:
            raise LostPatienceError

    with pytest.raises(LostPatienceError):
        evaluator.evaluate(rows, lose_patience, tmp_path)
    kept = [line for path in sorted((tmp_path / "journal").glob("g1/*/*.jsonl")) for line in lines_of(path)]
    assert 3 <= len([line for line in kept if "value" in line]) < 12
    shown: list[tuple[int, int]] = []
    results = evaluator.evaluate(rows, lambda *numbers: shown.append(numbers), tmp_path)
    assert shown[-1] == (12, 12)
    assert len(judge.prompts) == len(set(judge.prompts)) == 12 * 2  # two judges, each asked once about each row
    assert [score.value for score in results.scores["context_relevance"]] == [1.0] * 12


def test_missing_scores_are_tried_again_and_the_others_are_not(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda prompt, _: {"rating": 2} if "Selo" in prompt else {}, model_id="changing")
    evaluator = RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge)
    first = evaluator.evaluate(ROWS[:3], folder=tmp_path)
    assert first.summary()["context_relevance"]["coverage"] == 1 / 3
    judge.script = {"ContextRelevanceOutput": {"rating": 1}}
    second = evaluator.evaluate(ROWS[:3], folder=tmp_path)
    assert [score.value for score in second.scores["context_relevance"]] == [0.5, 0.5, 1.0]
    assert [row["context_relevance"] for row in lines_of(tmp_path / "scores.jsonl")] == [0.5, 0.5, 1.0]


def test_what_the_row_itself_makes_impossible_is_not_tried_again(tmp_path: Path) -> None:
    judge = ScriptedJudge({"ContextRelevanceOutput": {"rating": 1}}, model_id="one")
    evaluator = RAGEvaluator({"metrics": ["context_relevance"]}, judge=judge)
    rows = [ROWS[0], {"user_input": "without contexts"}]
    parts = tmp_path / "journal" / "g1" / "parts"
    evaluator.evaluate(rows, folder=tmp_path)
    before = {path: path.stat().st_ino for path in parts.iterdir()}
    assert evaluator.evaluate(rows, folder=tmp_path).summary()["context_relevance"]["coverage"] == 0.5
    assert {path: path.stat().st_ino for path in parts.iterdir()} == before


def scored_again(config: Path, monkeypatch: Patch, *overrides: str) -> Rows:
    """The lines that a run with other settings scores although the folder holds an earlier run."""
    append = Appender.append
    again = []

    def watch(appender: Appender, line: bytes) -> None:
        again.append(json.loads(line))
        append(appender, line)

    monkeypatch.setattr(Appender, "append", watch)
    run_command(config, "--update", *(part for override in overrides for part in ("--set", override)))
    assert not journalled(config)
    return again


JUDGED = {"answer_relevancy", "context_relevance"}
EMBEDDED = {"answer_relevancy", "semantic_similarity"}
CHANGES: list[tuple[str, set[str], str]] = [
    ("judge.max_new_tokens=48", JUDGED, "max_new_tokens 64 before, 48 now"),
    ("judge.temperature=0.5", JUDGED, "decode greedy before, temperature=0.5,seed=0 now"),
    ("judge.dtype=bfloat16", JUDGED, "dtype float32 before, bfloat16 now"),
    ("judge.chat_template=chat.jinja", JUDGED, "template auto before, "),
    ("judge.model_kwargs={attn_implementation: eager}", JUDGED, "model not set before, attn_implementation=eager now"),
    (
        "embeddings.encode_kwargs={normalize_embeddings: true}",
        EMBEDDED,
        "encode not set before, normalize_embeddings=True now",
    ),
    ("judge.batch_size=3", set(), ""),
    ("embeddings.batch_size=3", set(), ""),
    ("judge.seed=7", set(), ""),  # greedy decoding has no use for it
]


@pytest.mark.parametrize(("override", "changed", "what"), CHANGES)
def test_changed_settings_are_named_and_do_not_meet_the_scores_of_others(
    continued: Path,
    override: str,
    changed: set[str],
    what: str,
    monkeypatch: Patch,
    capsys: Capture,
) -> None:
    (continued.parent / "chat.jinja").write_text("{{ messages[0].content }}\nAnswer:", "utf-8")
    if changed:
        told = error_of(capsys, str(continued), "--set", override)
        assert "holds scores of another run. Changed: " in told
        assert {metric for metric in METRICS if f"{metric}: {what}" in told} == changed
    assert {line["column"] for line in scored_again(continued, monkeypatch, override)} == changed


def test_other_metrics_are_named_and_only_new_ones_are_scored(
    continued: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    override = "metrics=[rouge, context_relevance]"
    told = error_of(capsys, str(continued), "--set", override)
    assert f"metrics: {', '.join(METRICS)} before, rouge_score, context_relevance now" in told
    assert {line["column"] for line in scored_again(continued, monkeypatch, override)} == {"rouge_score"}
    assert list(summary_of(results_of(continued))) == ["rouge_score", "context_relevance"]


def test_another_model_of_the_same_shape_does_not_meet_the_scores_of_the_first(
    continued: Path, model_folder: ModelFolder, monkeypatch: Patch, capsys: Capture
) -> None:
    override = f"judge.model={model_folder('llama-bytelevel', seed=1)}"
    assert re.search(
        r"context_relevance: judge [0-9a-f]{16} before, [0-9a-f]{16} now",
        error_of(capsys, str(continued), "--set", override),
    )
    again = scored_again(continued, monkeypatch, override)
    assert {line["column"] for line in again} == {"context_relevance", "answer_relevancy"}


def test_a_changed_row_is_scored_again_and_the_others_are_not(
    continued: Path, rows: Rows, monkeypatch: Patch, capsys: Capture
) -> None:
    changed = [rows[0], {**rows[1], "response": "Lira Vosk."}, {**rows[2], "note": "of no metric's concern"}]
    write_lines(continued.parent / "rows.jsonl", changed)
    assert "Changed: the rows (4 before, 3 now)" in error_of(capsys, str(continued))
    again = scored_again(continued, monkeypatch)
    concerned = [name for name in METRICS if "response" in ALL_METRICS[name].columns]
    assert Counter(line["column"] for line in again) == dict.fromkeys(concerned, 1) != dict.fromkeys(METRICS, 1)
    sample = load_dataset(changed)[1]
    assert {line["unit"] for line in again} == {sample.digest_of(ALL_METRICS[name].columns) for name in concerned}
    assert [row.get("note") for row in lines_of(results_of(continued) / "scores.jsonl")] == [
        None,
        "😀",
        "of no metric's concern",
    ]


def may_unshare() -> bool:
    tool = shutil.which("unshare")
    return tool is not None and subprocess.run([tool, "-rn", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not may_unshare(), reason="needs the right to make a namespace without network")
def test_the_main_job_runs_with_the_network_taken_away_quietly_and_with_the_same_result(
    finished: Path, config: Path, monkeypatch: Patch
) -> None:
    for name in ("RAGAS_DO_NOT_TRACK", "HF_HUB_OFFLINE", "TRANSFORMERS_VERBOSITY"):  # the package sets them itself
        monkeypatch.delenv(name, raising=False)
    command = ["unshare", "-rn", sys.executable, str(ROOT / "main.py"), str(config)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=config.parent)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    [doubt] = [line for line in lines if not re.match(r"00:\d\d:\d\d [\x20-\x7e]{,111}$", line)]  # progress
    assert doubt.startswith("the judge's model has no chat template")
    assert (results_of(config) / "scores.jsonl").read_bytes() == (finished / "scores.jsonl").read_bytes()
