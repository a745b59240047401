"""Panels: what each judge says, their mean and agreement, which files there are, and that a killed panel continues."""

import json
import math
import shutil
import signal
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from command_starter import Zygote
from pydantic import BaseModel

from rag_evaluator import (
    ConfigError,
    Judge,
    RAGEvaluator,
    ResultsError,
    ScriptedJudge,
    compare,
    duel,
    gate,
    generate,
    sort,
)
from rag_evaluator.cli.main import main
from rag_evaluator.results.results import panel_signature
from rag_evaluator.results.rows import Score

ROWS = [
    {"id": f"r{place}", "question": str(place), "contexts": ["C"], "answer": "ja", "reference": "ja", "topic": topic}
    for place, topic in enumerate(("sea", "sea", "land", "land"))
]
CUSTOM: dict[str, Any] = {
    "tone": {"question": "Polite?", "columns": ["user_input", "response"], "scale": {0: "rude", 1: "cool", 2: "warm"}},
    "fit": {"question": "Does it fit?", "columns": ["user_input"], "scale": ["fail", "pass"]},
}
CONFIG: dict[str, Any] = {"metrics": ["tone", "fit", "exact_match"], "custom_metrics": CUSTOM}
A: dict[str, list[int | None]] = {"tone": [0, 1, 2, 2], "fit": [1, 1, 0, 0]}
B: dict[str, list[int | None]] = {"tone": [0, 2, 2, 1], "fit": [1, 0, 0, 0]}
OWN = ["scores.jsonl", "scores.csv", "scores.xlsx", "summary.json", "details.jsonl", "manifest.json", "prompts.json"]


class Labels(ScriptedJudge):
    """Gives a label to each row by its number; None: no answer."""

    def __init__(self, labels: Mapping[str, Sequence[int | None]], model_id: str | None = None) -> None:
        super().__init__(self._say, model_id=model_id)
        self.labels = labels

    def _say(self, prompt: str, response_model: type[BaseModel]) -> dict[str, Any]:
        values = json.loads(prompt.rpartition("\ninput: ")[2].removesuffix("\nOutput: "))["values"]
        label = self.labels["tone" if "response" in values else "fit"][int(values["user_input"])]
        return {} if label is None else {"reason": f"I say {label}.", "label": label}


def panel(b: Mapping[str, Sequence[int | None]] = B, **config: Any) -> RAGEvaluator:
    return RAGEvaluator({**CONFIG, **config}, {"a": Labels(A, "scripted-a"), "b": Labels(b, "scripted-b")})


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_a_panel_gives_the_scores_of_each_judge_and_their_mean() -> None:
    results = panel().evaluate(ROWS)
    assert results.metrics == ["tone", "tone@a", "tone@b", "fit", "fit@a", "fit@b", "exact_match"]
    frame = results.to_pandas()
    assert list(frame["tone@a"]) == A["tone"]
    assert list(frame["tone@b"]) == B["tone"]
    assert list(frame["tone"]) == [0, 1.5, 2, 1.5]
    assert list(frame["fit"]) == [1, 0.5, 0, 0]
    assert list(frame["exact_match"]) == [1, 1, 1, 1]


def test_agreement_is_the_alpha_worked_out_by_hand() -> None:
    summary = panel().evaluate(ROWS).summary()
    # 8 ratings, of them 3 ones and 5 zeros, one pair that differs: 1 - (8 - 1) * 1 / (3 * 5)
    assert summary["fit"]["panel"] == {
        "judges": {"a": 0.5, "b": 0.25},
        "alpha": pytest.approx(8 / 15),
        "level": "interval",
        "rows": 4,
        "alpha_reason": None,
    }
    # mean ranks 1.5, 3.5, 6.5 of the grades 0, 1, 2 (2, 2 and 4 times); two pairs differ by 3 ranks:
    # all pairs 2*2*2^2 + 2*4*5^2 + 2*4*3^2 = 288, so 1 - 7 * (9 + 9) / 288
    assert summary["tone"]["panel"]["alpha"] == pytest.approx(0.5625)
    assert summary["tone"]["panel"]["level"] == "ordinal"
    assert summary["tone"]["mean"] == 1.25
    assert summary["tone@b"]["mean"] == 1.25
    assert "panel" not in summary["exact_match"]
    assert "panel" not in summary["fit@a"]


def test_judges_that_say_the_same_of_every_row_have_no_alpha_and_the_reason() -> None:
    constant = {name: [1, 1, 1, 1] for name in A}
    judges = {"a": Labels(constant), "b": Labels(constant)}
    found = RAGEvaluator(CONFIG, judges).evaluate(ROWS).summary()["fit"]["panel"]
    assert (found["alpha"], found["alpha_reason"]) == (None, "all ratings are equal")


def test_a_row_that_one_judge_could_not_score_has_no_mean_but_the_reason() -> None:
    results = panel({**B, "fit": [1, 0, None, 0]}).evaluate(ROWS)
    row = results.to_pandas().iloc[2]
    assert (row["fit@a"], math.isnan(row["fit@b"]), math.isnan(row["fit"])) == (0, True, True)
    summary = results.summary()["fit"]
    assert (summary["scored"], summary["count"], summary["panel"]["rows"]) == (3, 4, 3)
    assert next(iter(summary["reasons"])).startswith("b: the script's answer")


def test_metrics_that_ask_no_judge_are_scored_once(tmp_path: Path) -> None:
    panel().evaluate(ROWS, folder=tmp_path)
    metrics = {name: list(read(tmp_path / "judges" / name / "summary.json")) for name in "ab"}
    assert metrics == {"a": ["tone", "fit", "exact_match"], "b": ["tone", "fit"]}


def test_what_is_reported_is_reported_of_the_mean(tmp_path: Path) -> None:
    results = panel(thresholds={"fit": 0.5}, group_by=["topic"], require=["fit >= 0.9"]).evaluate(ROWS, folder=tmp_path)
    summary = results.summary()
    assert summary["fit"]["pass_rate"]["mean"] == 0.5
    assert summary["fit"]["groups"]["topic"]["sea"]["mean"] == 0.75
    assert "pass_rate" not in summary["fit@a"]
    [verdict] = gate(tmp_path)
    assert not verdict.passed
    assert gate(tmp_path, "fit@a >= 0.01", min_coverage=1.0)[1].passed


def test_a_panel_in_a_folder_has_all_files_and_each_judge_a_run_of_its_own(tmp_path: Path) -> None:
    results = panel().evaluate(ROWS, folder=tmp_path / "run")
    for folder in (tmp_path / "run", *(tmp_path / "run" / "judges" / name for name in "ab")):
        assert [name for name in OWN if not (folder / name).is_file()] == []
    assert read(tmp_path / "run" / "summary.json") == results.summary() == panel().evaluate(ROWS).summary()
    manifest = read(tmp_path / "run" / "manifest.json")
    assert manifest["signatures"] == panel().signatures()
    assert "scripted-a" in manifest["signatures"]["fit"]
    assert "scripted-b" in manifest["signatures"]["fit"]
    assert "scripted-b" not in manifest["signatures"]["fit@a"]
    assert [judge["name"] for judge in manifest["config"]["judges"]] == ["a", "b"]
    details = [json.loads(line) for line in (tmp_path / "run" / "details.jsonl").read_text().splitlines()]
    said = {line["metric"]: line["judgements"] for line in details if line["row"] == 1}
    assert (said["fit"], said["fit@a"][0]["response"]["reason"]) == ([], "I say 1.")
    workbook = openpyxl.load_workbook(tmp_path / "run" / "scores.xlsx")
    assert "fit@b" in [cell.value for cell in workbook["scores"][1]]
    assert "alpha" in [cell.value for cell in workbook["summary"][1]]
    written = results.write(tmp_path / "copy")
    assert [name for name in (*OWN[:1], *OWN[3:5], "disagreements.jsonl") if not same(written, name, tmp_path)] == []


def same(written: Path, name: str, folder: Path) -> bool:
    return (written / name).read_bytes() == (folder / "run" / name).read_bytes()


def test_the_rows_on_which_the_judges_disagree_most_come_first_with_what_each_said(tmp_path: Path) -> None:
    panel({"tone": [2, 2, 2, 2], "fit": A["fit"]}).evaluate(ROWS, folder=tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "disagreements.jsonl").read_text().splitlines()]
    assert [(line["row"], line["metric"], line["difference"]) for line in lines] == [(0, "tone", 2.0), (1, "tone", 1.0)]
    assert lines[0]["scores"] == {"a": 0, "b": 2}
    assert lines[0]["said"] == {"a": ["label 0 · I say 0."], "b": ["label 2 · I say 2."]}
    assert (lines[0]["user_input"], lines[0]["response"]) == ("0", "ja")


def test_panels_are_compared_by_their_means_and_by_each_judge(tmp_path: Path) -> None:
    panel().evaluate(ROWS, folder=tmp_path / "one")
    panel({**B, "fit": [0, 0, 0, 0]}).evaluate(ROWS, folder=tmp_path / "two")
    lines = compare(tmp_path / "one", tmp_path / "two").metrics
    table = {line.figures.metric: line.figures.difference.mean for line in lines}
    assert set(table) == {"tone", "tone@a", "tone@b", "fit", "fit@a", "fit@b", "exact_match"}
    assert (table["fit"], table["fit@a"], table["fit@b"]) == (-0.125, 0, -0.25)
    own = compare(tmp_path / "one" / "judges" / "a", tmp_path / "one" / "judges" / "b")
    assert [line.figures.metric for line in own.metrics] == ["tone", "fit"]


def test_signatures_of_a_panel_name_what_the_judges_share_once() -> None:
    lines = {"x": "metric:m|judge:1|dtype:auto", "y": "metric:m|judge:2|dtype:auto"}
    assert panel_signature(lines) == "metric:m|dtype:auto|panel:x, y|judge@x:1|judge@y:2"


def test_a_finished_panel_asks_nobody_again_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    panel().evaluate(ROWS, folder=tmp_path)
    again = panel()
    again.evaluate(ROWS, folder=tmp_path)
    assert [evaluator.judge.model.asked for evaluator in again.judges.values()] == [0, 0]
    judges = {"a": Labels(A, "scripted-a"), "c": Labels(B, "scripted-b")}
    other = RAGEvaluator(CONFIG, judges)
    with pytest.raises(ResultsError, match=r"another panel\. Changed: judges: a, b before, a, c now"):
        other.evaluate(ROWS, folder=tmp_path)
    with pytest.raises(ResultsError, match="holds scores of a panel, and this run has one judge"):
        RAGEvaluator(CONFIG, Labels(A, "scripted-a")).evaluate(ROWS, folder=tmp_path)
    results = other.evaluate(ROWS, folder=tmp_path, start="update")
    assert judges["a"].asked == 0
    assert "fit@c" in results.metrics
    assert read(tmp_path / "summary.json") == results.summary()


def test_a_panel_does_not_replace_the_run_of_one_judge(tmp_path: Path) -> None:
    RAGEvaluator(CONFIG, Labels(A)).evaluate(ROWS, folder=tmp_path)
    with pytest.raises(ResultsError, match="holds scores of a run with one judge"):
        panel().evaluate(ROWS, folder=tmp_path, start="fresh")


def test_a_panel_of_which_a_judge_has_not_finished_is_not_compared(tmp_path: Path) -> None:
    panel().evaluate(ROWS, folder=tmp_path)
    (tmp_path / "judges" / "b" / "journal" / "g1" / "merged.json").unlink()
    with pytest.raises(ResultsError, match="this panel is not finished"):
        gate(tmp_path, "fit >= 0.1")


TWO = {"judges": [{"name": "x"}, {"name": "y", "model": "/nowhere"}]}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no such model": (
        lambda: RAGEvaluator({**CONFIG, **TWO}).check(ROWS),
        r"judges\[1\] \(y\): judge.model: no such folder",
    ),
    "nothing to judge": (
        lambda: RAGEvaluator({"metrics": ["bleu"], **TWO}),
        "none of the metrics asks a judge. Remove 'judges'",
    ),
    "a greedy judge": (
        lambda: RAGEvaluator({**CONFIG, **TWO, "repeats": 2}).check(ROWS),
        r"judges\[0\] \(x\): .*repeats",
    ),
    "a judge and a panel": (
        lambda: RAGEvaluator({**CONFIG, **TWO}, Labels(A)),
        "'judges' is set, and a judge was given",
    ),
    "an unfit name": (lambda: RAGEvaluator(CONFIG, {"a@b": Labels(A), "c": Labels(B)}), "the name of a judge becomes"),
    "one judge": (lambda: RAGEvaluator(CONFIG, {"a": Labels(A)}), "expected two or more"),
    "sort": (lambda: sort(["Q"], [["C"]], config={**CONFIG, **TWO}), "'judges': sort asks one judge|this function"),
    "generate": (lambda: generate(["Q"], [["C"]], config={**CONFIG, **TWO}), "asks one judge. Set 'judge'"),
    "a stage": (lambda: RAGEvaluator({**CONFIG, **TWO}).stage(ROWS), "a stage asks one judge"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_panel_cannot_do_is_said_before_a_model_is_loaded(case: str) -> None:
    call, told = REFUSED[case]
    with pytest.raises(ConfigError if case != "no such model" else Exception, match=told):
        call()


def test_a_duel_of_panels_needs_one_judge(tmp_path: Path) -> None:
    for name in ("one", "two"):
        panel().evaluate(ROWS, folder=tmp_path / name)
    with pytest.raises(ConfigError, match=r"asks one judge\. Set 'judge' in place of 'judges'"):
        duel(tmp_path / "one", tmp_path / "two")


def write_config(folder: Path, model: Path) -> Path:
    folder.mkdir()
    rows = [{**ROWS[0], "id": place, "contexts": [f"Tesk lies on the river Om, {place}."]} for place in range(6)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    settings = {"model": str(model), "dtype": "float32", "batch_size": 4, "max_new_tokens": 32}
    judges = [{"name": "a", **settings}, {"name": "b", **settings, "temperature": 0.8, "seed": 1}]
    config = {
        "name": "run",
        "dataset": "rows.jsonl",
        "chunk_size": 3,
        "judges": judges,
        "metrics": ["context_relevance", "exact_match"],
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    return folder / "config.yaml"


@pytest.mark.processes
def test_a_killed_panel_continues_with_two_workers_and_gives_the_same_bytes(
    tmp_path: Path, model_folder: Callable[..., Path], zygote: Zygote, capsys: pytest.CaptureFixture[str]
) -> None:
    model = model_folder("llama-bytelevel")
    shared, alone = (write_config(tmp_path / name, model) for name in ("shared", "alone"))
    record = tmp_path / "record"
    victim = {"arguments": [str(shared), "--worker", "0/2"], "signals": [[0.1, signal.SIGKILL]]}
    assert zygote.run(record, victim) == [-9], "the worker ended before it could be killed"
    results = shared.parent / "results" / "run"
    assert main(["status", str(results)]) == 0
    assert "panel not written yet" in capsys.readouterr().out
    assert main(["merge", str(results)]) in (2, 75)
    workers = [{"arguments": [str(shared), "--worker", f"{number}/2"]} for number in range(2)]
    assert zygote.run(record, {"arguments": [str(alone)]}, *workers) == [0, 0, 0]
    files = ["scores.jsonl", "scores.csv", "details.jsonl", "summary.json", "disagreements.jsonl"]
    expected = {name: (alone.parent / "results" / "run" / name).read_bytes() for name in files}
    assert {name: (results / name).read_bytes() for name in files} == expected
    (results / "summary.json").unlink()
    capsys.readouterr()
    assert main(["merge", str(results)]) == 0
    assert main(["status", str(results)]) == 0
    assert "the panel of a, b written" in (printed := capsys.readouterr().out)
    assert printed.count("results written") == 2
    assert (results / "summary.json").read_bytes() == expected["summary.json"]


@pytest.mark.parametrize("changed", ["a", "b"])
def test_a_judge_of_a_finished_panel_whose_weights_were_changed_is_noticed(
    changed: str, tmp_path: Path, model_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_config(tmp_path / "run", model_folder("llama-bytelevel"))
    settings = json.loads(config.read_bytes())
    for judge in settings["judges"]:
        judge["model"] = str(shutil.copytree(judge["model"], tmp_path / judge["name"]))
    config.write_text(json.dumps(settings), encoding="utf-8")
    assert main([str(config)]) == 0
    assert main([str(config)]) == 0
    assert "nothing was scored or written" in capsys.readouterr().out
    (tmp_path / changed / "generation_config.json").write_text('{"changed": 1}', encoding="utf-8")
    assert main([str(config)]) == 2
    said = capsys.readouterr().err
    assert f"judges/{changed} holds scores of another run. Changed: context_relevance: judge " in said


def test_a_judge_is_freed_before_the_next_one_is_loaded(
    model_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Any] = []
    load = Judge.from_config

    def watched(*arguments: Any) -> Judge:
        assert [reference() for reference in loaded] == [None] * len(loaded)
        judge = load(*arguments)
        loaded.append(weakref.ref(judge.inner.engine))
        return judge

    monkeypatch.setattr(Judge, "from_config", watched)
    model = {"model": str(model_folder("llama-bytelevel")), "max_new_tokens": 64}
    config = {"metrics": ["context_relevance"], "judges": [{"name": "a", **model}, {"name": "b", **model}]}
    results = RAGEvaluator(config).evaluate(ROWS[:2])
    assert len(loaded) == 2
    assert results.scores["context_relevance@a"] == results.scores["context_relevance@b"]


def test_a_score_of_a_panel_keeps_the_fewest_contexts_of_any_judge() -> None:
    from rag_evaluator.results.results import panel_score

    scores = {"a": Score(1.0, contexts=(0, 1)), "b": Score(0.0, contexts=(0,))}
    assert panel_score(scores) == Score(0.5, contexts=(0,))
