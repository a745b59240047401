"""`python -m tools.docs.configuration`: docs/config.md, made of the pydantic models: type, default and meaning of keys.

The meaning of a key stands in the section `Attributes:` of its model's docstring.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import PurePath
from typing import Annotated, Any, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from rag_evaluator import METRICS
from rag_evaluator.config import Section
from rag_evaluator.config.schema import config_class
from rag_evaluator.metrics.definitions import AskedMetric, ComputedMetric, RagasObjectMetric
from tools.docs.links import DOCS

HEAD = """# Configuration

Every key of a configuration file, with its type, its default and its meaning. This page is made of the model that
checks your file. Relative paths count from the folder of the file; `~`, `$HOME` and `${DATA}` are filled in. Any key
can be set on the command line: `--set judge.batch_size=32`. A key that is not known is an error, which names the
nearest one. `null` counts as left out, except for `metrics` and `language`, and where the type has it.
"""
PAGE = DOCS / "config.md"
BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
NAMED = re.compile(r"^ {4}(\w+(?:, \w+)*): (.*)$")


@dataclass(frozen=True)
class Key:
    """One key: its name in its section, and what the page says of it in Markdown."""

    name: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Part:
    """A section of the configuration: its place in the file ("" for the file itself), its text and its keys."""

    place: str
    about: str
    keys: tuple[Key, ...]


def parts() -> Iterator[Part]:
    """All sections that a file may have, the file itself first."""
    yield from _parts(config_class(), "")
    options: dict[type[Section], list[str]] = {}
    shown = {*_sections_below(config_class())}
    for name, metric in METRICS.items():
        if metric.settings is not None and metric.settings not in shown:
            options.setdefault(metric.settings, []).append(name)
    for settings, names in options.items():
        yield from _parts(settings, ", ".join(f"metric_options.{name}" for name in names))
    yield from _parts(AskedMetric, "custom_metrics.NAME (a question)")
    yield from _parts(ComputedMetric, "custom_metrics.NAME (a function)")
    yield from _parts(RagasObjectMetric, "custom_metrics.NAME (made with ragas)")


def page() -> str:
    """The page in Markdown."""
    return "\n".join([HEAD, *(_shown(part) for part in parts())])


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """What docstrings say of each key of a model, its own docstring before those of its bases."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        found |= _attributes(cleandoc(owner.__doc__ or "")) if issubclass(owner, Section) else {}
    return found


def _parts(model: type[BaseModel], place: str) -> Iterator[Part]:
    """A section and those inside it."""
    said = meanings(model)
    yield Part(
        place,
        cleandoc(model.__doc__ or "").split("\n\n")[0],
        tuple(
            Key(name, _type(field), _default(field), " ".join((said.get(name) or _of_feature(field)).split()))
            for name, field in model.model_fields.items()
        ),
    )
    for name, field in model.model_fields.items():
        for inner in _sections(field.annotation):
            yield from _parts(inner, f"{place}.{name}" if place else name)


def _of_feature(field: FieldInfo) -> str:
    """The meaning of a feature's section: what the section says of itself."""
    return "".join(cleandoc(section.__doc__ or "").split("\n\n")[0] for section in _sections(field.annotation))


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections(argument)


def _sections_below(model: type[BaseModel]) -> Iterator[type[Section]]:
    for field in model.model_fields.values():
        for section in _sections(field.annotation):
            yield section
            yield from _sections_below(section)


def _attributes(docstring: str) -> dict[str, str]:
    """Name -> meaning of a section `Attributes:`; a line `a, b: meaning` is about both."""
    _, _, block = docstring.partition("\nAttributes:\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in block.split("\n\n")[0].splitlines():
        if match := NAMED.match(line):
            names = match[1].split(", ")
            found |= dict.fromkeys(names, match[2])
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
    return found


def _type(field: FieldInfo) -> str:
    if any(True for _ in _sections(field.annotation)):
        return "section or null, below" if get_args(field.annotation) else "section, below"
    annotated: Any = field.annotation
    for metadata in field.metadata:  # such as the bounds, which pydantic takes out of the annotation
        annotated = Annotated[annotated, metadata]
    return _described(TypeAdapter(annotated).json_schema(mode="validation"))


def _described(schema: Mapping[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_described(choice) for choice in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return "list of " + ", ".join(_described(item) for item in schema["prefixItems"])
        return f"list of {_plural(_described(schema.get('items', {})))}"
    if schema.get("type") == "object":
        inside = schema.get("additionalProperties")
        if not isinstance(inside, Mapping) or not inside:
            return "keys with any values"
        return "names with keys" if "object" in str(inside) else f"names with {_described(inside)}"
    if schema.get("format") == "path":
        return "path"
    bounds = [f"{sign} {schema[name]:g}" for name, sign in BOUNDS.items() if name in schema and schema[name] < 2**53]
    return " ".join([TYPES.get(schema.get("type", ""), "any value"), ", ".join(bounds)]).strip()


def _plural(words: str) -> str:
    return f"{words}s" if words in {"text", "number", "whole number", "path"} else words


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, BaseModel) or default is PydanticUndefined:
        return ""
    value = str(default) if isinstance(default, PurePath) else default
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def _shown(part: Part) -> str:
    title = f"## {part.place}" if part.place else "## Keys of the file"
    about = part.about if part.place else "Sections are explained below."
    rows = [f"| `{key.name}` | {_cell(key.type)} | {key.default} | {_cell(key.meaning)} |" for key in part.keys]
    return "\n".join([title, "", about, "", "| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return re.sub(r"\bNone\b", "null", text).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
