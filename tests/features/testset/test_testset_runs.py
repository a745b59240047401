"""Test sets by a real model with random weights: nothing is lost, and kills and workers change no byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from aliases import ModelFolder
from command_starter import Zygote
from folders import results_of

from rag_evaluator.cli.main import main
from tests.features.testset.testset_world import write_documents

CANDIDATES = 16
FILES = ("testset.jsonl", "testset_details.jsonl", "testset_summary.json")


def write_config(folder: Path, model: Path) -> Path:
    documents = write_documents(folder.parent / "documents", "english")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(
        "metrics: [faithfulness]\nchunk_size: 2\n"
        f"judge: {{model: {model}, dtype: float32, max_new_tokens: 32, batch_size: 4}}\n"
        f"testset: {{documents: ['{documents}'], size: 4, candidates: {CANDIDATES}, neighbours: 2}}\n",
        "utf-8",
    )
    return folder / "config.yaml"


def bytes_of(config: Path) -> dict[str, bytes]:
    return {name: (results_of(config) / name).read_bytes() for name in FILES}


def test_a_model_with_random_weights_loses_nothing_each_failure_has_its_reason(
    tmp_path: Path, model_folder: ModelFolder
) -> None:
    config = write_config(tmp_path / "random", model_folder("llama-bytelevel"))
    assert main(["testset", "make", str(config)]) == 1, "fewer questions than wanted"
    lines = (results_of(config) / "testset_details.jsonl").read_text("utf-8").splitlines()
    slots: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert [slot["candidate"] for slot in slots] == list(range(CANDIDATES))
    for slot in slots:
        assert slot["left_out_by"] is None or slot["reason"]
        assert all(verdict["keep"] or verdict["reason"] for verdict in slot.get("verdicts", {}).values())
    assert len([slot for slot in slots if "verdicts" in slot]) >= CANDIDATES // 2, "it writes questions"
    summary = json.loads((results_of(config) / "testset_summary.json").read_bytes())
    left_out = sum(count for reasons in summary["left_out"].values() for count in reasons.values())
    assert summary["survived"] + left_out == summary["candidates"] == CANDIDATES


@pytest.mark.processes
def test_two_workers_at_once_give_what_one_process_gives(
    tmp_path: Path, model_folder: ModelFolder, zygote: Zygote
) -> None:
    model = model_folder("llama-bytelevel")
    config, alone = (write_config(tmp_path / name, model) for name in ("shared", "alone"))
    record = tmp_path / "record"
    assert zygote.run(record, {"arguments": ["testset", "make", str(alone)]}) == [1]
    workers = [{"arguments": ["testset", "make", str(config), "--worker", f"{number}/2"]} for number in range(2)]
    assert zygote.run(record, *workers) == [1, 1]
    assert bytes_of(config) == bytes_of(alone)
