"""The two options of the question whether a premise supports a hypothesis."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aliases import Json

from rag_evaluator import PromptError
from rag_evaluator.prompts import OwnPrompt, VerifyInput, option_texts
from tests.loaded_prompts import load_prompts

KEY = ("groundedness", "prompt")
OPTIONS = {
    "english": ("The premise supports the hypothesis.", "The premise does not support the hypothesis."),
    "arabic": ("المقدمة تدعم الفرضية.", "المقدمة لا تدعم الفرضية."),
    "chinese": ("前提支持假设。", "前提不支持假设。"),
    "french": ("La prémisse étaye l'hypothèse.", "La prémisse n'étaye pas l'hypothèse."),
    "german": ("Die Prämisse stützt die Hypothese.", "Die Prämisse stützt die Hypothese nicht."),
    "hindi": ("आधार-पाठ परिकल्पना की पुष्टि करता है।", "आधार-पाठ परिकल्पना की पुष्टि नहीं करता।"),
    "italian": ("La premessa supporta l'ipotesi.", "La premessa non supporta l'ipotesi."),
    "japanese": ("前提は仮説を裏付けています。", "前提は仮説を裏付けていません。"),
    "korean": ("전제가 가설을 뒷받침합니다.", "전제가 가설을 뒷받침하지 않습니다."),
    "portuguese": ("A premissa sustenta a hipótese.", "A premissa não sustenta a hipótese."),
    "spanish": ("La premisa respalda la hipótesis.", "La premisa no respalda la hipótesis."),
}


def example(options: list[str], choice: Any) -> Json:
    return {"input": {"premise": "p", "hypothesis": "h", "options": options}, "output": {"choice": choice}}


def options_of(examples: list[Json]) -> tuple[str, str]:
    return option_texts(replace(OwnPrompt(*KEY).pack, examples=examples))


def test_a_prompt_that_is_not_yet_loaded_for_a_language_has_the_english_options() -> None:
    assert option_texts(OwnPrompt(*KEY).pack) == OPTIONS["english"]


@pytest.mark.parametrize("language", OPTIONS)
def test_the_first_example_says_which_option_means_supported_and_each_is_true_twice(
    language: str, tmp_path: Path
) -> None:
    pack = load_prompts(["groundedness"], language, tmp_path)[KEY].pack
    choices = [each["output"]["choice"] for each in pack.examples]
    true = [each["input"]["options"][choice - 1] for each, choice in zip(pack.examples, choices, strict=True)]
    supports, not_supported = OPTIONS[language]
    assert option_texts(pack) == OPTIONS[language]
    assert list(zip(true, choices, strict=True)) == [
        (supports, 1),
        (not_supported, 2),
        (not_supported, 1),
        (supports, 2),
    ]


def test_the_true_option_of_the_first_example_comes_first() -> None:
    assert options_of([example(["a", "b"], 1), example(["b", "a"], 1)]) == ("a", "b")
    assert options_of([example(["a", "b"], "2"), example(["b", "a"], 1)]) == ("b", "a")


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([example(["a", "b"], 1), example(["a", "c"], 1)], r"examples\[1\]\.input\.options must be the two texts"),
        ([example(["a", "b"], 1), example(["a", "b", "b"], 1)], r"examples\[1\]\.input\.options must be the two texts"),
        ([example(["a", "a"], 1)], r"examples\[0\]\.input\.options must be two different texts, got \['a', 'a'\]\."),
        ([example([], 1)], r"examples\[0\]\.input\.options must be two different texts, got \[\]\."),
    ],
)
def test_other_options_than_the_same_two_are_refused(examples: list[Json], message: str) -> None:
    with pytest.raises(PromptError, match=message):
        options_of(examples)


def test_the_question_shows_the_premise_first_and_no_question_where_there_is_none(tmp_path: Path) -> None:
    prompt = load_prompts(["groundedness"], "german", tmp_path)[KEY]
    text = prompt.to_string(VerifyInput(premise="P.", hypothesis="H.", options=["a", "b"]))
    assert json.loads(text.rpartition("input: ")[2].rpartition("\nOutput")[0]) == text.values
    assert list(text.values or {}) == ["premise", "hypothesis", "options"]
    asked = prompt.to_string(VerifyInput(premise="P.", user_input="U?", hypothesis="H.", options=["a", "b"]))
    assert list(asked.values or {}) == ["premise", "user_input", "hypothesis", "options"]
