"""The prompts of some metrics and tasks in a language, as tests ask for them."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from rag_evaluator.metrics import all_prompts
from rag_evaluator.prompts import PACKAGED, FilterInput, FilterOutput, Key, PackSet, TracedPrompt
from rag_evaluator.ragas_library import BasePrompt


def shipped(pattern: str) -> list[Path]:
    """Return packs that come with the program, by their names; in the order of names."""
    return sorted((path for folder in PACKAGED for path in folder.glob(f"*/{pattern}")), key=lambda path: path.name)


def prompts_owned(owners: Collection[str]) -> dict[Key, Any]:
    return {key: prompt for key, prompt in all_prompts().items() if key[0] in owners}


def load_prompts(owners: Collection[str], language: str, folder: Path) -> dict[Key, TracedPrompt]:
    return PackSet(prompts_owned(owners), language, folder).load()


class Asked(BasePrompt[FilterInput, FilterOutput]):
    """A prompt whose instruction and example a test chooses."""

    input_model = FilterInput
    output_model = FilterOutput

    def __init__(self, instruction: str, context: str = "c", question: str = "q") -> None:
        super().__init__()
        self.instruction = instruction
        self.examples = [(FilterInput(user_input=question, context=context), FilterOutput(verdict=1))]
