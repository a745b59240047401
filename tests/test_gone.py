"""An old key, command or name is answered with what to use in its place."""

from pathlib import Path

import pytest

from rag_evaluator import ConfigError, RAGEvaluator
from rag_evaluator.config.schema import default_config, make_config


@pytest.mark.parametrize(
    ("text", "key", "instead"),
    [
        ("judges: [{name: a}, {name: b}]", "judges", "rag-evaluator compare"),
    ],
)
def test_an_old_key_is_answered_with_its_line_and_what_to_write(
    tmp_path: Path, text: str, key: str, instead: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"metrics: [faithfulness]\n{text}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"line 2: '{key}' is no key any more\. .*{instead}"):
        RAGEvaluator.from_config(path)


@pytest.mark.parametrize("key", ["judges"])
def test_a_configuration_that_an_earlier_version_saved_with_the_default_of_an_old_key_is_read(key: str) -> None:
    saved = default_config(metrics=["faithfulness"]).model_dump(mode="json")
    assert make_config({**saved, key: []}).model_dump(mode="json") == saved
