"""A prompt pack: instruction and examples of one prompt in one language, read from and written to a JSON file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, Optional, Protocol

from pydantic import BaseModel, Field, ValidationError, create_model

from rag_evaluator.config.languages import find_language
from rag_evaluator.errors import PromptError
from rag_evaluator.files.atomic import write_json
from rag_evaluator.files.digest import short_digest
from rag_evaluator.resources import packaged

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
