"""What prompts are made of: packs, read from JSON files of any version of ragas, and questions of users' metrics."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, Optional, Protocol

from pydantic import BaseModel, Field, ValidationError, create_model

from rag_evaluator.config.languages import find_language
from rag_evaluator.errors import PromptError
from rag_evaluator.files.atomic import short_digest, write_json
from rag_evaluator.resources import packaged
from rag_evaluator.results.questions import numbered

Key = tuple[str, str]  # metric, prompt attribute
ENGLISH = "english"
REQUIRED = (("language", str), ("instruction", str), ("examples", list))


class Models(Protocol):
    """What the examples of a prompt must fit; every prompt of ragas has these attributes."""

    @property
    def input_model(self) -> type[BaseModel]: ...

    @property
    def output_model(self) -> type[BaseModel]: ...


@cache
def installed_ragas() -> str:
    """Version of the installed ragas, found without importing it."""
    try:
        return version("ragas")
    except PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True)
class Pack:
    """Instruction and examples of one prompt in one language, as a pack file holds them.

    Attributes:
        examples: JSON of input and output, in order.
        original_hash: digest of the English source it was made from; a number in packs that ragas saved.
    """

    language: str
    instruction: str
    examples: Sequence[Mapping[str, Any]] = field(repr=False)
    original_hash: str | int | None = None
    ragas_version: str = field(default_factory=installed_ragas)

    @property
    def digest(self) -> str:
        """Digest of what the model is shown."""
        return short_digest(json.dumps([self.instruction, list(self.examples)], ensure_ascii=False, sort_keys=True))


def pack_path(folder: Path, key: Key, language: str) -> Path:
    return folder / f"{key[0]}_{key[1]}_{find_language(language).name}.json"


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


def check_examples(pack: Pack, original: Models, source: object) -> None:
    """Check a pack's examples against its prompt's models. Raises `PromptError` naming `source`, example and field."""
    for position, example in enumerate(pack.examples):
        for side, model in (("input", original.input_model), ("output", original.output_model)):
            try:
                model.model_validate(example[side])
            except (ValidationError, KeyError, TypeError) as error:
                reason = _first(error) if isinstance(error, ValidationError) else f"no '{side}'"
                raise PromptError(
                    f"{source}: examples[{position}].{side} does not fit {model.__name__}: {reason}."
                ) from None


OPTIONS = "options"
"""The field of an input whose two texts are the same in every question; the answer is the number of one of them."""


def option_texts(pack: Pack) -> tuple[str, str]:
    """The two options of a pack: the true one of its first example, then the other.

    In `groundedness_prompt` they say that the premise supports the hypothesis, and that it does not. Raises
    `PromptError` naming the example unless all examples have the same two texts, in any order.
    """
    first = pack.examples[0]
    texts, choice = list(first["input"][OPTIONS]), str(first["output"]["choice"])
    if len(set(texts)) != 2 or len(texts) != 2:
        raise PromptError(f"examples[0].input.{OPTIONS} must be two different texts, got {texts!r:.160}.")
    if choice not in ("1", "2"):
        raise PromptError(f"examples[0].output.choice must be 1 or 2, got {choice:.20}.")
    for position, example in enumerate(pack.examples):
        if sorted(example["input"][OPTIONS]) != sorted(texts):
            raise PromptError(
                f"examples[{position}].input.{OPTIONS} must be the two texts of examples[0], in any order: expected "
                f"{texts!r:.160}, got {example['input'][OPTIONS]!r:.160}."
            )
    return (texts[0], texts[1]) if choice == "1" else (texts[1], texts[0])


def _first(error: ValidationError) -> str:
    """Which field is wrong, and why."""
    detail = error.errors()[0]
    return ": ".join((".".join(map(str, detail["loc"])) or "the whole", detail["msg"]))


SCHEMAS = "schemas.json"
SCALARS: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
Schema = Mapping[str, Any]  # JSON Schema


@dataclass(frozen=True)
class Source:
    """The English pack of a prompt, and the models that the examples of every pack must fit."""

    english: Pack
    input_model: type[BaseModel]
    output_model: type[BaseModel]


@cache
def packaged_sources() -> Mapping[Key, Source]:
    """The sources in `orig_prompts/`, which come with the package, in the order of the metrics.

    Raises `PromptError` where they are missing.
    """
    folder = packaged("orig_prompts")
    try:
        schemas = json.loads((folder / SCHEMAS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PromptError(
            f"{folder}: no English prompts here: {error}. Install the package again, or use --installed."
        ) from None
    keys = [(owner, prompt) for owner, prompts in schemas.items() for prompt in prompts]
    return {key: _source(pack_path(folder, key, ENGLISH), schemas[key[0]][key[1]]) for key in keys}


def _source(path: Path, schemas: Mapping[str, Schema]) -> Source:
    return Source(read_pack(path), build_model(schemas["input"]), build_model(schemas["output"]))


def write_schemas(folder: Path, prompts: Mapping[Key, Models]) -> None:
    """Write the JSON Schemas of all prompts' models. Raises `ResultsError` when the file cannot be written."""
    schemas: dict[str, dict[str, Mapping[str, Schema]]] = {}
    for (owner, prompt), models in prompts.items():
        pair = {"input": models.input_model.model_json_schema(), "output": models.output_model.model_json_schema()}
        schemas.setdefault(owner, {})[prompt] = pair
    write_json(folder / SCHEMAS, schemas)


def build_model(schema: Schema) -> type[BaseModel]:
    """The pydantic model of a JSON Schema that pydantic wrote: objects, lists, choices, texts and numbers."""
    return _model(schema, schema.get("$defs", {}))


def _model(schema: Schema, definitions: Mapping[str, Schema]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (_annotation(part, definitions), Field(part.get("default", ...), description=part.get("description")))
        for name, part in schema["properties"].items()
    }
    return create_model(schema["title"], __doc__=schema.get("description"), **fields)


def _annotation(schema: Schema, definitions: Mapping[str, Schema]) -> Any:
    if "$ref" in schema:
        return _model(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "anyOf" in schema:  # a value that may be left out
        kinds = [_annotation(part, definitions) for part in schema["anyOf"] if part.get("type") != "null"]
        return Optional[kinds[0]]  # noqa: UP045  # the kind is known only here
    if schema["type"] == "object":
        return dict[str, _annotation(schema["additionalProperties"], definitions)]  # type: ignore[misc]
    if schema["type"] == "array":
        return list[_annotation(schema["items"], definitions)]  # type: ignore[misc]
    return SCALARS[schema["type"]]


logger = logging.getLogger(__name__)
Example = dict[str, Any]  # JSON

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
RENAMED: Mapping[tuple[Key, str], Mapping[str, str]] = {
    (("noise_sensitivity", "statement_prompt"), "input"): {"answer": "text"},
}
"""(prompt, side of an example) -> what a field was called -> what it is called."""


def legacy_path(folder: Path, key: Key, name: str) -> Path | None:
    """The file in which an older ragas saved this prompt, if the folder has one.

    Args:
        name: of the language, as `Language.name` has it.
    """
    paths = [folder / f"{legacy}_{name}.json" for legacy in LEGACY_NAMES.get(key, ())]
    return next((path for path in paths if path.is_file()), None)


def pack_file(folder: Path, key: Key, name: str) -> Path | None:
    """The file of a prompt that a folder has, under today's name or an older one; `name` as in `legacy_path`."""
    path = pack_path(folder, key, name)
    return path if path.is_file() else legacy_path(folder, key, name)


def is_legacy(path: Path, pack: Pack, key: Key) -> bool:
    """Whether ragas saved it: by its name, or by its hash of the source, which is a number there."""
    today = path.name.startswith(f"{key[0]}_{key[1]}_")
    named = any(path.name.startswith(f"{legacy}_") for legacy in LEGACY_NAMES.get(key, ()))
    return (named and not today) or not isinstance(pack.original_hash, str)


def load_pack(path: Path, original: Models, key: Key | None = None) -> Pack:
    """Read a pack file, of any version of ragas, and check it against its prompt's models.

    Raises `PromptError` naming file and key.
    """
    pack = read_pack(path)
    if key is not None and is_legacy(path, pack, key):
        pack = bring_up_to_date(pack, key, original, path)
    check_examples(pack, original, path)
    if OPTIONS in original.input_model.model_fields:
        try:
            option_texts(pack)
        except PromptError as error:
            raise PromptError(f"{path}: {error}") from None
    return pack


def bring_up_to_date(pack: Pack, key: Key, original: Models, path: Path) -> Pack:
    """The pack with its examples in today's fields; a field that no longer exists is left out with a warning.

    Examples of another kind than expected are left as they are; validation reports them.
    """
    if not all(isinstance(example, dict) for example in pack.examples):
        return pack
    gone: set[str] = set()
    models = {"input": original.input_model, "output": original.output_model}
    examples = []
    for saved in pack.examples:
        example = {**saved}
        for mend in MENDS.get(key, ()):
            example = mend(example)
        for side, model in models.items():
            if isinstance(example.get(side), dict):
                renamed = RENAMED.get((key, side), {})
                fields = {renamed.get(name, name): value for name, value in example[side].items()}
                gone |= {f"{side}.{name}" for name in fields.keys() - model.model_fields.keys()}
                example[side] = {name: value for name, value in fields.items() if name in model.model_fields}
        examples.append(example)
    if gone:
        logger.warning(
            "%s: %s: no longer a field of this prompt, left out (the pack was saved by ragas %s)",
            path,
            ", ".join(sorted(gone)),
            pack.ragas_version,
        )
    return replace(pack, examples=examples)


def _join_sentences(example: Example) -> Example:
    """In the first releases of ragas 0.2 each sentence had a list of simpler statements; now there is one list."""
    output = example.get("output")
    sentences = output.get("sentences") if isinstance(output, dict) else None
    if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
        return example
    statements = [statement for sentence in sentences for statement in sentence.get("simpler_statements", [])]
    return {**example, "output": {"statements": statements}}


def _with_levels(example: Example) -> Example:
    """Claims had their levels in the class; those of the default were saved."""
    return {**example, "input": {"atomicity": "low", "coverage": "low", **example.get("input", {})}}


MENDS: Mapping[Key, Sequence[Callable[[Example], Example]]] = {
    **{key: [_join_sentences] for key, names in LEGACY_NAMES.items() if any(STATEMENTS[1] in name for name in names)},
    ("factual_correctness", "prompt"): [_with_levels],
}


SHELL: Key = ("custom", "prompt")
"""The prompt around all questions: one pack a language serves every metric."""
DEFINITION = "definition"
"""The name of a metric's own pack: question, scale and examples in the language of the run."""


@dataclass(frozen=True)
class CustomQuestion:
    """A question about a row.

    Attributes:
        text: the question.
        scale: label -> what it means, ascending.
        language: in which it is written.
        examples: `{"values": column -> text, "reason": ..., "label": ...}` of each; none: those of the prompt.
    """

    text: str
    scale: Mapping[int, str]
    language: str = ENGLISH
    examples: Sequence[Mapping[str, Any]] = ()

    def needs_pack(self, language: str) -> bool:
        """Whether it is to be translated for a run in a language."""
        return find_language(self.language) != find_language(language)


def as_shown(value: Any) -> str:
    """A value of a row as the judge reads it: a list is numbered from 1, what is no text becomes JSON.

    Any: a JSON value, as rows hold them.
    """
    if isinstance(value, list):
        return numbered(list(map(as_shown, value)))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
