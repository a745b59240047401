from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from rag_evaluator import Config, ConfigError, RAGEvaluator, load_config
from rag_evaluator.config import LANGUAGES, find_language, make_config
from tests.loaded_prompts import load_prompts

ROOT = Path(__file__).parent.parent
METRICS = "metrics: [faithfulness]\n"
Load = Callable[..., Config]


def message(load: Load, text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text, *overrides)
    return str(caught.value)


def test_all_wrong_keys_are_reported_together(load: Load) -> None:
    lines = message(load, METRICS + "nmae: x\njudge: {modle: y, batch_size: 0}\n").splitlines()
    assert sorted(line.split("'")[1] for line in lines) == ["judge.batch_size", "judge.modle", "nmae"]


def test_a_merged_section_may_be_overridden_without_standing_twice(load: Load) -> None:
    config = load(METRICS + "embeddings: &small {model: org/x, batch_size: 2}\njudge:\n  <<: *small\n  model: org/y\n")
    assert (config.judge.model, config.judge.batch_size) == ("org/y", 2)
    assert config.embeddings.model == "org/x"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"dataset: data.jsonl\n", "'metrics' is missing. Add it; docs/config.md has every key."),
        (b"", "expected keys and values such as 'dataset: data.jsonl', got "),
        (b"- faithfulness\n", "expected keys and values such as 'dataset: data.jsonl', got "),
        ("name: café".encode("latin-1"), "cannot be read as UTF-8 YAML: "),
        (None, "no such configuration file"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "config.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert f"config.yaml: {told}" in str(caught.value)


def test_set_reads_its_value_as_yaml_and_reaches_into_sections(load: Load) -> None:
    config = load(
        METRICS + "judge: {seed: 1}\nembeddings:\n",
        "metrics=[bleu, rouge]",
        "judge.batch_size=8",
        "judge.model_kwargs.attn_implementation=eager",
        "embeddings.batch_size=2",
        "offline=false",
    )
    assert config.metrics == ["bleu", "rouge"]
    assert (config.judge.batch_size, config.judge.seed) == (8, 1)
    assert config.judge.model_kwargs == {"attn_implementation": "eager"}
    assert config.embeddings.batch_size == 2
    assert config.offline is False
    assert load(METRICS, "judge.model=org/a=b").judge.model == "org/a=b"


@pytest.mark.parametrize("override", ["judge.batch_size", "=5", " =5", ""])
def test_set_without_key_or_value_is_an_error_with_an_example(load: Load, override: str) -> None:
    assert message(load, METRICS, override) == (
        f"--set {override!r}: expected key=value, for example --set judge.batch_size=8."
    )


def test_relative_paths_count_from_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "project"
    (home / "model").mkdir(parents=True)
    (home / "config.yaml").write_text(
        METRICS + "dataset: data/rows.jsonl\noutput_dir: ../out\nname: run 1\n"
        "judge: {model: model, chat_template: chat.jinja}\nembeddings: {model: ./missing}\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    config = load_config("project/config.yaml")
    assert config.dataset == home / "data/rows.jsonl"
    assert config.results_dir.resolve() == tmp_path / "out" / "run 1"
    assert config.prompts_dir == home / "prompts"
    assert config.judge.model == str(home / "model")
    assert config.judge.chat_template == str(home / "chat.jinja")
    assert config.embeddings.model == str(home / "missing")


def test_hub_ids_and_demo_stay_as_they_are(load: Load, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    config = load(METRICS + "judge: {model: Qwen/Qwen3-8B}\nembeddings: {model: demo}\n")
    assert config.judge.model == "Qwen/Qwen3-8B"
    assert config.judge.chat_template == "auto"
    assert config.embeddings.model == "demo"


def test_from_python_paths_count_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert make_config({"metrics": ["bleu"], "dataset": "rows.csv"}).dataset == tmp_path / "rows.csv"


def test_every_native_name_and_code_finds_its_language() -> None:
    for name, language in LANGUAGES.items():
        assert {find_language(alias).name for alias in (language.native, *language.codes)} == {name}


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", "a\\b", "..", "a.json", "x\0", "  ", "es\nfr", "*"])
def test_a_language_cannot_lead_out_of_the_prompts_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"language is .*: expected a name of letters, digits, spaces"):
        find_language(name)
    with pytest.raises(ConfigError, match="language is"):
        load_prompts(["faithfulness"], name, tmp_path)


def test_the_project_s_own_config_is_valid_and_shows_few_keys_the_defaults_and_none_of_a_feature() -> None:
    config = load_config(ROOT / "config.yaml")
    shown = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    keys = [*shown, *shown["judge"], *shown["embeddings"]]
    assert len(keys) - len(["judge", "embeddings"]) <= 20
    assert config.dataset is not None
    assert config.dataset.is_file()
    assert RAGEvaluator(config).metrics.keys() == set(config.metrics)
