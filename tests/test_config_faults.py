"""Configurations, languages and metrics as users write them, right and wrong: each case is a row."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ragas.metrics
import ragas.metrics.collections as ragas_metrics
from aliases import Capture
from test_config import ROOT, Load, message

from rag_evaluator import Config, ConfigError, PromptError, RAGEvaluator, ScriptedJudge, compare, write_report
from rag_evaluator.cli.main import main
from rag_evaluator.config import EmbeddingsConfig, JudgeConfig, Section, VerifierConfig, find_language, make_config
from rag_evaluator.ragas.metrics import ContextRecall, Faithfulness
from tests.loaded_prompts import load_prompts

HEAD = "metrics: [bleu]\n"  # line 1


@pytest.mark.parametrize(
    ("lines", "line", "key", "near"),
    [
        ("batch_size: 8", 2, "batch_size", "judge.batch_size"),
        ("judge_model: x", 2, "judge_model", "judge.model"),
        ("offline: true\njudge:\n  batchsize: 3", 4, "judge.batchsize", "judge.batch_size"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest_of_any_section(
    load: Load, lines: str, line: int, key: str, near: str
) -> None:
    text = message(load, f"{HEAD}{lines}\n")
    assert text.startswith(f"config.yaml, line {line}: '{key}' ")
    assert f" '{near}'" in text


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("judge:\n  seed: 1\n  model: demo\n  seed: 2", "line 5: key 'seed' occurs twice"),
        ("  judge: 3", "line 2: not valid YAML: "),
        ("\tdataset: b", "line 2: not valid YAML: "),
        ("dataset: !!python/object/apply:os.system [ls]", "line 2: not valid YAML: "),
        ("columns: [a]", "line 2: 'columns' is ['a']"),
        ("verifier: words", "line 2: 'verifier' is 'words', and has keys of its own. Write verifier.model: words."),
        ("name: ../up", "line 2: 'name' is '../up': string should match pattern"),
        (
            "judge:\n  engine: server\n  url: http://127.0.0.1/v1\n  dtype: float16",
            "line 5: 'judge.dtype' does not apply",
        ),
        ("judge:\n  engine: server", "line 3: 'judge.url' is missing, which the engine 'server' needs"),
        (
            "judge:\n  engine: auto\n  url: http://127.0.0.1/v1",
            "line 4: 'judge.url' does not apply to the engine 'auto'",
        ),
        ("retrieval: {k: true}", "line 2: 'retrieval.k' is True: input should be a number."),
        ("judge:\n  demo", "line 2: 'judge' is 'demo'"),
        ("language: no", "line 2: 'language' is False"),
        ("dataset: $NOT_SET/x", "line 2: 'dataset' is '$NOT_SET/x': NOT_SET is not set in the environment."),
    ],
)
def test_what_is_wrong_in_the_file_is_reported_with_its_line(load: Load, lines: str, told: str) -> None:
    assert message(load, f"{HEAD}{lines}\n").startswith(f"config.yaml, {told}")


def test_a_wrong_item_of_a_list_is_reported_with_its_own_line(load: Load) -> None:
    assert message(load, "metrics:\n  - bleu\n  - 5\n").startswith("config.yaml, line 3: 'metrics[1]' is 5: ")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("judge.batch_size=0", "--set judge.batch_size: 'judge.batch_size' is 0"),
        ("language=no", "--set language: 'language' is False: "),
        ("metrics.first=bleu", "--set metrics.first: 'metrics' is a value, not a section."),
        ("judge.modle=x", "--set judge.modle: 'judge.modle' is not a known key. Did you mean 'judge.model'?"),
        ("columns={a:", "quotes in a shell: --set metrics='[bleu, rouge]', --set columns='{a: b}'."),
    ],
)
def test_what_is_wrong_in_an_override_is_reported_as_a_shell_needs_it(load: Load, override: str, told: str) -> None:
    assert told in message(load, HEAD, override)


@pytest.mark.parametrize(
    ("lines", "key", "expected"),
    [
        ("metrics: faithfulness", "metrics", ["faithfulness"]),
        ("metrics: [bleu]\nprompts:\njudge: {}", "prompts", make_config({"metrics": ["bleu"]}).prompts),
        ("metrics: [bleu]\njudge:\n  model_kwargs:\n", "judge", JudgeConfig()),
        ("metrics: [bleu]\nname: v1.2 b", "name", "v1.2 b"),
    ],
)
def test_a_short_form_is_understood(load: Load, lines: str, key: str, expected: Any) -> None:
    assert getattr(load(lines), key) == expected


@pytest.mark.parametrize("section", [JudgeConfig, EmbeddingsConfig, VerifierConfig, Config])
def test_null_means_that_a_key_is_left_out(section: type[Section]) -> None:
    needed: dict[str, Any] = {"metrics": ["bleu"]} if section is Config else {}
    for name in section.model_fields.keys() - {"metrics", "language", "device_map"}:  # no device_map is its own choice
        made, usual = (section(**needed, **keys).model_dump() for keys in ({name: None}, {}))
        assert made == usual, name


def test_an_override_of_null_is_the_default(load: Load) -> None:
    made = load(HEAD, "judge.model=null", "name=null", "judge.batch_size=null")
    assert made.model_dump() == load(HEAD).model_dump()


def test_an_empty_value_that_is_no_section_is_not_taken_for_the_default(load: Load) -> None:
    assert message(load, HEAD + "language:\n").startswith("config.yaml, line 2: 'language' is None: ")
    assert message(load, "metrics:\n").startswith("config.yaml, line 1: 'metrics' is None: ")
    assert message(load, "metrics: []\n").startswith("config.yaml, line 1: 'metrics' is []: ")


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ("dataset: $DATA/rows.jsonl", lambda config: config.dataset),
        ("judge: {model: $DATA/rows.jsonl}", lambda config: Path(config.judge.model)),
        ("judge: {model: '~/rows.jsonl'}", lambda config: Path(config.judge.model)),
        ("judge: {chat_template: '${DATA}/rows.jsonl'}", lambda config: Path(config.judge.chat_template)),
    ],
)
def test_home_and_environment_are_filled_into_every_path(
    load: Load, monkeypatch: pytest.MonkeyPatch, lines: str, read: Callable[[Config], Path]
) -> None:
    monkeypatch.setenv("DATA", "/data")
    monkeypatch.setenv("HOME", "/data")
    assert read(load(f"{HEAD}{lines}\n")) == Path("/data/rows.jsonl")


@pytest.mark.parametrize("kind", [str, Path])
def test_an_evaluator_takes_the_path_of_a_configuration(load: Load, tmp_path: Path, kind: type) -> None:
    load(HEAD + "name: mine\n")
    assert RAGEvaluator(kind(tmp_path / "config.yaml")).config.name == "mine"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        *[
            (name, "spanish")
            for name in ("es", "es-ES", "es_MX", "es-419", "castellano", "espanol", " Español ", "SPA")
        ],
        ("espan\u0303ol", "spanish"),
        *[(name, "portuguese") for name in ("pt-BR", "pt_PT", "portugues", "Brazilian Portuguese")],
        *[(name, "chinese") for name in ("zh-CN", "zh-Hans", "zh_Hant_TW", "简体中文", "Mandarin", "普通话")],
        ("de-AT", "german"),
        ("fa-IR", "persian"),
        ("es_test", "es_test"),  # a name of one's own that begins like a code
        ("klingon", "klingon"),
    ],
)
def test_a_language_is_understood_by_code_region_script_and_native_name(name: str, language: str) -> None:
    assert find_language(name).name == language


@pytest.mark.parametrize(
    ("name", "near"),
    [("spansh", "spanish"), ("Espanyol", "spanish"), ("portugese", "portuguese"), ("chinse", "chinese")],
)
def test_a_misspelt_language_is_answered_with_the_nearest(tmp_path: Path, name: str, near: str) -> None:
    with pytest.raises(
        PromptError, match=f"^language '{name}' is not known. Did you mean '{near}'\\? If not: 1 of 1 prompt packs"
    ):
        load_prompts(["context_recall"], name, tmp_path)


def test_packs_that_bear_a_tag_are_not_passed_over_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = "context_recall_prompt_pt-br.json"
    shutil.copy(ROOT / "prompts" / "portuguese" / "context_recall_prompt_portuguese.json", tmp_path / name)
    load_prompts(["context_recall"], "pt-BR", tmp_path)
    assert f"{name} is not used" in caplog.text


def test_a_misspelt_command_is_named(capsys: Capture) -> None:
    assert main(["evalaute", "cfg.yaml"]) == 2
    told = "error: 'evalaute' is neither a command nor a file. Did you mean 'evaluate'?"
    assert capsys.readouterr().err.startswith(told)


JUDGE = ScriptedJudge()
OTHER = ScriptedJudge()


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ([ragas_metrics.Faithfulness], "metrics[0] is Faithfulness of ragas"),
        (["bleu", ragas_metrics.ContextRecall(llm=JUDGE)], "Give its name, 'context_recall', or import it from"),
        ([ragas.metrics.AspectCritic], "or import it from rag_evaluator.ragas.metrics."),
        ([ragas.metrics.Faithfulness()], "Give its name, 'faithfulness', or import it from"),
        ([Faithfulness(llm=JUDGE), ContextRecall(llm=OTHER)], "the objects hold several models as llm"),
        ([object()], "'metrics[0]' is <object object at"),
    ],
)
def test_a_metric_that_would_be_scored_otherwise_is_refused(metrics: list[Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RAGEvaluator({"metrics": metrics})
    assert told in str(caught.value)


def test_a_judge_beside_metric_objects_with_another_is_refused() -> None:
    with pytest.raises(ConfigError, match="another than was given"):
        RAGEvaluator({"metrics": [Faithfulness(llm=JUDGE)]}, judge=OTHER)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: RAGEvaluator(["bleu"]), "received list"),  # type: ignore[arg-type]
        (lambda: RAGEvaluator({"metrics": ["bleu"], "language": " "}), "language"),
        (lambda: RAGEvaluator({"metrics": ["bleu"]}).run("results"), "'dataset' is missing"),
        (lambda: compare("a", "b", effect=0), "effect is 0"),
        (lambda: write_report(), "received none"),
    ],
)
def test_what_is_not_given_is_named(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        call()
