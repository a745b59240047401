"""The English source of a prompt, as packs are compared with it; `orig_prompts/` holds those of one version of ragas.

Reading `orig_prompts/` takes no ragas: its packs hold instruction and examples, `schemas.json` the models of them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Optional

from pydantic import BaseModel, Field, create_model

from rag_evaluator.errors import PromptError
from rag_evaluator.files.atomic import write_json
from rag_evaluator.prompts.pack import ENGLISH, Key, Models, Pack, pack_path, read_pack
from rag_evaluator.resources import packaged

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
