"""`judges` as users write it, right and wrong: each case is a row."""

from pathlib import Path
from typing import Any

import pytest

from rag_evaluator import ConfigError, load_config
from rag_evaluator.config.schema import make_config

HEAD = "metrics: [faithfulness]\n"  # line 1

WRONG = [
    ("judges:\n  - {model: demo}", "line 2: 'judges' has one judge: expected two or more. For one judge set 'judge'."),
    ("judge: {model: other}\njudges: [{name: a}, {name: b}]", "line 2: 'judge' and 'judges' are both set."),
    ("judges:\n  - {}\n  - {}", "line 4: 'judges[1]' has the name 'demo', as judges[0] has. Give each a 'name'"),
    ("judges:\n  - {name: A}\n  - {name: a}", "line 4: 'judges[1]' has the name 'a', as judges[0] has."),
    ("judges:\n  - {name: a@b}\n  - {}", "line 3: 'judges[0].name' is 'a@b': the name of a judge becomes a folder and"),
    ("judges:\n  - {}\n  - name: ../b", "line 4: 'judges[1].name' is '../b'"),
    ("judges:\n  - {}\n  - name: 'b '", "line 4: 'judges[1].name' is 'b '"),
    ("judges:\n  - {}\n  - name: 5", "line 4: 'judges[1].name' is 5: input should be a valid string."),
    ("judges:\n  - {}\n  - modle: x", "'judges[1].modle' is not a known key. Did you mean 'judges[1].model'?"),
    ("judges:\n  - {}\n  - batch_size: 0", "line 4: 'judges[1].batch_size' is 0"),
    ("judges:\n  - {}\n  - device_map: 3", "line 4: 'judges[1].device_map' is 3"),
    ("judges:\n  - {}\n  - model: $NOT_SET/x", "line 4: 'judges[1].model' is '$NOT_SET/x', and NOT_SET is not set"),
    ("judges:\n  - demo\n  - {}", "line 3: 'judges[0]' is 'demo'"),
    ("judges: {a: {}, b: {}}", "line 2: 'judges' is {'a': {}, 'b': {}}"),
]


def config_of(tmp_path: Path, lines: str, *overrides: str) -> Any:
    (tmp_path / "config.yaml").write_text(f"{HEAD}{lines}\n", encoding="utf-8")
    return load_config(tmp_path / "config.yaml", overrides)


@pytest.mark.parametrize(("lines", "told"), WRONG, ids=[lines for lines, _ in WRONG])
def test_a_wrong_panel_is_told_with_its_line(lines: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, lines)
    assert str(caught.value).startswith("config.yaml, ")
    assert told in str(caught.value)


NAMED = [
    (["{model: org/Qwen3-8B}", "{model: ./models/Llama}"], ["Qwen3-8B", "Llama"]),
    (["{}", "{name: other}"], ["demo", "other"]),
    (["{model: org/a@b+c}", "{name: Größe 2}"], ["a-b-c", "Größe 2"]),
]


@pytest.mark.parametrize(("judges", "names"), NAMED, ids=str)
def test_a_judge_without_a_name_is_called_as_its_model(judges: list[str], names: list[str], tmp_path: Path) -> None:
    assert [judge.name for judge in config_of(tmp_path, f"judges: [{', '.join(judges)}]").judges] == names


def test_a_relative_model_of_a_panel_counts_from_the_file(tmp_path: Path) -> None:
    config = config_of(tmp_path, "judges: [{model: ./one}, {model: ./two}]")
    assert [judge.model for judge in config.judges] == [str(tmp_path / "one"), str(tmp_path / "two")]


def test_a_panel_can_be_set_on_the_command_line(tmp_path: Path) -> None:
    config = config_of(tmp_path, "", "judges=[{name: a}, {name: b, seed: 3}]")
    assert [(judge.name, judge.seed) for judge in config.judges] == [("a", 0), ("b", 3)]
    with pytest.raises(ConfigError, match="--set judges"):
        config_of(tmp_path, "", "judges=[{name: a}]")


def test_a_saved_configuration_of_a_panel_can_be_read_again(tmp_path: Path) -> None:
    config = config_of(tmp_path, "judges: [{name: a}, {name: b, temperature: 0.5}]")
    saved = config.model_dump(mode="json")
    assert make_config(saved).model_dump(mode="json") == saved
