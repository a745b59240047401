"""The text and the grammar of every prompt in every language are those that were recorded.

After a wanted change of a prompt: `python -m tests.prompts.test_prompt_bytes` writes the files of hashes again.
Those of a feature are beside its tests.
"""

import hashlib
import json
from pathlib import Path

from rag_evaluator.config import all_features
from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import languages_in
from tests.loaded_prompts import load_prompts
from tests.made_engine import request_of

ROOT = Path(__file__).parents[2]
HASHES = Path(__file__).with_name("prompt_bytes.json")
FILES = {
    owner: ROOT / "tests" / "features" / name / HASHES.name
    for name, feature in all_features().items()
    for owner in feature.prompts
}


def hashes() -> dict[str, str]:
    """`owner.prompt.language` -> hash of its text, with the input of its first example, and of the grammar."""
    originals = all_prompts()
    owners = sorted({owner for owner, _ in originals})
    table = {}
    for language in sorted(["english", *languages_in(ROOT / "prompts")]):
        for (owner, name), prompt in sorted(load_prompts(owners, language, ROOT / "prompts").items()):
            data = originals[owner, name].input_model.model_validate(prompt.pack.examples[0]["input"])
            grammar = request_of(originals[owner, name].output_model, data).grammar
            text = f"{prompt.to_string(data)}\n{grammar}"
            table[f"{owner}.{name}.{language}"] = hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    return table


def test_text_and_grammar_of_every_prompt_in_every_language_are_as_recorded() -> None:
    files = (HASHES, *FILES.values())
    recorded = {key: text for file in files for key, text in json.loads(file.read_bytes()).items()}
    today = hashes()
    assert {key for key in {*recorded, *today} if recorded.get(key) != today.get(key)} == set()


if __name__ == "__main__":
    made = hashes()
    for file in (HASHES, *FILES.values()):
        part = {key: text for key, text in made.items() if FILES.get(key.partition(".")[0], HASHES) == file}
        file.write_text(json.dumps(part, indent=0) + "\n", "utf-8")
