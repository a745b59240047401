"""The English prompts of the installed ragas and of our own, and their export to `orig_prompts/`."""

import json
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.judge.scripted import ScriptedJudge
from rag_evaluator.metrics.table import METRICS
from rag_evaluator.prompts.own import OWN_PROMPTS, OwnPrompt
from rag_evaluator.prompts.pack import ENGLISH, Key, Pack, pack_path, write_pack
from rag_evaluator.prompts.source import Source, write_schemas


def all_prompts() -> dict[Key, "BasePrompt[Any, Any]"]:
    """The English prompts: the installed ragas' for every metric of `METRICS` that has some, and those of our own."""
    judge, embeddings = ScriptedJudge([]), _NoEmbeddings()
    of_ragas = {
        (name, attribute): getattr(metric.create(judge, embeddings), attribute)
        for name, metric in METRICS.items()
        for attribute in metric.prompts
        if (metric.owner or name, attribute) not in OWN_PROMPTS
    }
    return {**of_ragas, **{key: OwnPrompt(*key) for key in OWN_PROMPTS}}


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


def installed_sources() -> dict[Key, Source]:
    """The sources in the installed ragas, and those of our own prompts."""
    return {key: english_source(prompt) for key, prompt in all_prompts().items()}


def export(folder: Path) -> list[Path]:
    """Write the English prompts of the installed ragas, one JSON file each, and the schemas of their models.

    Returns the files of the prompts.

    Raises `ResultsError` when the folder cannot be written.
    """
    prompts = all_prompts()
    packs = {pack_path(folder, key, ENGLISH): english_pack(prompt) for key, prompt in prompts.items()}
    for path, pack in packs.items():
        write_pack(path, pack)
    write_schemas(folder, prompts)
    return list(packs)


def _shown(model: BaseModel) -> dict[str, Any]:
    """What a prompt shows of an example: nothing of fields that may be left out and are."""
    return model.model_dump(exclude_none=True)


class _NoEmbeddings(BaseRagasEmbedding):
    """Allows to make a metric of which only the prompts are needed."""

    def embed_text(self, text: str, **kwargs: Any) -> list[float]:
        raise NotImplementedError("made for its prompts only")

    async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:
        raise NotImplementedError("made for its prompts only")


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
