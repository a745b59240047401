"""What earlier versions had is named where somebody still uses it, with what to do in its place."""

from pathlib import Path

import pytest
from folders import error_of

from rag_evaluator import ConfigError, RAGEvaluator
from rag_evaluator.config import default_config, make_config

KEYS = [  # line of a configuration -> the key, and what its message names
    ("judges: [{name: a}, {name: b}]", "judges", "compare"),
    ("weight: share", "weight", "group_by"),
    ("retrieval: {reranker: {gains: graded}}", "retrieval.reranker.gains", "threshold"),
    ("prompts: {adapt_instruction: false}", "prompts.adapt_instruction", "translated with the examples"),
    ("judge: {engine: server, dialect: vllm}", "judge.dialect", "JSON schema"),
    ("judge: {engine: vllm, vllm: {python: venv/bin/python}}", "judge.vllm.python", "vLLM runs in this process"),
    ("judge: {engine: vllm, vllm: {start_timeout: 3}}", "judge.vllm.start_timeout", "vLLM runs in this process"),
    ("metric_options: {faithfulness: {audit: 0.1}}", "metric_options.faithfulness.audit", "verdicts: verifier"),
    ("metric_options: {faithfulness: {doubtful: [0, 1]}}", "metric_options.faithfulness.doubtful", "verdicts: judge"),
]
COMMANDS = [  # command -> what its message names
    ("plan", "Type check in its place"),
    ("doctor", "Type check, without a configuration"),
]


@pytest.mark.parametrize(("command", "instead"), COMMANDS)
def test_an_old_command_names_what_takes_its_place(
    command: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"'{command}' is no command any more" in (message := error_of(capsys, command, "config.yaml"))
    assert instead in message


@pytest.mark.parametrize(("text", "key", "instead"), KEYS)
def test_an_old_key_is_named_with_its_line_and_what_takes_its_place(
    tmp_path: Path, text: str, key: str, instead: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"metrics: [faithfulness]\n{text}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"line 2: '{key}' is no key any more\. .*{instead}"):
        RAGEvaluator.from_config(path)


@pytest.mark.parametrize(("key", "default"), [("judges", []), ("weight", None)])
def test_a_configuration_that_an_earlier_version_saved_with_the_default_of_an_old_key_is_read(
    key: str, default: object
) -> None:
    saved = default_config(metrics=["faithfulness"]).model_dump(mode="json")
    assert make_config({**saved, key: default}).model_dump(mode="json") == saved
    vllm = {"python": None, "args": [], "start_timeout": 900.0}
    old = {**saved, "judge": {**saved["judge"], "dialect": "auto", "vllm": vllm}}
    assert make_config(old).model_dump(mode="json") == saved
