"""The question whether a premise supports a hypothesis: its packs have examples, which the judge is not shown."""

import json
from pathlib import Path

import pytest

from rag_evaluator.prompts import VerifyInput, with_examples
from tests.loaded_prompts import load_prompts

KEY = ("groundedness", "prompt")
LANGUAGES = "english arabic chinese french german hindi italian japanese korean portuguese spanish".split()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pack_has_as_many_supported_as_unsupported_examples(language: str, tmp_path: Path) -> None:
    pack = load_prompts(["groundedness"], language, tmp_path)[KEY].pack
    assert [example["output"]["answer"] for example in pack.examples] == [
        "yes",
        "no",
        "no",
        "yes",
        "yes",
        "no",
        "yes",
        "no",
    ]


def test_the_question_shows_the_premise_first_and_no_question_where_there_is_none(tmp_path: Path) -> None:
    prompt = with_examples(load_prompts(["groundedness"], "german", tmp_path), "all")[KEY]
    text = prompt.to_string(VerifyInput(premise="P.", hypothesis="H."))
    assert json.loads(text.rpartition("input: ")[2].rpartition("\nOutput")[0]) == text.values
    assert list(text.values or {}) == ["premise", "hypothesis"]
    asked = prompt.to_string(VerifyInput(premise="P.", user_input="U?", hypothesis="H."))
    assert list(asked.values or {}) == ["premise", "user_input", "hypothesis"]
    assert "Arlen" not in text  # which all examples are about
