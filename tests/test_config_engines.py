"""Keys of a judge that another engine reads are errors, with the line and the way out."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import Config, ConfigError, load_config
from rag_evaluator.config import OWN_KEYS, JudgeConfig, make_config
from rag_evaluator.judge import ENGINES

URL = "http://127.0.0.1:8000/v1"
WRONG: list[tuple[str, str]] = [
    (
        f"judge:\n  engine: server\n  url: {URL}\n  dtype: bfloat16\n",
        r"line 5: 'judge.dtype' does not apply to the engine 'server', as the server has loaded the model\. "
        r"Remove it, or set judge\.engine to 'transformers'",
    ),
    ("judge:\n  url: http://127.0.0.1/v1\n", r"'judge.url' does not apply to the engine 'transformers'\. .* 'server'"),
    ("judge:\n  served_model: qwen\n", r"line 3: 'judge.served_model' does not apply to the engine 'transformers'"),
    ("judge:\n  engine: server\n", r"line 3: 'judge.url' is missing, which the engine 'server' needs\. Give"),
]


@pytest.mark.parametrize(("lines", "told"), WRONG)
def test_a_key_of_another_engine_is_told_with_its_line(lines: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"metrics: [faithfulness]\n{lines}")
    with pytest.raises(ConfigError, match=told):
        load_config(path)


def test_a_saved_configuration_of_a_server_can_be_read_again() -> None:
    judge: dict[str, Any] = {"engine": "server", "url": URL, "api_key_env": "KEY", "served_model": "qwen"}
    config = make_config({"metrics": ["faithfulness"], "judge": judge})
    assert make_config(config.model_dump(mode="json")).judge == config.judge
    assert isinstance(config, Config)


def test_the_table_of_keys_names_engines_and_keys_that_exist() -> None:
    assert set(OWN_KEYS) <= set(ENGINES)
    assert frozenset().union(*OWN_KEYS.values()) <= set(JudgeConfig.model_fields)
