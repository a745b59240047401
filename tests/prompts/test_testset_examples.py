"""The examples of the prompts of test sets say no more than their contexts."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOT = {
    "english": "was shot",
    "spanish": "se filmó",
    "german": "gedreht",
    "french": "a été tourné",
    "italian": "è stato girato",
    "portuguese": "foi rodado",
    "chinese": "拍摄",
    "japanese": "撮影",
    "korean": "촬영",
    "hindi": "शूटिंग",
    "arabic": "صُوّر",
}


@pytest.mark.parametrize("language", SHOT)
def test_of_both_films_that_are_compared_the_contexts_say_when_they_were_shot(language: str) -> None:
    folder = ROOT / ("orig_prompts" if language == "english" else "prompts")
    pack = json.loads((folder / f"testset_comparison_prompt_{language}.json").read_text(encoding="utf-8"))
    contexts = pack["examples"][1]["input"]["contexts"]
    for context, year in zip(contexts, ("1998", "2004"), strict=True):
        assert SHOT[language] in context and year in context
