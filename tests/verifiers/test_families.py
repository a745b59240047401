"""The family of a folder is recognised; languages that a model was not made for are refused."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from rag_evaluator import ModelError, Verifier

TOKENS = {"architectures": ["ModernBertForTokenClassification"], "model_type": "modernbert"}
CAUSAL = {"architectures": ["GraniteForCausalLM"], "model_type": "granite"}
LABELS = {"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}
ALL = ["english", "german", "french", "spanish", "italian", "polish", "chinese", "hungarian"]
NLI = {"architectures": ["DebertaV2ForSequenceClassification"], **LABELS}


def folder(place: Path, name: str, settings: dict[str, object]) -> Path:
    """A folder that has the files that are looked at before a model is loaded."""
    made = place / name
    made.mkdir()
    (made / "config.json").write_text(json.dumps(settings), "utf-8")
    (made / "tokenizer.json").write_text("{}", "utf-8")
    (made / "model.safetensors").write_bytes(b"")
    return made


@pytest.mark.parametrize(
    ("name", "settings", "family"),
    [
        ("lettucedect-base-modernbert-en-v1", TOKENS, "lettucedetect"),
        ("anything", {**TOKENS, "architectures": ["EuroBertForTokenClassification"]}, "lettucedetect"),
        ("anything", {**TOKENS, "id2label": {"0": "supported", "1": "hallucinated"}}, "lettucedetect"),
        ("anything", NLI, "nli"),
    ],
)
def test_a_family_is_recognised(tmp_path: Path, name: str, settings: dict[str, object], family: str) -> None:
    assert Verifier(folder(tmp_path, name, settings), any_language=True).name == family


TWO = {"architectures": ["XLMRobertaForSequenceClassification"], "id2label": {"0": "0", "1": "1"}}


@pytest.mark.parametrize("settings", [CAUSAL, {**TOKENS, **LABELS}, TWO])
def test_other_models_of_the_same_classes_are_no_verifiers(tmp_path: Path, settings: dict[str, object]) -> None:
    with pytest.raises(ModelError, match=r"Say which with verifier\.kind"):
        Verifier(folder(tmp_path, "anything", settings))


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("lettucedect-base-modernbert-en-v1", ["english"]),
        ("lettucedect-610m-eurobert-de-v1", ["german"]),
        ("lettucedect-210m-eurobert-cn-v1", ["chinese"]),
        ("lettucedect-v2-mmbert-base", ALL),
        ("mine", ALL),
    ],
)
def test_the_name_of_a_folder_gives_the_languages(tmp_path: Path, name: str, languages: list[str]) -> None:
    made = folder(tmp_path, name, TOKENS)
    for language in (*ALL, "swahili"):
        with nullcontext() if language in languages else pytest.raises(ModelError, match="made for"):
            Verifier(made, language=language)
