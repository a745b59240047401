"""`judges`: what is refused before a model is loaded, a whole comparison, and one that was killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aliases import Capture, Json
from folders import error_of, is_there, lines_of, output_of, run_command, write_config

TEXT = "The bridge was built in 1901. It spans the river near the old mill."
FALSE = "The bridge was painted green in 1950. It was sold to a bank."
CONFIG = "metrics: [groundedness]\nname: which\nreport: false"


def rows_of(count: int) -> list[Json]:
    """Of every second row people marked the last sentence, which the contexts do not have."""
    rows = []
    for number in range(count):
        spans = [{"start": FALSE.index("It"), "end": len(FALSE)}] if number % 2 else []
        answer = FALSE if spans else TEXT
        row = {"user_input": f"Question {number}?", "retrieved_contexts": [TEXT], "response": answer}
        rows.append({**row, "spans": spans, "ok": "no" if spans else "yes", "grade": number % 3, "same": 1})
    return rows


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_config(tmp_path, rows_of(24), CONFIG)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--judge demo", "--probe"),
        ("--label groundedness=spans", "--judge"),
        ("--label groundedness=spams --judge demo", "'spans'"),
        ("--label groundedness=grade --judge demo", "0, 1, 2"),
        ("--label groundedness=same --judge demo", "received 1"),
        ("--label groundedness=user_input --judge demo", "is no label"),
        ("--label groundedness=ok --metric faithfulness --judge demo", "--metric faithfulness"),
        ("--label groundedness=ok --judge ./nowhere", "nowhere"),
        ("--label groundedness=ok --judge demo --judge demo", "NAME=demo"),
        ("--label groundedness=ok --judge demo --judge-set demon.thinking=on", "'demo'"),
        ("--label groundedness=ok --judge demo --judge-set demo.thinkin=on", "thinking"),
        ("--label faithfulness=ok --verifier words", "--verifier words"),
        ("--label groundedness=ok --label faithfulness=ok --verifier words", "no verifier scores faithfulness"),
        ("--label groundedness --judge demo", "METRIC=COLUMN"),
    ],
)
def test_bad_input_is_refused_before_any_model(config: Path, capsys: Capture, words: str, named: str) -> None:
    assert named in error_of(capsys, "judges", config, *words.split())
    assert not (config.parent / "results").exists()


@pytest.mark.processes
def test_a_whole_comparison(config: Path, capsys: Capture) -> None:
    labels = ("--label", "groundedness=spans", "--label", "faithfulness=ok")
    models = ("--verifier", "words", "--verifier", "other=words", "--judge", "demo")
    printed = output_of(capsys, "judges", config, *labels, *models)
    out = config.parent / "results" / "which" / "judges"
    assert "words and other are the same for groundedness: their scores are equal in every row." in printed
    document = json.loads((out / "judges.json").read_bytes())
    rows = document["metrics"]["groundedness"]["rows"]["rows"]
    assert rows["words"]["auc"]["value"] == rows["counting words"]["auc"]["value"] == 1.0
    assert rows["words"]["auc"]["ci_low"] < 1.0  # without an error, and not certain
    assert document["metrics"]["groundedness"]["sentences"]["labels"] == 48
    assert "counting words" in (out / "judges.html").read_text("utf-8")
    made = {line["judge"]: line["made"] for line in lines_of(out / "costs.jsonl")}
    assert made == {"words": 24, "other": 24, "demo": 48}
    assert set(document["metrics"]["faithfulness"]["work"]) == {"demo"}  # a verifier scores what it can


@pytest.mark.processes
def test_killed_in_the_second_judge_it_continues_with_the_same_bytes(config: Path, tmp_path: Path) -> None:
    models = ("--judge", "first=demo", "--judge", "second=demo", "--judge-set", "second.reasons=none")
    command = ("judges", config, "--label", "groundedness=ok", *models)
    whole = tmp_path / "whole"
    run_command(*command, "--out", whole)
    killed = tmp_path / "killed"
    words = [sys.executable, "-m", "rag_evaluator", *map(str, command), "--out", str(killed)]
    process = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not any(killed.glob("second/journal/**/workers/*")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (killed / "judges.json").exists()
    run_command(*command, "--out", killed)
    for name in ("first/scores.jsonl", "first/details.jsonl", "second/scores.jsonl", "second/details.jsonl"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert (killed / "judges.json").read_bytes() == (whole / "judges.json").read_bytes()
    engines = [json.loads(path.read_bytes())["engine"] for path in killed.glob("first/journal/**/workers/*.json")]
    assert len(list(filter(None, engines))) == 1  # the first one was loaded once


@pytest.mark.processes
@pytest.mark.skipif(not is_there(["probe"]), reason="the feature probe is not there")
def test_without_labels_the_probes_stand_beside_each_other(config: Path, capsys: Capture) -> None:
    command = ("judges", config, "--probe", "--judge", "demo", "--verifier", "words", "--json")
    document = json.loads(output_of(capsys, *command))
    assert document["probe"]["judges"].keys() == document["costs"].keys() == {"demo", "words"}
    assert document["probe"]["flagged"]["demo"] == {"groundedness": 0.0}
    assert document["probe"]["alpha"]["groundedness"]["units"] > 24
    assert document["conclusion"]["sentences"][0].startswith("Kinds of change that are noticed in groundedness, of ")
