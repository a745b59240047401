"""What prompts are made of: packs, read from JSON files of any version of ragas, and questions of users' metrics."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from rag_evaluator.config import find_language, pack_folders
from rag_evaluator.errors import PromptError
from rag_evaluator.files import Json, JsonDict, short_digest, write_json
from rag_evaluator.results import numbered

if TYPE_CHECKING:
    from rag_evaluator.ragas_library import BasePrompt

Key = tuple[str, str]  # metric, prompt attribute
REWRITING: Key = ("history", "rewrite_prompt")
ENGLISH = "english"
REQUIRED = (("language", str), ("instruction", str), ("examples", list))

NLI = ("n_l_i_statement_prompt",)
STATEMENTS = ("statement_generator_prompt", "long_form_answer_prompt")
PRECISION = "context_precision_prompt"
LEGACY_NAMES: Mapping[Key, Sequence[str]] = {
    ("faithfulness", "statement_generator_prompt"): [f"faithfulness_{name}" for name in STATEMENTS],
    ("faithfulness", "nli_statement_prompt"): [f"faithfulness_{name}" for name in NLI],
    ("answer_relevancy", "prompt"): ["answer_relevancy_response_relevance_prompt"],
    ("context_precision_with_reference", "prompt"): [
        f"llm_context_precision_with_reference_{PRECISION}",
        f"context_precision_{PRECISION}",
    ],
    ("context_precision_without_reference", "prompt"): [
        f"llm_context_precision_without_reference_{PRECISION}",
        f"context_utilization_{PRECISION}",
    ],
    ("context_recall", "prompt"): ["context_recall_context_recall_classification_prompt"],
    ("answer_correctness", "statement_generator_prompt"): [f"answer_correctness_{name}" for name in STATEMENTS],
    ("answer_correctness", "correctness_classifier_prompt"): ["answer_correctness_correctness_classifier"],
    ("factual_correctness", "prompt"): ["factual_correctness_claim_decomposition_prompt"],
    ("factual_correctness", "nli_prompt"): [f"factual_correctness_{name}" for name in NLI],
    ("noise_sensitivity", "statement_prompt"): [f"noise_sensitivity_{name}" for name in STATEMENTS],
    ("noise_sensitivity", "faithfulness_prompt"): [f"noise_sensitivity_{name}" for name in NLI],
    ("context_entity_recall", "prompt"): ["context_entity_recall_extract_entities_prompt"],
}
"""Today's prompt -> what the file of ragas 0.2 and 0.3 is called, without language and ending; newest first."""
PACKAGED = pack_folders("prompts")
"""The field of an input whose two texts are the same in every question; the answer is the number of one of them."""
SHELL: Key = ("custom", "prompt")
"""The prompt around all questions: one pack a language serves every metric."""


@cache
def installed_ragas() -> str:
    """Version of the installed ragas, found without importing it."""
    return version("ragas")


@dataclass(frozen=True)
class Pack:
    """Instruction and examples of one prompt in one language, as a pack file holds them.

    Attributes:
        examples: JSON of input and output, in order.
        original_hash: digest of the English source it was made from; a number in packs that ragas saved.
    """

    language: str
    instruction: str
    examples: Sequence[Json] = field(repr=False)
    original_hash: str | int | None = None
    ragas_version: str = field(default_factory=installed_ragas)

    @property
    def is_legacy(self) -> bool:
        """Whether ragas 0.2 or 0.3 saved it: their hash of the source is a number."""
        return not isinstance(self.original_hash, str)

    @property
    def digest(self) -> str:
        """Digest of what the model is shown."""
        return short_digest(json.dumps([self.instruction, list(self.examples)], ensure_ascii=False, sort_keys=True))


def pack_path(folder: Path, key: Key, language: str) -> Path:
    """Return where a pack is written: in the folder of the language where there is one."""
    name = find_language(language).name
    nested = folder / name
    return (nested if nested.is_dir() else folder) / f"{key[0]}_{key[1]}_{name}.json"


def pack_files(folder: Path, name: str) -> list[Path]:
    """Return all JSON files among which those of a language are, in order."""
    return [path for place in (folder, folder / name) for path in sorted(place.glob("*.json"))]


def pack_file(folder: Path, key: Key, name: str) -> Path | None:
    """The file of a prompt that a folder has, under today's name or that of an older ragas.

    Args:
        name: of the language, as `Language.name` has it.
    """
    starts = ("_".join(key), *LEGACY_NAMES.get(key, ()))
    paths = (place / f"{start}_{name}.json" for place in (folder, folder / name) for start in starts)
    return next((path for path in paths if path.is_file()), None)


def prompt_names() -> set[str]:
    """What the names of packs begin with: the prompts of the package, and what older versions of ragas called them."""
    english = (path for folder in pack_folders("orig_prompts") for path in folder.glob(f"*_{ENGLISH}.json"))
    legacy = {name for names in LEGACY_NAMES.values() for name in names}
    return legacy | {path.stem.removesuffix(f"_{ENGLISH}") for path in english}


def languages_in(folder: Path) -> list[str]:
    """The languages of which a folder has a pack under today's or a legacy name, English left out; sorted."""
    starts = sorted(prompt_names(), key=len, reverse=True)
    languages = set()
    for path in (*folder.glob("*.json"), *folder.glob("*/*.json")):
        start = next((start for start in starts if path.stem.startswith(f"{start}_")), None)
        if start is not None and path.parent in (folder, folder / path.stem.removeprefix(f"{start}_")):
            languages.add(path.stem.removeprefix(f"{start}_"))
    return sorted(languages - {ENGLISH})


def write_pack(path: Path, pack: Pack) -> None:
    """Write a pack file in the layout of ragas' own `save`, whole or not at all. Raises `ResultsError`."""
    content = {
        "ragas_version": pack.ragas_version,
        "original_hash": pack.original_hash,
        "language": pack.language,
        "instruction": pack.instruction,
        "examples": list(pack.examples),
    }
    write_json(path, content)


def read_pack(path: Path) -> Pack:
    """A pack file as it is, of any prompt. Raises `PromptError` naming file and key."""
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise PromptError(f"{path}: not readable as JSON: {error}.") from None
    if not isinstance(data, dict):
        raise PromptError(f"{path}: expected an object with 'instruction' and 'examples'.")
    for key, kind in REQUIRED:
        if not isinstance(data.get(key), kind) or not data[key]:
            raise PromptError(f"{path}: '{key}' must be a non-empty {kind.__name__}, got {data.get(key)!r:.60}.")
    return Pack(
        language=data["language"],
        instruction=data["instruction"],
        examples=data["examples"],
        original_hash=data.get("original_hash"),
        ragas_version=str(data.get("ragas_version", "unknown")),
    )


def load_pack(path: Path, original: "BasePrompt[Any, Any]") -> Pack:
    """Read a pack file, of any version of ragas, and check it against its prompt's models.

    Raises `PromptError` naming file and key.
    """
    pack = read_pack(path)
    examples = check_examples(pack, original, path)
    if pack.is_legacy:
        pack = replace(pack, examples=examples)
    return pack


def check_examples(pack: Pack, original: "BasePrompt[Any, Any]", source: object) -> list[JsonDict]:
    """A pack's examples as the models of its prompt read them, with today's fields and no others.

    Raises `PromptError` naming `source`, example and field.
    """
    examples = []
    for position, example in enumerate(pack.examples):
        read = {}
        for side, model in (("input", original.input_model), ("output", original.output_model)):
            try:
                values = _renamed(example[side], model) if pack.is_legacy else example[side]
                read[side] = model.model_validate(values).model_dump(exclude_none=True)
            except (ValidationError, KeyError, TypeError) as error:
                reason = f"no '{side}'"
                if isinstance(error, ValidationError):
                    detail = error.errors()[0]
                    reason = f"{'.'.join(map(str, detail['loc'])) or 'the whole'}: {detail['msg']}"
                place = f"{source}: examples[{position}].{side}"
                raise PromptError(f"{place} does not fit {model.__name__}: {reason}.") from None
        examples.append(read)
    return examples


def _renamed(values: Json, model: type[BaseModel]) -> Json:
    """What ragas 0.2 or 0.3 saved of an example, under the names of today's fields."""
    if "sentences" in values and "statements" in model.model_fields:  # first releases of 0.2: a list for each sentence
        return {"statements": [text for sentence in values["sentences"] for text in sentence["simpler_statements"]]}
    if "answer" in values and "text" in model.model_fields:
        return {**values, "text": values["answer"]}
    return values


@dataclass(frozen=True)
class CustomQuestion:
    """A question about a row, in the language of the run.

    Attributes:
        text: the question.
        scale: label -> what it means, ascending.
        examples: `{"values": column -> text, "reason": ..., "label": ...}` of each; none: those of the prompt.
    """

    text: str
    scale: Mapping[int, str]
    examples: Sequence[Json] = ()


def as_shown(value: Any) -> str:
    """A value of a row as the judge reads it: a list is numbered from 1, what is no text becomes JSON.

    Any: a JSON value, as rows hold them.
    """
    if isinstance(value, list):
        return numbered(list(map(as_shown, value)))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
