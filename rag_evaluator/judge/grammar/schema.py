"""Response model to tightened JSON schema: it allows only answers that ragas can use.

The schema is plain JSON Schema, with four keywords of our own: `x-optional` on an array of `prefixItems` (each item may
be left out, the order stays), `x-partition` on an object (its first two arrays share out the same statements), and on
an array `x-source` (the text that its texts are made from) and `x-question` (what that text answers).
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rag_evaluator.config import Reasons
from rag_evaluator.errors import JudgementError
from rag_evaluator.files import Json

from .answers import ANSWERS, NOTHING_KNOWN, OF_RUBRICS, row_of
from .faults import Schema, Value, faults
from .lark import REASONS, SHORT

Answer = TypeVar("Answer", bound=BaseModel)
REASON_SCHEMAS: Mapping[str, Schema] = {"none": {"const": ""}, "short": {"type": "string", "maxLength": SHORT}}


def tighten(response_model: type[BaseModel], data: BaseModel | None = None, reasons: Reasons = "full") -> Schema:
    """The JSON schema of a ragas response model, narrowed by its scale and by the input it answers.

    Args:
        response_model: what ragas will get, for instance `NLIStatementOutput`.
        data: the prompt's input, for instance `NLIStatementInput`; None leaves lists and statements free.
        reasons: as they are wanted: `short` ones have at most `SHORT` characters, `none` is empty.
    """
    schema = response_model.model_json_schema(mode="serialization")  # that of validation hides our own scales
    schema = _resolve(schema, schema.get("$defs", {}), REASON_SCHEMAS.get(reasons))
    row = row_of(response_model)
    if row.rule is None and response_model.__module__.startswith(("ragas.", "rag_evaluator.")):
        free = list(_free_integers(schema))
        assert not free, f"{response_model.__name__}: `ANSWERS` has no scale of {', '.join(free)}"
    if row.empty_where_zero:
        schema = _empty_where_zero(schema, *row.empty_where_zero)
    return row.rule(schema, data.model_dump()) if row.rule and data is not None else schema


def on_scale(value: Any, response_model: type[Answer], prompt: str) -> Answer:
    """The answer that a value is. Raises `JudgementError` for none, and for one off its scale. Any: JSON."""
    name = response_model.__name__
    try:
        answer = response_model.model_validate(value)
    except ValidationError as error:
        raise JudgementError(f"the answer {value!r:.80} is no {name}: {error.errors()[0]['msg']}") from error
    for wrong in off_scale(answer, getattr(prompt, "data", None)):
        raise JudgementError(f"the {name} is off its scale: {wrong}")
    return answer


def unique_keys(pairs: Iterable[tuple[str, Value]]) -> dict[str, Value]:
    """The object of JSON that has these keys. Raises `JudgementError` for one that is there twice."""
    members = dict[str, Value]()
    for name, value in pairs:
        if name in members:
            raise JudgementError(f"the answer has the key {name!r:.60} twice, so it does not say which value it means")
        members[name] = value
    return members


def off_scale(answer: BaseModel, data: BaseModel | None = None) -> Iterator[str]:
    """What in an answer the schema would not allow, in words: `verdict is 7: expected 0 or 1`.

    It reads only the rubrics of the input: statements may be others than those in the question.
    """
    kind = type(answer)
    schema = _free_schema(kind)
    if row_of(kind).rule is OF_RUBRICS:  # of an input that is not known they may be any numbers
        schema = tighten(kind, data) if data else {**schema, "properties": {"score": {"enum": list(range(10))}}}
    yield from faults(schema, answer.model_dump(mode="json", by_alias=True))


_free_schema = cache(tighten)  # of a response model, whatever the input


def _resolve(schema: Any, definitions: Json, reason: Schema | None) -> Any:
    """The schema with references written out and the known scales as enums.

    Args:
        reason: the schema of reasons; None: they are free strings.
    """
    if isinstance(schema, list):
        return [_resolve(item, definitions, reason) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolve(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions, reason)
    if "enum" in schema:
        return {"enum": schema["enum"]}
    resolved = {key: _resolve(value, definitions, reason) for key, value in schema.items() if key != "$defs"}
    for name, part in resolved.get("properties", {}).items():
        if scale := ANSWERS.get(resolved.get("title", ""), NOTHING_KNOWN).scales.get(name):
            values = {"enum": list(scale)}
            resolved["properties"][name] = {**part, "items": values} if part.get("type") == "array" else values
        elif reason and name in REASONS and part.get("type") == "string":
            resolved["properties"][name] = reason
    return resolved


def _free_integers(schema: Any) -> Iterator[str]:
    """The fields of a schema that may be any integer. Any: JSON."""
    if isinstance(schema, dict):
        for name, part in schema.get("properties", {}).items():
            if part.get("type") == "integer" and "const" not in part:
                yield name
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from _free_integers(part)


def _empty_where_zero(schema: Schema, flag: str, text: str) -> Schema:
    """Either flag 0 and an empty text, or flag 1 and a text."""
    properties = schema["properties"]
    answers = ({flag: {"const": 0}, text: {"const": ""}}, {flag: {"const": 1}, text: properties[text]})
    return {"anyOf": [{**schema, "properties": {**properties, **answer}} for answer in answers]}
