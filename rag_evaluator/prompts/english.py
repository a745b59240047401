"""An English prompt of ragas as a pack: its instruction and its examples."""

import json
import re
from typing import Any

from pydantic import BaseModel
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.prompts.pack import ENGLISH, Pack
from rag_evaluator.prompts.source import Source


def english_pack(prompt: "BasePrompt[Any, Any]") -> Pack:
    """Instruction and examples of a ragas prompt, read from its text where ragas keeps them in a function."""
    if not hasattr(prompt, "instruction"):
        instruction, examples = _read_text(prompt)
    else:
        instruction = prompt.instruction
        by_level = getattr(prompt, "_all_examples", None)
        pairs = [pair for pairs in by_level.values() for pair in pairs] if by_level else prompt.examples
        examples = [{"input": _shown(inputs), "output": _shown(outputs)} for inputs, outputs in pairs]
    pack = Pack(ENGLISH, instruction, examples)
    return Pack(ENGLISH, instruction, examples, original_hash=pack.digest)


def english_source(prompt: "BasePrompt[Any, Any]") -> Source:
    """What packs of a ragas prompt are compared with."""
    return Source(english_pack(prompt), prompt.input_model, prompt.output_model)


def _shown(model: BaseModel) -> dict[str, Any]:
    """What a prompt shows of an example: nothing of fields that may be left out and are."""
    return model.model_dump(exclude_none=True)


def _read_text(prompt: "BasePrompt[Any, Any]") -> tuple[str, list[dict[str, Any]]]:
    """Instruction and examples read from a prompt's text: noise sensitivity keeps them in a function."""
    empty = prompt.input_model.model_construct(
        **{name: [] if name == "statements" else "" for name in prompt.input_model.model_fields}
    )
    text = prompt.to_string(empty)
    instruction = text.split("\nPlease return the output in a JSON format", 1)[0]
    shown = text.split("-----EXAMPLES-----", 1)[1].split("Now perform the same", 1)[0]
    pairs = re.findall(r"Input: (\{.*?\n\})\nOutput: (\{.*?\n\})\n", shown, flags=re.DOTALL)
    names = list(prompt.input_model.model_fields)
    return instruction, [
        {
            "input": dict(zip(names, json.loads(inputs).values(), strict=True)),
            "output": json.loads(outputs),
        }
        for inputs, outputs in pairs
    ]
