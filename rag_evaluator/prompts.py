"""Prompts: export ragas' English ones, load packs of other languages, and hand both to the metrics."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ragas import __version__ as ragas_version
from ragas.embeddings.base import BaseRagasEmbedding
from ragas.prompt.metrics.base_prompt import BasePrompt

from rag_evaluator.errors import PromptError
from rag_evaluator.judge import PromptText, ScriptedJudge, digest
from rag_evaluator.languages import find_language
from rag_evaluator.metrics import METRICS
from rag_evaluator.own_prompts import OWN_PROMPTS

Key = tuple[str, str]  # metric, prompt attribute
ENGLISH = "english"


@dataclass(frozen=True)
class Pack:
    """Instruction and examples of one prompt in one language, as a pack file holds them.

    Attributes:
        examples: JSON of input and output, in order.
        original_hash: digest of the English source it was made from.
    """

    language: str
    instruction: str
    examples: Sequence[Mapping[str, Any]] = field(repr=False)
    original_hash: str | int | None = None
    ragas_version: str = ragas_version

    @property
    def digest(self) -> str:
        """Digest of what the model is shown."""
        return digest(json.dumps([self.instruction, list(self.examples)], ensure_ascii=False, sort_keys=True))


class PackPrompt(BasePrompt[BaseModel, BaseModel]):
    """A ragas prompt whose instruction and examples come from a pack.

    Where the input has levels (atomicity and coverage of claims), only the examples of the same levels are shown.
    """

    def __init__(self, pack: Pack, original: "BasePrompt[Any, Any]") -> None:
        self.input_model, self.output_model = original.input_model, original.output_model
        self.instruction, self.language = pack.instruction, pack.language
        self.all_examples = [
            (self.input_model(**example["input"]), self.output_model(**example["output"])) for example in pack.examples
        ]

    def to_string(self, data: BaseModel) -> str:
        self.examples = [example for example in self.all_examples if _levels(example[0]) == _levels(data)]
        return super().to_string(data)


class CarryingPrompt:
    """Stands in a ragas metric in place of a prompt; its text carries the input along to the judge."""

    def __init__(self, prompt: "BasePrompt[Any, Any]", name: str, pack: Pack) -> None:
        self.prompt, self.name, self.language, self.source = prompt, name, pack.language, pack.digest

    def to_string(self, data: BaseModel) -> PromptText:
        return PromptText(self.prompt.to_string(data), data, self.name, self.language, self.source)


def all_prompts() -> dict[Key, "BasePrompt[Any, Any]"]:
    """The English prompts: the installed ragas' for every metric of `METRICS` that has some, and those of our own."""
    judge, embeddings = ScriptedJudge([]), _NoEmbeddings()
    of_ragas = {
        (name, attribute): getattr(metric.create(judge, embeddings), attribute)
        for name, metric in METRICS.items()
        for attribute in metric.prompts
    }
    return {**of_ragas, **{key: prompt() for key, prompt in OWN_PROMPTS.items()}}


def english_pack(prompt: "BasePrompt[Any, Any]") -> Pack:
    """Instruction and examples of a ragas prompt, read from its text where ragas keeps them in a function."""
    if not hasattr(prompt, "instruction"):
        instruction, examples = _read_text(prompt)
    else:
        instruction = prompt.instruction
        by_level = getattr(prompt, "_all_examples", None)
        pairs = [pair for pairs in by_level.values() for pair in pairs] if by_level else prompt.examples
        examples = [{"input": one.model_dump(), "output": other.model_dump()} for one, other in pairs]
    pack = Pack(ENGLISH, instruction, examples)
    return Pack(ENGLISH, instruction, examples, original_hash=pack.digest)


def pack_path(folder: Path, key: Key, language: str) -> Path:
    return folder / f"{key[0]}_{key[1]}_{find_language(language).name}.json"


def export(folder: Path) -> list[Path]:
    """Write the English prompts of the installed ragas, one JSON file each; returns the files.

    Raises `PromptError` when the folder cannot be written.
    """
    packs = {pack_path(folder, key, ENGLISH): english_pack(prompt) for key, prompt in all_prompts().items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, pack in packs.items():
            path.write_text(to_json(pack), encoding="utf-8", newline="\n")
    except OSError as error:
        raise PromptError(f"{folder}: cannot be written: {error}. Choose another folder.") from error
    return list(packs)


def to_json(pack: Pack) -> str:
    """A pack in the layout that ragas' own `save` writes."""
    content = {
        "ragas_version": pack.ragas_version,
        "original_hash": pack.original_hash,
        "language": pack.language,
        "instruction": pack.instruction,
        "examples": list(pack.examples),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def load_prompts(owners: Sequence[str], language: str, folder: Path) -> dict[Key, CarryingPrompt]:
    """The prompts of metrics, `sort` or `generate` in a language: the English ones, else the packs in `folder`.

    Raises `PromptError` naming every pack that is missing, or the first that does not fit its prompt.
    """
    name = find_language(language).name
    originals = {key: prompt for key, prompt in all_prompts().items() if key[0] in owners}
    if name == ENGLISH:
        return {key: CarryingPrompt(prompt, key[1], english_pack(prompt)) for key, prompt in originals.items()}
    paths = {key: pack_path(folder, key, name) for key in originals}
    missing = [path.name for path in paths.values() if not path.is_file()]
    if missing:
        raise PromptError(
            f"language '{language}': {len(missing)} of {len(paths)} prompt packs are missing in {folder}: "
            f"{', '.join(missing)}. Copy the files of orig_prompts/ there under these names and translate instruction "
            "and examples, or set language: english."
        )
    packs = {key: load_pack(path, originals[key]) for key, path in paths.items()}
    return {key: CarryingPrompt(PackPrompt(pack, originals[key]), key[1], pack) for key, pack in packs.items()}


def load_pack(path: Path, original: "BasePrompt[Any, Any]") -> Pack:
    """Read a pack file and check it against its prompt's models. Raises `PromptError` naming file and key."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise PromptError(f"{path}: not readable as JSON: {error}.") from None
    if not isinstance(data, dict):
        raise PromptError(f"{path}: expected an object with 'instruction' and 'examples'.")
    for key, kind in (("language", str), ("instruction", str), ("examples", list)):
        if not isinstance(data.get(key), kind) or not data[key]:
            raise PromptError(f"{path}: '{key}' must be a non-empty {kind.__name__}, got {data.get(key)!r:.60}.")
    for position, example in enumerate(data["examples"]):
        for side, model in (("input", original.input_model), ("output", original.output_model)):
            try:
                model.model_validate(example[side])
            except (ValidationError, KeyError, TypeError) as error:
                reason = _first(error) if isinstance(error, ValidationError) else f"no '{side}'"
                raise PromptError(
                    f"{path}: examples[{position}].{side} does not fit {model.__name__}: {reason}."
                ) from None
    return Pack(
        language=data["language"],
        instruction=data["instruction"],
        examples=data["examples"],
        original_hash=data.get("original_hash"),
        ragas_version=str(data.get("ragas_version", "unknown")),
    )


def _first(error: ValidationError) -> str:
    """Which field is wrong, and why."""
    detail = error.errors()[0]
    return ": ".join((".".join(map(str, detail["loc"])) or "the whole", detail["msg"]))


class _NoEmbeddings(BaseRagasEmbedding):
    """Lets a metric be made for the sake of its prompts."""

    def embed_text(self, text: str, **kwargs: Any) -> list[float]:
        raise NotImplementedError("made for its prompts only")

    async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:
        raise NotImplementedError("made for its prompts only")


def _levels(data: BaseModel) -> tuple[Any, ...]:
    return getattr(data, "atomicity", None), getattr(data, "coverage", None)


def _read_text(prompt: "BasePrompt[Any, Any]") -> tuple[str, list[dict[str, Any]]]:
    """Instruction and examples out of a prompt's text: noise sensitivity keeps them in a function."""
    empty = prompt.input_model.model_construct(
        **{name: [] if name == "statements" else "" for name in prompt.input_model.model_fields}
    )
    text = prompt.to_string(empty)
    instruction = text.split("\nPlease return the output in a JSON format", 1)[0]
    shown = text.split("-----EXAMPLES-----", 1)[1].split("Now perform the same", 1)[0]
    pairs = re.findall(r"Input: (\{.*?\n\})\nOutput: (\{.*?\n\})\n", shown, flags=re.DOTALL)
    names = list(prompt.input_model.model_fields)
    return instruction, [
        {"input": dict(zip(names, json.loads(one).values(), strict=True)), "output": json.loads(other)}
        for one, other in pairs
    ]
