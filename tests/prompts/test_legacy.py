"""Packs that the older classes of the installed ragas save are loaded and read the same."""

import json
import warnings
from pathlib import Path

import pytest

from rag_evaluator.prompts import Key, PackPrompt, PackSet
from tests.loaded_prompts import load_prompts, prompts_owned

OWNERS = [
    "faithfulness",
    "answer_relevancy",
    "context_precision_with_reference",
    "context_precision_without_reference",
    "context_recall",
    "answer_correctness",
    "factual_correctness",
    "noise_sensitivity",
    "context_entity_recall",
]
KEYS = list(prompts_owned(OWNERS))
CLASSES = [
    "AnswerCorrectness",
    "ContextEntityRecall",
    "FactualCorrectness",
    "Faithfulness",
    "LLMContextPrecisionWithReference",
    "LLMContextPrecisionWithoutReference",
    "LLMContextRecall",
    "NoiseSensitivity",
    "ResponseRelevancy",
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which ragas' older metrics saved their prompts, named Spanish."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ragas.metrics as older

        folder = tmp_path_factory.mktemp("older")
        for name in CLASSES:
            metric = getattr(older, name)()
            for prompt in metric.get_prompts().values():
                prompt.language = "spanish"
            metric.save_prompts(str(folder))
    return folder


def test_every_prompt_of_the_older_metrics_is_found(saved: Path) -> None:
    found, missing = PackSet(prompts_owned(OWNERS), "es", saved).find()
    assert not missing
    assert list(found) == KEYS
    assert {path.name for path in saved.iterdir()} <= {path.name for path in found.values()}


@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_an_older_pack_gives_the_same_text_for_the_fields_both_have(key: Key, saved: Path) -> None:
    path = PackSet(prompts_owned([key[0]]), "es", saved).find()[0][key]
    older = json.loads(path.read_bytes())
    prompt = load_prompts([key[0]], "es", saved)[key].prompt
    assert isinstance(prompt, PackPrompt)
    assert prompt.instruction == older["instruction"]
    assert len(prompt.all_examples) == len(older["examples"]) > 0
    for (given, answer), example in zip(prompt.all_examples, older["examples"], strict=True):
        assert answer.model_dump() == example["output"]
        renamed = {"answer": "text"} if key == ("noise_sensitivity", "statement_prompt") else {}
        expected = {renamed.get(name, name): value for name, value in example["input"].items()}
        assert expected.items() <= given.model_dump().items()
        shown = prompt.to_string(given)
        assert all(
            json.dumps(text, ensure_ascii=False) in shown for text in example["input"].values() if isinstance(text, str)
        )
        assert answer.model_dump_json(indent=4) in shown


def test_claims_of_an_older_pack_are_shown_at_the_default_levels(saved: Path) -> None:
    key = ("factual_correctness", "prompt")
    prompt = load_prompts([key[0]], "es", saved)[key]
    text = prompt.to_string(prompt.prompt.input_model(response="x"))
    assert text.count('"atomicity": "low"') == 3  # two examples and the input


def test_a_field_that_no_longer_exists_is_left_out(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "answer_relevancy_response_relevance_prompt_spanish.json"
    path.write_bytes((saved / path.name).read_bytes())
    pack = json.loads(path.read_bytes())
    pack["examples"][0]["input"] |= {"context": "Ulm", "answer": "y"}
    path.write_text(json.dumps(pack), "utf-8")
    loaded = load_prompts(["answer_relevancy"], "es", tmp_path)["answer_relevancy", "prompt"]
    assert loaded.pack.examples[0]["input"].keys() == {"response"}


def test_statements_that_were_given_sentence_by_sentence_become_one_list(tmp_path: Path) -> None:
    path = tmp_path / "faithfulness_long_form_answer_prompt_spanish.json"
    example = {
        "input": {"question": "¿Quién?", "answer": "Nació. Murió.", "sentences": {"0": "Nació.", "1": "Murió."}},
        "output": {
            "sentences": [
                {"sentence_index": 0, "simpler_statements": ["Einstein nació.", "Einstein vivió."]},
                {"sentence_index": 1, "simpler_statements": ["Einstein murió."]},
            ]
        },
    }
    pack = {"ragas_version": "0.2.3", "original_hash": 12, "language": "spanish", "instruction": "Divide."}
    path.write_text(json.dumps({**pack, "examples": [example]}), "utf-8")
    key = ("faithfulness", "statement_generator_prompt")
    assert PackSet(prompts_owned(["faithfulness"]), "es", tmp_path).find()[0] == {key: path}
    loaded = load_prompts(["faithfulness"], "es", tmp_path)[key]
    assert loaded.pack.examples == [
        {
            "input": {"question": "¿Quién?", "answer": "Nació. Murió."},
            "output": {"statements": ["Einstein nació.", "Einstein vivió.", "Einstein murió."]},
        }
    ]
