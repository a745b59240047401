"""The keys that say how results are reported, from the command line: wrong values, and runs that are reported anew."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from aliases import Capture, Json, Patch
from folders import contents_of, output_of, run_command, write_lines

from rag_evaluator import RAGEvaluator, ScriptedJudge
from rag_evaluator.cli.main import main
from rag_evaluator.models import Models
from rag_evaluator.tasks import evaluation

HEAD = "dataset: rows.jsonl\nmetrics: [noise_sensitivity, exact_match, bleu, semantic_similarity]\n"  # lines 1 and 2
REWRITTEN = {"summary.json", "scores.xlsx", "manifest.json"}
TWELVE = [
    {
        "question": f"Question {place}?",
        "contexts": ["Nolu Brak was born in Tesk."],
        "answer": "yes" if place % 3 else "no",
        "ground_truth": "yes",
        "topic": "sea" if place % 2 else "land",
        "some": 2 if place < 4 else None,
        "blank": " ",
    }
    for place in range(12)
]


def write(folder: Path, lines: str, head: str = HEAD) -> str:
    """The path of a configuration with its dataset."""
    write_lines(folder / "rows.jsonl", TWELVE)
    (folder / "config.yaml").write_text(head + lines, "utf-8")
    return str(folder / "config.yaml")


WRONG = [
    ("group_by: [topic, tpic]", "line 3: group_by: 'tpic' is no column of any row. Did you mean 'topic'?"),
    ("group_by:\n  - topic\n  - blank", "line 5: group_by: 'blank' is blank in all rows."),
    ("group_by: ['']", "line 3: group_by: '' is no column of any row. Known: question, contexts, "),
    ("group_by: [2024]", "line 3: 'group_by[0]' is 2024: input should be a valid string. Put it in quotes"),
    ("cluster: tpic", "line 3: cluster: 'tpic' is no column of any row. Did you mean 'topic'?"),
    ("thresholds: {faithfulness: 0.5}", "'thresholds.faithfulness' is not one of the metrics of this run. Add it"),
    ("thresholds: {exact_mtch: 1}", "'thresholds.exact_mtch' is not one of the metrics of this run. Did you mean"),
    ("thresholds:\n  bleu: 1.5", "line 4: 'thresholds.bleu' is 1.5"),
    ("thresholds: {answer_similarity: -2}", "line 3: 'thresholds.answer_similarity' is -2"),
    (
        "thresholds:\n  bleu: 0.5\n  bleu_score: 0.6",
        "line 5: 'thresholds.bleu_score' and 'bleu' are the same metric. Remove one of them.",
    ),
    *[(f"ci_level: {level}", f"line 3: 'ci_level' is {level}: ") for level in ("0", "95")],
    (
        "require:\n  - exact_match >= 0.1\n  - exact_mach >= 0.1",
        "line 5: 'require[1]': 'exact_mach' is not one of the metrics of this run. Did you mean 'exact_match'?",
    ),
    (
        "require: faithfulness >= 0.5",
        "line 3: 'require[0]': 'faithfulness' is not one of the metrics",
    ),
    ("require: [bleu => 0.5]", "line 3: 'require[0]': 'bleu => 0.5' is not a rule. Expected a metric, >= or <=, and"),
    ("require: [bleu >= 1.5]", "line 3: 'require[0]': rule 'bleu >= 1.5': expected a number from 0 to 1."),
    ("require: [noise_sensitivity >= 0.5]", "of noise_sensitivity lower is better: give a maximum."),
]


def refusal(arguments: Sequence[str], capsys: Capture, monkeypatch: Patch) -> str:
    """What is said of a wrong configuration before a model is loaded."""
    monkeypatch.delattr(Models, "scorer")
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


@pytest.mark.parametrize(("lines", "told"), WRONG, ids=[lines for lines, _ in WRONG])
def test_a_wrong_value_is_one_line_with_its_place_before_a_model_is_loaded(
    lines: str, told: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    said = refusal([write(tmp_path, lines)], capsys, monkeypatch)
    assert said.startswith("error: config.yaml, line ")
    assert told in said


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("group_by=tpic", "--set group_by: group_by: 'tpic' is no column of any row."),
        ("require=[bleu >= 2]", "--set require: 'require[0]': rule 'bleu >= 2': expected a number from 0 to 1."),
    ],
)
def test_a_wrong_value_on_the_command_line_names_its_option(
    override: str, told: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    assert f"error: {told}" in refusal([write(tmp_path, ""), "--set", override], capsys, monkeypatch)


STRINGS = "dataset: rows.jsonl\nmetrics: [exact_match]\nchunk_size: 4\n"


@pytest.mark.parametrize(
    "lines",
    [
        "group_by:\nrequire:\nthresholds:\ncluster:",
        "group_by: [topic, topic, question, query, user_input, some]",
        "cluster: some",
        "thresholds: {ExactMatch: '0.5'}",
        "ci_level: 9e-1",
        "require: exact_match >= 1",
        "require: ['mean:ExactMatch >= 0']",
    ],
)
def test_an_odd_value_that_makes_sense_is_understood(lines: str, tmp_path: Path) -> None:
    run_command(write(tmp_path, lines, STRINGS))


OTHERS: list[Json] = [
    {"group_by": ["topic"]},
    {"cluster": "topic"},
    {"thresholds": {"ContextRelevance": 0.5}},
    {"ci_level": 0.9},
    {"require": ["context_relevance >= 0.9"]},
    {"group_by": ["topic", "some"], "cluster": "question", "thresholds": {"exact_match": 1}},
]


def files_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    paths = [path for path in folder.iterdir() if path.is_file()]
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def judged(folder: Path, judge: ScriptedJudge, **keys: Any) -> None:
    config = {"metrics": ["context_relevance", "exact_match"], "dataset": folder / "rows.jsonl", "chunk_size": 4}
    RAGEvaluator({**config, **keys}, judge=judge).evaluate(folder=folder / "results")


def rating(prompt: str, _: Any) -> dict[str, int]:
    """Differs from row to row."""
    return {"rating": sum(f"Question {place}?" in prompt for place in (1, 2, 3)) * 2}


@pytest.mark.parametrize("keys", OTHERS, ids=str)
def test_a_finished_run_is_reported_anew_and_nothing_is_judged(keys: Json, tmp_path: Path) -> None:
    write(tmp_path, "")
    judge = ScriptedJudge(rating, model_id="script")
    results = tmp_path / "results"
    judged(tmp_path, judge)
    first = files_of(results)
    asked = judge.asked
    judged(tmp_path, judge, **keys)
    second = files_of(results)
    assert judge.asked == asked
    changed = {name for name, (content, _) in second.items() if content != first[name][0]}
    assert changed - {"report.html"} == ({"manifest.json"} if list(keys) == ["require"] else REWRITTEN)
    judged(tmp_path, judge, **keys)
    wanted = contents_of(results.iterdir())
    assert files_of(results) == second, "started again with the same values it writes nothing"
    shutil.rmtree(results)
    judged(tmp_path, judge, **keys)
    assert contents_of(results.iterdir()) == wanted, "as if it had been reported so from the start"


@pytest.mark.parametrize("keys", OTHERS, ids=str)
def test_a_merge_keeps_what_was_reported_last(keys: Json, tmp_path: Path) -> None:
    keys = json.loads(json.dumps(keys).replace("ContextRelevance", "exact_match").replace("context_relevance", "bleu"))
    head = {"dataset": "rows.jsonl", "metrics": ["exact_match", "bleu"], "name": "run"}
    run_command(write(tmp_path, yaml.safe_dump({"group_by": "some", "ci_level": 0.8}), yaml.safe_dump(head)))
    run_command(write(tmp_path, yaml.safe_dump(keys), yaml.safe_dump(head)))
    results = tmp_path / "results" / "run"
    wanted = contents_of(results.iterdir())
    run_command("merge", results)
    assert contents_of(results.iterdir()) == wanted


def test_an_unfinished_run_is_reported_as_the_one_that_ends_it(tmp_path: Path, monkeypatch: Patch) -> None:
    scored = evaluation.Evaluation.write

    def broken(*_: Any) -> None:
        raise OSError("killed")

    path = write(tmp_path, "group_by: topic\nci_level: 0.8\n", STRINGS)
    results = tmp_path / "results" / "run"
    monkeypatch.setattr(evaluation.Evaluation, "write", broken)
    with pytest.raises(OSError, match="killed"):
        main([path])
    monkeypatch.setattr(evaluation.Evaluation, "write", scored)
    run_command(path, "--set", "group_by=some", "--set", "ci_level=0.9")
    summary = json.loads((results / "summary.json").read_bytes())["exact_match"]
    assert summary["ci_level"] == 0.9
    assert list(summary["groups"]) == ["some"]


DAMAGES: list[Json] = [
    {"config": None},
    {"config": {"ci_level": "high", "group_by": 5}},
    {"config": {"require": ["exact_match"]}},
    {"metrics": None},
]


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_manifest_that_somebody_has_edited_is_written_again(damage: Json, tmp_path: Path) -> None:
    path = write(tmp_path, "group_by: topic\n", STRINGS)
    results = tmp_path / "results" / "run"
    run_command(path)
    whole = (results / "manifest.json").read_bytes()

    def edit() -> None:
        (results / "manifest.json").write_text(json.dumps({**json.loads(whole), **damage}), "utf-8")

    edit()
    run_command("merge", results)
    assert (results / "manifest.json").read_bytes() == whole
    edit()
    run_command(path, "--set", "ci_level=0.9")
    assert json.loads((results / "manifest.json").read_bytes())["config"]["ci_level"] == 0.9


def test_a_failed_requirement_is_printed_and_only_the_gate_fails(tmp_path: Path, capsys: Capture) -> None:
    path = write(tmp_path, "require: [exact_match >= 0.9]\n", STRINGS)
    results = tmp_path / "results" / "run"
    for _ in "ab":  # the second finds a finished run
        assert "requirement failed: exact_match >= 0.9: 0.67 [" in output_of(capsys, path)
    assert main(["gate", str(results)]) == 1
    assert "requirement failed" not in output_of(capsys, path, "--set", "require=[exact_match >= 0.1]")
    run_command("gate", results)
