import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import BaseModel

from rag_evaluator import METRICS, PromptError, RAGEvaluator, ScriptedJudge
from rag_evaluator.config import pack_folders, prompt_owners
from rag_evaluator.metrics import all_prompts, export
from rag_evaluator.prompts import PACKAGED, Key, PackPrompt, PackSet, english_pack, languages_in, prompt_models
from rag_evaluator.resources import packaged
from tests.loaded_prompts import load_prompts, prompts_owned, shipped

ROOT = Path(__file__).parents[2]
OF_METRICS = [(metric.owner or name, prompt) for name, metric in METRICS.items() for prompt in metric.prompts]
OF_RAGAS = [key for key in OF_METRICS if key not in prompt_models()]
KEYS = [*OF_RAGAS, *prompt_models()]
ORIGINALS: dict[Key, Any] = all_prompts()
TEXT = 'Núria said "no" {here}\n¿y tú? \\ 😀 שלום'
SPANISH_ROW = {
    "user_input": "¿Dónde nació Núria Cañizares?",
    "retrieved_contexts": ["Núria Cañizares nació en Ávila.", "Ávila está en España."],
    "response": "Núria Cañizares nació en Ávila.",
    "reference": "En Ávila, España.",
    "reference_contexts": ["Núria Cañizares nació en Ávila."],
    "rubrics": {"score1_description": "Falso.", "score5_description": "Cierto."},
}
LEVELS = [("low", "low"), ("low", "high"), ("high", "low"), ("high", "high")]


def sample_input(prompt: Any) -> BaseModel:
    """An input with awkward text in every field."""
    fields = prompt.input_model.model_fields
    values = {name: _awkward(field.annotation) for name, field in fields.items()}
    data: BaseModel = prompt.input_model(**{k: v for k, v in values.items() if k not in ("atomicity", "coverage")})
    return data


def _awkward(annotation: Any) -> Any:
    kind = next((part for part in get_args(annotation) if part is not type(None)), annotation)
    kind = annotation if get_origin(annotation) in (list, dict) else kind
    return {list: [TEXT, "two"], dict: {"1": TEXT, "2": "two"}}.get(get_origin(kind), TEXT)


def test_all_prompts_are_those_that_the_metrics_ask_in_their_order() -> None:
    assert list(ORIGINALS) == KEYS


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    """A complete set of packs named Spanish: English examples, each instruction begun with a mark of its own."""
    for path in export(tmp_path)[0]:
        pack = json.loads(path.read_bytes())
        name = path.name.replace("_english.json", "")
        pack |= {"language": "spanish", "instruction": f"«{name}» ñandú: {pack['instruction']}"}
        spanish = path.with_name(f"{name}_spanish.json")
        spanish.write_text(json.dumps(pack, ensure_ascii=False), "utf-8")
        path.unlink()
    return tmp_path


def test_orig_prompts_is_an_export_of_the_installed_ragas_byte_for_byte(tmp_path: Path) -> None:
    exported = {path.name: path.read_bytes() for path in export(tmp_path)[0]}
    folders = pack_folders("orig_prompts")
    committed = {path.name: path.read_bytes() for folder in folders for path in folder.glob("*_english.json")}
    assert committed.keys() == exported.keys(), "run: rag-evaluator prompts export"
    assert committed == exported
    assert len(exported) == len(KEYS)


@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_an_english_prompt_reads_exactly_as_ragas_writes_it(key: Key, tmp_path: Path) -> None:
    prompt = load_prompts([key[0]], "english", tmp_path)[key]
    data = sample_input(ORIGINALS[key])
    assert str(prompt.to_string(data)) == ORIGINALS[key].to_string(data)


@pytest.mark.parametrize("levels", LEVELS, ids="-".join)
def test_claims_are_shown_the_examples_of_their_atomicity_and_coverage(levels: tuple[str, str], tmp_path: Path) -> None:
    key = ("factual_correctness", "prompt")
    data = ORIGINALS[key].input_model(response=TEXT, atomicity=levels[0], coverage=levels[1])
    expected = ORIGINALS[key].to_string(data)
    assert expected.count(f'"atomicity": "{levels[0]}",\n    "coverage": "{levels[1]}"') == 3  # two examples, one input
    assert str(load_prompts([key[0]], "en", tmp_path)[key].to_string(data)) == expected
    assert PackPrompt(english_pack(ORIGINALS[key]), ORIGINALS[key]).to_string(data) == expected


def test_a_prompt_carries_its_input_name_and_source(packs: Path) -> None:
    key = ("faithfulness", "nli_statement_prompt")
    data = sample_input(ORIGINALS[key])
    spanish = load_prompts(["faithfulness"], "español", packs)[key].to_string(data)
    english = load_prompts(["faithfulness"], "english", packs)[key].to_string(data)
    assert (spanish.data, spanish.name) == (english.data, english.name) == (data, "nli_statement_prompt")
    assert spanish.source != english.source


@pytest.fixture
def scripted() -> ScriptedJudge:
    """Answers every question with the first example of its prompt."""
    outputs = {p.output_model.__name__: english_pack(p).examples[0]["output"] for p in ORIGINALS.values()}
    return ScriptedJudge(outputs)


def test_every_prompt_of_every_metric_is_taken_from_the_packs_of_the_language(
    packs: Path, scripted: ScriptedJudge
) -> None:
    metrics = [name for name, metric in METRICS.items() if metric.prompts]
    config = {"metrics": metrics, "language": "español", "prompts_dir": str(packs)}
    RAGEvaluator(config, judge=scripted, embeddings=DeterministicFakeEmbedding(size=8)).evaluate([SPANISH_ROW])
    seen = {prompt.partition(" ñandú: ")[0] for prompt in scripted.prompts}
    assert seen == {f"«{metric}_{attribute}»" for metric, attribute in OF_METRICS}
    assert not [prompt for prompt in scripted.prompts if "\\u00" in prompt]
    assert sum("Núria Cañizares nació en Ávila." in prompt for prompt in scripted.prompts) > len(metrics)


def test_missing_packs_are_listed_by_file_name_with_the_ways_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(PromptError) as caught:
        load_prompts(["bleu_score", "faithfulness"], "ca", tmp_path)
    assert str(caught.value).startswith(
        f"language 'ca': 2 of 2 prompt packs are missing in {tmp_path}: "
        "faithfulness_statement_generator_prompt_catalan.json, faithfulness_nli_statement_prompt_catalan.json. Set "
        "prompts.adapt: true, or run 'rag-evaluator prompts adapt --language catalan' and review"
    )


def test_packs_that_prompts_dir_does_not_have_come_from_the_package(packs: Path) -> None:
    (packs / "faithfulness_nli_statement_prompt_spanish.json").unlink()
    prompts = load_prompts(["faithfulness"], "es", packs)
    packed = json.loads(shipped("faithfulness_nli_statement_prompt_spanish.json")[0].read_bytes())
    assert prompts["faithfulness", "nli_statement_prompt"].pack.instruction == packed["instruction"]
    own = json.loads((packs / "faithfulness_statement_generator_prompt_spanish.json").read_bytes())
    assert prompts["faithfulness", "statement_generator_prompt"].pack.instruction == own["instruction"]


@pytest.mark.parametrize(("name", "is_told"), [("my_promts", True), ("prompts", False)])
def test_a_folder_of_packs_that_is_not_there_is_reported_unless_it_is_the_default(
    tmp_path: Path, name: str, is_told: bool, scripted: ScriptedJudge, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"metrics": ["faithfulness"], "language": "spanish", "prompts_dir": str(tmp_path / name)}
    RAGEvaluator(config, judge=scripted).evaluate([SPANISH_ROW])
    assert ("my_promts is not there: all prompts are those of the package" in caplog.text) == is_told


def test_a_pack_of_prompts_dir_under_its_older_name_goes_before_that_of_the_package(tmp_path: Path) -> None:
    key = ("faithfulness", "nli_statement_prompt")
    older = tmp_path / "faithfulness_n_l_i_statement_prompt_spanish.json"
    shutil.copy(shipped("faithfulness_nli_statement_prompt_spanish.json")[0], older)
    assert PackSet(prompts_owned(["faithfulness"]), "es", tmp_path).find(*PACKAGED)[0][key] == older


def test_packs_of_a_language_may_lie_in_a_folder_of_its_name_where_new_ones_go_then(tmp_path: Path) -> None:
    packs = PackSet(prompts_owned(["faithfulness"]), "es", tmp_path)
    [pack] = shipped("faithfulness_nli_statement_prompt_spanish.json")
    (tmp_path / "spanish").mkdir()
    copied = Path(shutil.copy(pack, tmp_path / "spanish"))
    existing, missing = packs.find()
    assert list(existing.values()) == [copied]
    assert [path.parent for path in missing.values()] == [copied.parent]
    assert languages_in(tmp_path) == ["spanish"]
    flat = Path(shutil.copy(pack, tmp_path))
    assert list(packs.find()[0].values()) == [flat]


def test_english_prompts_of_a_feature_stay_in_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rag_evaluator.metrics.prompts.packaged", lambda name: tmp_path)
    exported = {path.name for path in export(tmp_path)[0]}
    expected = {f"{owner}_{name}_english.json" for owner, name in KEYS if owner not in prompt_owners()}
    assert exported == expected


def test_an_installed_package_takes_its_files_from_its_own_folder_only(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "rag_evaluator"
    package.mkdir(parents=True)
    assert packaged("prompts", package) == tmp_path / "site-packages" / "prompts"  # a clone
    (package / "data").mkdir()
    assert packaged("prompts", package) == package / "data" / "prompts"


def setting(key: str, value: Any) -> Callable[[Any], Any]:
    return lambda pack: {**pack, key: value}


def first_example(value: Any) -> Callable[[Any], Any]:
    return lambda pack: {**pack, "examples": [value, *pack["examples"][1:]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pack: [], "expected an object with 'instruction' and 'examples'."),
        (setting("instruction", None), "'instruction' must be a non-empty str, got None."),
        (setting("examples", []), "'examples' must be a non-empty list, got []."),
        (setting("language", 5), "'language' must be a non-empty str, got 5."),
        (first_example({"input": {"response": "x"}}), "examples[0].output does not fit AnswerRelevanceOutput: no 'o"),
        (first_example("x"), "examples[0].input does not fit"),
        (first_example({"input": {"response": 5}, "output": {}}), "examples[0].input does not fit AnswerRelevanceInpu"),
    ],
)
def test_a_fault_of_a_pack_is_named_with_its_file_key_and_place(
    packs: Path, change: Callable[[Any], Any], message: str
) -> None:
    path = packs / "answer_relevancy_prompt_spanish.json"
    path.write_text(json.dumps(change(json.loads(path.read_bytes()))), "utf-8")
    with pytest.raises(PromptError) as caught:
        load_prompts(["answer_relevancy"], "es", packs)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_a_pack_that_is_no_json_is_named(packs: Path) -> None:
    path = packs / "answer_relevancy_prompt_spanish.json"
    path.write_text("{", "utf-8")
    with pytest.raises(PromptError, match=f"{path.name}: not readable as JSON"):
        load_prompts(["answer_relevancy"], "es", packs)


def test_a_pack_saved_with_a_byte_order_mark_is_read(packs: Path) -> None:
    path = packs / "answer_relevancy_prompt_spanish.json"
    path.write_text(path.read_text("utf-8"), "utf-8-sig")
    assert load_prompts(["answer_relevancy"], "es", packs)["answer_relevancy", "prompt"].language == "spanish"


def test_a_pack_in_english_replaces_the_prompt_of_ragas(tmp_path: Path) -> None:
    key = ("faithfulness", "nli_statement_prompt")
    pack = json.loads((ROOT / "orig_prompts" / "faithfulness_nli_statement_prompt_english.json").read_bytes())
    same = tmp_path / "answer_relevancy_prompt_english.json"
    shutil.copy(ROOT / "orig_prompts" / same.name, same)
    usual = load_prompts(["answer_relevancy"], "en", tmp_path)["answer_relevancy", "prompt"]
    assert not isinstance(usual.prompt, PackPrompt), "a pack that says the same changes nothing"
    pack["instruction"] = "Say 1 where the context says so, else 0."
    (tmp_path / "faithfulness_nli_statement_prompt_english.json").write_text(json.dumps(pack), "utf-8")
    changed, usual = (load_prompts([key[0]], "english", folder) for folder in (tmp_path, tmp_path / "none"))
    assert changed.keys() == usual.keys()
    assert [name for name in usual if changed[name].source != usual[name].source] == [key]
    assert changed[key].prompt.instruction == pack["instruction"]
