"""`submit --whole-nodes`: each element of the array has a node for itself, with the GPUs that its vLLM server needs."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_evaluator.cli.main import main

NODE = "--exclusive --mem=0"


@pytest.mark.parametrize(
    ("judge", "extra", "expected"),
    [
        ({}, [], f"{NODE} "),
        ({"engine": "vllm"}, [], f"{NODE} --ntasks-per-node=1 "),
        ({"engine": "vllm", "vllm": {"args": ["-tp", "4"]}}, [], f"{NODE} --ntasks-per-node=1 --gres=gpu:4 "),
        (
            {"engine": "vllm", "vllm": {"args": ["--tensor_parallel_size=2", "-tp", "4", "-pp=2"]}},
            ["--gres=gpu:a100:8"],  # later ones take precedence
            f"{NODE} --ntasks-per-node=1 --gres=gpu:8 --gres=gpu:a100:8 ",
        ),
        ({"engine": "vllm", "vllm": {"args": ["-tp", "many"]}}, [], f"{NODE} --ntasks-per-node=1 "),
    ],
)
def test_each_element_of_the_array_has_a_node_for_itself_and_the_merge_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: dict[str, Any], extra: list[str], expected: str
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"user_input": "Where?"}\n', encoding="utf-8")
    config = tmp_path / "config.yaml"
    settings = {"dataset": "rows.jsonl", "metrics": ["faithfulness"], "judge": judge}
    config.write_text(json.dumps(settings), encoding="utf-8")
    command = ["submit", str(config), "--workers", "2", "--dry-run"]
    assert main([*command, "--whole-nodes", "--", *extra]) == 0
    *_, array, merge = capsys.readouterr().out.splitlines()
    assert f" {expected}" in array
    assert "--exclusive" not in merge and "gpu" not in merge
    assert main([*command, "--", *extra]) == 0
    assert "--exclusive" not in capsys.readouterr().out
